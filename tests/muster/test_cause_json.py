"""Causes as JSON: their words and keys, and the published schemas of reports."""

from __future__ import annotations

import itertools
import json
import re
from decimal import Decimal
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest
from click.testing import CliRunner

from kubeapi.nodes import Taint
from kubeapi.selectors import NodeSelectorTerm, Requirement
from muster.cli import main
from muster.commands.schema.cause_schemas import definitions
from muster.commands.schema.report_schemas import report_schema
from muster.render.cause_json import causes_json
from muster.render.cause_keys import cause_types, kinds_by_word
from scheduler_core.causes.attempts import FitError, ReasonCount
from scheduler_core.causes.claims import ClaimsDeallocated
from scheduler_core.causes.device_refusals import InsufficientDevices
from scheduler_core.causes.domains import DomainCause
from scheduler_core.causes.filter_reasons import DeviceAdvice, DeviceError, SearchUnfinished, UnmodelledField
from scheduler_core.causes.groups import PodDemand, PodsDoNotFit
from scheduler_core.causes.node_count import Amount, NodeCount
from scheduler_core.causes.node_states import NodeAffinityMismatch, NodesRefused, UntoleratedTaint
from scheduler_core.causes.other_pods import AffinityConflict, AffinityRule
from scheduler_core.causes.plugin_failures import FilterFailed, PlacementMethod, PlacementPluginRaised, PluginFailed, WrongResult
from scheduler_core.causes.resources import InsufficientOnNodes, InsufficientResource, NoneFree
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.device_claims import DevicesTogether, claim_of
from scheduler_core.model.device_comparisons import OtherSelector
from scheduler_core.model.names import Domain, Name, NamedClaim
from scheduler_core.model.resource_values import AttachableVolumes, VolumesOfClass
from scheduler_core.model.selector_clause import SelectorClause
from tests.scheduler_core.plugins import test_delayed_claims as delayed
from tests.scheduler_core.plugins import test_node_volume_limits as limits
from tests.scheduler_core.wording.examples import examples
from tests.scheduler_core.wording.refused_clusters import OPTIONS, refused_cluster

CASES = Path(__file__).parents[1] / "cases"
PUBLISHED = (CASES / "cause_reasons.txt").read_text(encoding="utf-8").split()
KNOWN = definitions()
CAUSE = jsonschema_rs.Draft202012Validator({"$ref": "#/$defs/cause", "$defs": KNOWN})
OBJECT = re.compile("x x/x|Kind .*")


def objects_in(encoded):
    """Yield what ``object`` names in a cause and in those below it."""
    if "object" in encoded:
        yield encoded["object"]
    for below in encoded.get("causes", ()):
        yield from objects_in(below)


def test_words_are_only_added():
    assert [] == [word for word in PUBLISHED if word not in kinds_by_word()]


def test_every_word_is_listed_so_that_it_stays():
    assert [*kinds_by_word()] == PUBLISHED, "add new words to tests/cases/cause_reasons.txt"


@pytest.mark.parametrize("kind", cause_types(), ids=lambda kind: kind.__name__)
def test_every_cause_is_valid_json_and_says_what_it_is(kind):
    for cause in itertools.islice(examples(kind), 40):
        (encoded,) = json.loads(json.dumps(causes_json([cause])))

        CAUSE.validate(encoded)
        assert all(OBJECT.fullmatch(each) for each in objects_in(encoded))
        assert KNOWN[encoded["reason"]]["properties"].keys() >= encoded.keys()


def test_a_key_has_one_type_in_all_causes_and_in_the_objects_in_them():
    found: dict[str, set[str]] = {}
    for name, schema in KNOWN.items():
        for key, each in schema["properties"].items():
            if name != "cause" or key != "causes":
                items = each.get("items", {})
                kind = "string" if "const" in each or "enum" in each else each.get("type", "object")
                found.setdefault(key, set()).add(f"{kind} {items.get('type', 'object') if key != 'causes' and items else ''}")

    assert {} == {key: kinds for key, kinds in found.items() if len(kinds) > 1}


@pytest.mark.parametrize("kind", cause_types(), ids=lambda kind: kind.__name__)
def test_a_value_of_another_type_and_a_missing_key_are_refused(kind):
    (encoded,) = causes_json([next(examples(kind))])
    schema = KNOWN[encoded["reason"]]

    for key in schema["properties"].keys() & encoded.keys():
        assert not CAUSE.is_valid({**encoded, key: [None]}), key
    for key in schema["required"]:
        assert not CAUSE.is_valid({each: value for each, value in encoded.items() if each != key}), key
    assert CAUSE.is_valid({**encoded, "added": 1})


