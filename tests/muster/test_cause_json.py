"""Causes as JSON: their words and keys, and the published schemas of reports."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from muster.cli import main
from muster.commands.schema.report_schemas import report_schema
from muster.render import cause_json
from scheduler_core.causes.attempts import FitError
from scheduler_core.causes.domains import DomainCause
from scheduler_core.causes.filter_reasons import DeviceAdvice, DeviceError, SearchUnfinished, UnmodelledField
from scheduler_core.causes.groups import PodDemand, PodsDoNotFit
from scheduler_core.causes.node_count import Amount, NodeCount
from scheduler_core.causes.node_states import NodesRefused, UntoleratedTaint
from scheduler_core.causes.other_pods import AffinityConflict, AffinityRule
from scheduler_core.causes.plugin_failures import FilterFailed, PlacementMethod, PlacementPluginRaised, PluginFailed, WrongResult
from scheduler_core.causes.resources import InsufficientResource
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.selector_clause import SelectorClause
from scheduler_core.model.wire import Taint
from tests.scheduler_core.wording.examples import examples

CASES = Path(__file__).parents[1] / "cases"
PUBLISHED = (CASES / "cause_reasons.txt").read_text(encoding="utf-8").split()
CAUSE = jsonschema.Draft202012Validator({"$ref": "#/$defs/cause", "$defs": {"cause": cause_json.schema()}})


OBJECT = re.compile("x x/x|Kind .*")


def objects_in(encoded):
    """Yield what ``object`` names in a cause and in those below it."""
    if "object" in encoded:
        yield encoded["object"]
    for below in encoded.get("causes", ()):
        yield from objects_in(below)


def test_words_are_only_added():
    assert [] == [word for word in PUBLISHED if word not in cause_json.reasons()]


def test_every_word_is_listed_so_that_it_stays():
    assert [*cause_json.reasons()] == PUBLISHED, "add new words to tests/cases/cause_reasons.txt"


@pytest.mark.parametrize("kind", cause_json.cause_types(), ids=lambda kind: kind.__name__)
def test_every_cause_is_valid_json_and_says_what_it_is(kind):
    for cause in itertools.islice(examples(kind), 40):
        (encoded,) = json.loads(json.dumps(cause_json.causes_json([cause])))

        CAUSE.validate(encoded)
        assert all(OBJECT.fullmatch(each) for each in objects_in(encoded))
        assert encoded["reason"] in cause_json.reasons()
        assert set(cause_json.meanings()[encoded["reason"]][1]) >= encoded.keys() - {"reason", "causes", "ofNodes"}


def test_a_derivation_is_a_tree_with_quantities_counts_and_objects():
    cause = PodsDoNotFit(
        (Name("CompositePodGroup", "ml", "train"), Name("PodGroup", "ml", "workers")),
        "rack",
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
    )

    assert cause_json.causes_json([cause]) == [
        {
            "reason": "PodsDoNotFit",
            "object": "PodGroup ml/workers",
            "key": "rack",
            "demand": {
                "pending": 2,
                "needed": 2,
                "running": 0,
                "requests": [{"resource": "cpu", "amount": "1500m"}, {"resource": "memory", "amount": "1Gi"}],
            },
            "divided": True,
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
    error = FitError(3, (("Insufficient cpu", 2), ("node(s) were on fire", 1)))

    assert cause_json.causes_json([refused, error]) == [
        {"reason": "NodesRefused", "message": "node(s) were on fire", "nodes": 1, "ofNodes": 2},
        {
            "reason": "FitError",
            "nodes": 3,
            "reasons": [{"message": "Insufficient cpu", "nodes": 2}, {"message": "node(s) were on fire", "nodes": 1}],
            "outside": 0,
        },
    ]


def test_a_reason_of_a_filter_that_is_a_value_is_a_message():
    unmodelled, failed = UnmodelledField(("spec.a[0]", "spec.b")), DeviceError("no such key: model", DeviceAdvice.CORRECT_EXPRESSION)
    text = "spec.a[0] and spec.b can exclude nodes and is not modelled (muster simulate --ignore spec.a places it anyway)"
    encoded, refused, field = cause_json.causes_json(
        [FitError(3, ((unmodelled, 2), (failed, 1))), NodesRefused(failed, NodeCount(1, 2)), unmodelled]
    )

    assert [{"message": text, "nodes": 2}, {"message": "no such key: model (correct the expression)", "nodes": 1}] == encoded["reasons"]
    assert "no such key: model (correct the expression)" == refused["message"]
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
    assert [{"reason": "PluginFailed", "message": message, "failure": fields}] == cause_json.causes_json([PluginFailed(failure)])


def test_a_selector_has_a_bound_only_where_it_compares_with_one():
    chosen = SelectorClause("app", "In", frozenset({"b", "a"})), SelectorClause("age", "Gt", bound=0)
    cause = AffinityConflict(AffinityRule.AFFINITY, "rack", chosen, (), everywhere=True, nodes=NodeCount(1, 2))
    (encoded,) = cause_json.causes_json([cause])

    assert encoded["selector"] == [
        {"key": "app", "operator": "In", "values": ["a", "b"]},
        {"key": "age", "operator": "Gt", "bound": 0},
    ]


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