def test_the_form_that_was_promised_is_valid():
    promised = {"reason": "InsufficientResource", "object": "Pod default/w-0", "resource": "cpu", "free": "0", "needed": "1", "nodes": 3}

    assert CAUSE.is_valid({**promised, "causes": [promised]})


def test_a_nested_object_is_described_too():
    (encoded,) = causes_json([UntoleratedTaint(Taint("gpu", "NoSchedule"), NodeCount(1, 4))])

    assert CAUSE.is_valid(encoded)
    assert not CAUSE.is_valid({**encoded, "taint": {"key": 1}})
    assert not CAUSE.is_valid({**encoded, "taint": {"effect": "NoSchedule"}})
    assert not CAUSE.is_valid({"reason": "NotTried", "causes": [{"reason": "NoPlacement", "object": 1}]})


@pytest.mark.parametrize("seed", range(60))
def test_causes_of_decisions_match_the_published_schema(seed):
    for strategy in ("greedy", "complete"):
        options = CycleOptions(strategy=strategy, placing=OPTIONS[seed % len(OPTIONS)])
        for decision in run_cycle(load(refused_cluster(seed)), options).decisions:
            groups = (each.causes for each in decision.groups)
            for encoded in causes_json(itertools.chain(decision.causes, *groups, *decision.pending.values())):
                CAUSE.validate(encoded)


def test_a_claim_has_its_name_in_decisions_and_its_object_if_it_exists():
    created = NamedClaim("pod/train-0/gpu", Name("ResourceClaim", "ml", "train-0-gpu-x7k"))
    encoded = causes_json([ClaimsDeallocated((claim_of("ml/shared"), created, NamedClaim("podgroup/train/gpu", None)))])

    assert encoded == [
        {
            "reason": "ClaimsDeallocated",
            "claims": [
                {"claim": "ml/shared", "object": "ResourceClaim ml/shared"},
                {"claim": "pod/train-0/gpu", "object": "ResourceClaim ml/train-0-gpu-x7k"},
                {"claim": "podgroup/train/gpu"},
            ],
        }
    ]


def test_volumes_are_resources_with_their_driver_or_class():
    volumes, limit = VolumesOfClass("local", 2**30), AttachableVolumes("ebs.csi.aws.com")
    causes = [NoneFree(volumes), InsufficientResource(limit, 0, 2, 3), InsufficientOnNodes((Amount(limit, 1),), NodeCount(1, 2))]

    assert causes_json(causes) == [
        {"reason": "NoneFree", "resource": "volumes", "storageClass": "local", "size": "1Gi"},
        {
            "reason": "InsufficientResource",
            "resource": "attachable-volumes",
            "driver": "ebs.csi.aws.com",
            "free": "0",
            "needed": "2",
            "nodes": 3,
        },
        {
            "reason": "InsufficientOnNodes",
            "amounts": [{"resource": "attachable-volumes", "driver": "ebs.csi.aws.com", "amount": "1"}],
            "nodes": 1,
            "ofNodes": 2,
        },
    ]


def facts(encoded):
    """Yield a cause and those below it."""
    yield encoded
    for below in encoded.get("causes", ()):
        yield from facts(below)


def test_a_decision_has_the_facts_behind_the_messages_of_kube_scheduler():
    disk = [limits.using("c0", "c1", name="p"), *limits.ONE, *limits.csi("c0", "c1")]
    local = [delayed.using("d", name="q"), delayed.claim("d", "1Gi"), delayed.volume("v", "n9"), delayed.storage_class()]
    attached, unbound = (
        [
            fact
            for decision in run_cycle(load([*objects]), CycleOptions()).decisions
            for each in causes_json(decision.causes)
            for fact in facts(each)
        ]
        for objects in (disk, [*limits.ONE, *local])
    )

    (found,) = [each for each in attached if each["reason"] == "RequestTooLarge"]
    assert found == {
        "reason": "RequestTooLarge",
        "resource": "attachable-volumes",
        "driver": "csi.example",
        "needed": "2",
        "largest": "1",
        "comparedNodes": "all",
    }
    (found,) = [each for each in unbound if "claim" in each]
    assert (found["reason"], found["claim"], found["object"], found["size"]) == (
        "NoFreeVolume",
        "default/d",
        "PersistentVolumeClaim default/d",
        "1Gi",
    )


def test_devices_are_counted_as_other_resources_and_each_fact_has_one_key():
    cause = InsufficientDevices(
        NamedClaim("pod/p/gpu", None),
        "gpu.example.com",
        "r",
        0,
        2,
        NodeCount(3, 4),
        selectors=(OtherSelector("f(device)"),),
        capacity=(("memory", Decimal(40)),),
        taints=(Taint("dead", "NoExecute"),),
        together=DevicesTogether(1, 8, 4),
    )

    assert causes_json([cause]) == [
        {
            "reason": "InsufficientDevices",
            "claim": "pod/p/gpu",
            "deviceClass": "gpu.example.com",
            "request": "r",
            "free": "0",
            "needed": "2",
            "nodes": 3,
            "ofNodes": 4,
            "selectors": [{"expression": "f(device)"}],
            "capacity": {"memory": "40"},
            "taints": [{"key": "dead", "effect": "NoExecute"}],
            "together": {"free": "1", "needed": "8", "nodes": 4},
        }
    ]


def test_labels_that_a_pod_selects_are_an_object_as_in_its_spec():
    selected = NodeAffinityMismatch(NodeCount(1, 2), (("gpu", "h100"), ("zone", "a")))

    assert causes_json([selected])[0]["nodeSelector"] == {"gpu": "h100", "zone": "a"}


def test_required_node_affinity_has_its_terms_as_in_the_spec_and_what_no_node_has():
    block, name = Requirement("block", "In", ("b1", "b2")), Requirement("metadata.name", "In", ("n1",))
    terms = (NodeSelectorTerm((block, Requirement("disk", "Exists"))), NodeSelectorTerm(None, (name,)))
    found = causes_json([NodeAffinityMismatch(NodeCount(1, 2), (), True, terms, (block,))])[0]
    expression = {"key": "block", "operator": "In", "values": ["b1", "b2"]}

    assert found == {
        "reason": "NodeAffinityMismatch",
        "nodes": 1,
        "ofNodes": 2,
        "nodeAffinity": True,
        "nodeSelectorTerms": [
            {"matchExpressions": [expression, {"key": "disk", "operator": "Exists"}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        ],
        "unmetRequirements": [expression],
    }
    jsonschema.validate(found, {"$ref": "#/$defs/NodeAffinityMismatch", "$defs": definitions()})


def test_a_derivation_is_a_tree_with_quantities_counts_and_objects():
    cause = PodsDoNotFit(
        (Name("CompositePodGroup", "ml", "train"), Name("PodGroup", "ml", "workers")),
        Domain("", ""),
        PodDemand(2, 2, 0, (Amount("cpu", 1500), Amount("memory", 2**30))),
        (
            DomainCause(
                Domain("rack", "r1"),
                4,
                1,
                2,
                decisive=(InsufficientResource("memory", 2**30 + 1, 2 * 2**30, 3),),
                causes=(UntoleratedTaint(Taint("gpu", "NoSchedule", "a: b; c"), NodeCount(1, 4)),),
            ),
        ),
        "rack",
    )

    assert causes_json([cause]) == [
        {
            "reason": "PodsDoNotFit",
            "object": "PodGroup ml/workers",
            "key": "rack",
            "demand": {
                "pending": 2,
                "wanted": 2,
                "running": 0,
                "requests": [{"resource": "cpu", "amount": "1500m"}, {"resource": "memory", "amount": "1Gi"}],
            },
            "causes": [
                {
                    "reason": "DomainTooSmall",
                    "domain": {"key": "rack", "value": "r1"},
                    "nodes": 4,
                    "pods": 1,
                    "wanted": 2,
                    "causes": [
                        {"reason": "InsufficientResource", "resource": "memory", "free": "1073741825", "needed": "2Gi", "nodes": 3},
                        {
                            "reason": "UntoleratedTaint",
                            "taint": {"key": "gpu", "effect": "NoSchedule", "value": "a: b; c"},
                            "nodes": 1,
                            "ofNodes": 4,
                        },
                    ],
                }
            ],
        }
    ]


def test_texts_of_others_are_messages_and_do_not_hide_the_reason():
    refused = NodesRefused("node(s) were on fire", NodeCount(1, 2))
    error = FitError(3, (ReasonCount("Insufficient cpu", 2), ReasonCount("node(s) were on fire", 1)))

    assert causes_json([refused, error]) == [
        {"reason": "NodesRefused", "message": "node(s) were on fire", "nodes": 1, "ofNodes": 2},
        {
            "reason": "FitError",
            "nodes": 3,
            "reasons": [{"message": "Insufficient cpu", "nodes": 2}, {"message": "node(s) were on fire", "nodes": 1}],
            "outside": 0,
        },
    ]


def test_a_message_of_kube_scheduler_has_its_plugin_and_resource():
    error = FitError(3, (ReasonCount("Insufficient cpu", 2, "NodeResourcesFit", "cpu"), ReasonCount("dark", 1, "Night")))

    (encoded,) = causes_json([error])
    assert encoded["reasons"] == [
        {"message": "Insufficient cpu", "nodes": 2, "plugin": "NodeResourcesFit", "resource": "cpu"},
        {"message": "dark", "nodes": 1, "plugin": "Night"},
    ]


def test_a_reason_of_a_filter_that_is_a_value_is_a_message_with_its_fields():
    unmodelled, failed = UnmodelledField(("spec.a[0]", "spec.b")), DeviceError("no such key: model", DeviceAdvice.CORRECT_EXPRESSION)
    text = "spec.a[0] and spec.b can exclude nodes and is not modelled (muster simulate --ignore spec.a places it anyway)"
    encoded, refused, field = causes_json(
        [FitError(3, (ReasonCount(unmodelled, 2), ReasonCount(failed, 1))), NodesRefused(failed, NodeCount(1, 2)), unmodelled]
    )

    advised = {"message": "no such key: model (correct the expression)", "advice": "correct-expression"}
    assert [{"message": text, "fields": ["spec.a[0]", "spec.b"], "nodes": 2}, {**advised, "nodes": 1}] == encoded["reasons"]
    assert {"reason": "NodesRefused", **advised, "nodes": 1, "ofNodes": 2} == refused
    assert {"reason": "UnmodelledField", "fields": ["spec.a[0]", "spec.b"]} == field


@pytest.mark.parametrize(
    ("failure", "message", "fields"),
    [
        pytest.param(
            FilterFailed("DynamicResources", SearchUnfinished(9)),
            'running "DynamicResources" filter plugin: timed out trying to allocate devices: 9 were tried; request fewer devices in one claim',
            {
                "plugin": "DynamicResources",
                "error": "timed out trying to allocate devices: 9 were tried; request fewer devices in one claim",
                "triedDevices": 9,
            },
            id="a filter",
        ),
        pytest.param(
            PlacementPluginRaised("Mine", PlacementMethod.CHECK, "KeyError: 'x'", "mine.py", 7),
            "placement plugin Mine.check failed: KeyError: 'x' (mine.py:7)",
            {"plugin": "Mine", "method": "check", "error": "KeyError: 'x'", "file": "mine.py", "line": 7},
            id="an exception",
        ),
        pytest.param(
            WrongResult("Mine", PlacementMethod.SCORE, "str"),
            "placement plugin Mine.score failed: TypeError: it returned str, not a number",
            {"plugin": "Mine", "method": "score", "returned": "str"},
            id="a result",
        ),
    ],
)
def test_a_failure_of_a_plugin_has_its_words_and_its_fields(failure, message, fields):
    assert [{"reason": "PluginFailed", "message": message, "failure": fields}] == causes_json([PluginFailed(failure)])


def test_a_selector_has_values_only_where_it_compares_with_some():
    chosen = SelectorClause("app", "In", frozenset({"b", "a"})), SelectorClause("age", "Exists")
    cause = AffinityConflict(AffinityRule.AFFINITY, "rack", chosen, (), everywhere=True, nodes=NodeCount(1, 2))
    (encoded,) = causes_json([cause])

    assert encoded["selector"] == [{"key": "app", "operator": "In", "values": ["a", "b"]}, {"key": "age", "operator": "Exists"}]


@pytest.mark.parametrize("report", ["simulate", "fit", "lint"])
def test_reports_match_their_published_schema(report, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("world.yaml").write_text(WORLD, encoding="utf-8")
    Path("own.yaml").write_text(OWN, encoding="utf-8")
    Path("bad.yaml").write_text(OWN.replace("minCount: 2", "minCount: 0"), encoding="utf-8")
    asked = {
        "simulate": ["simulate", "world.yaml", "own.yaml", "--format", "json"],
        "fit": ["fit", "own.yaml", "--objects", "world.yaml", "--format", "json"],
        "lint": ["lint", "bad.yaml", "--format", "json"],
    }
    published = CliRunner().invoke(main, ["schema", "--report", report])
    found = json.loads(CliRunner().invoke(main, asked[report]).stdout)

    assert (0, report_schema(report)) == (published.exit_code, json.loads(published.stdout))
    jsonschema.Draft202012Validator.check_schema(report_schema(report))
    jsonschema.validate(found, report_schema(report))
    if report == "lint":
        assert found["findings"]
    else:
        (decision,) = found["decisions"]
        assert all(each["causes"] for each in (decision, decision["groups"][0], found["pending"][0]))
        del decision["causes"][0]["reason"]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(found, report_schema(report))


@pytest.mark.parametrize("more", [["PodGroup"], ["--building-blocks"], ["--format", "openapi"]])
def test_a_report_is_asked_for_alone(more):
    result = CliRunner().invoke(main, ["schema", "--report", "fit", *more])

    assert 2 == result.exit_code
    assert "--report is used alone" in result.output


WORLD = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {rack: r1}}
status: {allocatable: {cpu: "2", memory: 3Gi, pods: "10"}}
"""
OWN = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g, namespace: default}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default}
spec:
  schedulingGroup: {podGroupName: g}
  containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: default}
spec:
  schedulingGroup: {podGroupName: g}
  containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]
"""
