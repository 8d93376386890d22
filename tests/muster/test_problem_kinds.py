"""Kinds of problems and notes: the reasons in JSON, and decisions that depend on kinds and names, never on texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from expansion.notes import NotExpressed, NotSimulated, ObjectNote, RefusedByServer, TemplateMissing
from kubeapi import gather
from kubeapi.problem import ObjectLeftOut, Problem, SeveralObjects
from muster import cli
from muster.commands.fit import verdict
from muster.commands.simulate import own_objects
from muster.commands.simulate.own_objects import Own
from muster.render.answer import Answer
from muster.render.file_notes import AlsoDefined, FileUnreadable
from muster.render.problem_words import object_words
from muster.render.tree_rows import Kinship
from scheduler_core.causes.input_problems import (
    AttributeUnknown,
    Effect,
    InvalidField,
    KindNotServed,
    LabelSource,
    LabelUnknown,
    TopologyKeyUnknown,
)
from scheduler_core.cluster.load import load
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording.titles import label
from tests.muster.simulated import gang, leaf, lone, node, pod, single
from tests.muster.test_fit import composite, judged, on_node, saved
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, deployment, job, manifest, simulated

pytestmark = pytest.mark.usefixtures("folder")

NODES = [node("n1", rack="a"), node("n2", rack="b")]
SANDBOX = manifest("Sandbox", "agents.example/v1", template=TEMPLATE)
TRAIN, WEB = Name("Job", "default", "train"), Name("Deployment", "default", "web")


def named(kind, name, version="v1", **fields):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


def with_pod(made, **spec):
    return {**made, "spec": {**made["spec"], "template": {**RUN_ONCE, "spec": {**RUN_ONCE["spec"], **spec}}}}


def quota(**hard):
    return named("ResourceQuota", "team-a", spec={"hard": hard}, status={"hard": hard, "used": hard})


CLASS = named("StorageClass", "gold", "storage.k8s.io/v1", provisioner="csi.example.com", volumeBindingMode="Immediate")
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "gold"}
OF_KUEUE = {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}, "name": "p", "namespace": "default", "uid": "1"}
REASONS = {
    "not supported": ([SANDBOX], [], ["NotSimulated Sandbox default/web"]),
    "a declared kind": ([job(1), named("Widget", "w", "example.com/v1")], ["--no-pods", "Widget"], ["TakenWithoutPods Widget default/w"]),
    "no replicas": ([deployment(0)], [], ["CreatesNoPods Deployment default/web"]),
    "ended": ([{**job(1), "status": {"conditions": [{"type": "Complete", "status": "True"}]}}], [], ["HasEnded Job default/train"]),
    "objects of one name": ([deployment(1), deployment(2)], [], ["SeveralObjects Deployment default/web"]),
    "pods of one name": ([pod("p"), pod("p", cpu="2")], [], ["SeveralObjects Pod default/p"]),
    "a group without pods": ([gang("g", 9)], [], ["WithoutPods PodGroup default/g"]),
    "a composite without groups": ([composite("c")], [], ["WithoutPods CompositePodGroup default/c"]),
    "a node name": ([on_node("n1")], [], ["HasNode ReplicaSet default/web"]),
    "a queue": ([job(1, metadata={"labels": {"kueue.x-k8s.io/queue-name": "q"}})], [], ["NotExpressed Job default/train"]),
    "a system class": (
        [with_pod({**job(1), "spec": {**job(1)["spec"], "scheduling": {}}}, priorityClassName="system-node-critical")],
        [],
        ["ConversionWarning Job default/train", "CriticalPods Job default/train"],
    ),
    "alone": ([pod("p"), pod("q")], ["--gang"], ["GangRequest Pod default/p (and 1 more pod)"]),
    "not one gang": ([pod("p"), pod("q", schedulerName="x")], ["--gang"], ["NotOneGang Pod default/p (and 1 more pod)"]),
    "Kueue": ([{**pod("p"), "metadata": OF_KUEUE}], [], ["KueueGroup Pod default/p"]),
    "a quota": ([job(1), quota(pods="0")], [], ["Refused Job default/train"]),
    "a wrong value": ([with_pod(job(1), containers=[])], [], ["NotSimulated Job default/train", "Refused Job default/train"]),
    "a missing template": (
        [with_pod(job(1), resourceClaims=[{"name": "g", "resourceClaimTemplateName": "gpu"}])],
        [],
        ["MissingObject Job default/train"],
    ),
    "a volume": (
        [with_pod(job(1), volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}]), CLASS],
        [],
        ["VolumePlaceUnknown Job default/train"],
    ),
    "limited remedies": ([pod(f"p{number}", cpu="9") for number in range(4)], [], ["RemediesLimited Remedies"]),
}


@pytest.mark.parametrize(("mine", "options", "want"), REASONS.values(), ids=REASONS)
def test_problems_and_notes_have_a_reason(mine, options, want):
    _, answer = judged(mine, NODES, *options)
    found = [*answer["problems"], *answer.get("notes", ())]
    assert want == sorted(f"{each['reason']} {each['object']}" for each in found)


def test_a_simulation_has_the_same_reasons():
    _, answer = simulated([SANDBOX, deployment(0)], NODES)
    assert {"NotSimulated": "problems", "CreatesNoPods": "notes"} == {
        each["reason"]: part for part in ("problems", "notes") for each in answer[part]
    }


def test_queues_and_unreadable_files_of_the_cluster(folder):
    folder.joinpath("broken.yaml").write_text("a: [", encoding="utf-8")
    folder.joinpath("empty").mkdir()
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "q"}}
    unsorted = {"apiVersion": "v1", "metadata": {"name": "a"}}
    _, answer = judged([job(1)], [*NODES, queue, unsorted], "--objects", "broken.yaml", "--objects", "empty")
    assert [["UnreadableFile", "NoFile", "UnreadableObject"], ["KueueQuotas"]] == [
        [each["reason"] for each in answer[part]] for part in ("problems", "notes")
    ]


@pytest.mark.parametrize(
    ("problem", "ambiguous", "unused"),
    [
        pytest.param(Problem.about(lone("p"), SeveralObjects()), True, True, id="several pods"),
        pytest.param(Problem(AlsoDefined(lone("p"), "a:1"), (Name("Node", "", "n"),)), True, True, id="several nodes"),
        pytest.param(Problem(FileUnreadable("why"), place="Pod of a file"), False, False, id="a file named like a pod"),
        pytest.param(Problem.about(Name("Service", "a", "Pod x"), SeveralObjects()), False, False, id="services"),
        *(
            pytest.param(Problem.about(Name(kind, "a", "b"), ObjectLeftOut("why")), False, True, id=f"a {kind} is left out")
            for kind in (*gather.KINDS, *gather.ADMISSION_KINDS, gather.CONFIGURATION)
        ),
        pytest.param(Problem.about(Name("ConfigMap", "a", "b"), ObjectLeftOut("why")), False, False, id="a kind that nothing reads"),
        pytest.param(Problem.about(Name("PodGroup", "a", "b"), KindNotServed("GenericWorkload")), False, False, id="a kind that is off"),
        pytest.param(Problem.about(lone("p"), NotSimulated("the pod is left out")), False, False, id="another problem of a pod"),
    ],
)
def test_unused_objects_are_recognised_by_kind(problem, ambiguous, unused):
    assert (ambiguous, unused) == (own_objects.is_ambiguous(problem), own_objects.is_unused(problem))


@pytest.mark.parametrize(
    ("problem", "want"),
    [
        pytest.param(Problem.about(lone("p"), InvalidField("x", "y", Effect.TOLERATES_NOTHING)), True, id="an object at PATH"),
        pytest.param(Problem(RefusedByServer("x"), (lone("q"), lone("p"))), True, id="one of several objects"),
        pytest.param(Problem(FileUnreadable("x"), place="Pod default/p"), False, id="a file of the cluster, named like it"),
        pytest.param(Problem(AttributeUnknown("x")), True, id="an attribute"),
        pytest.param(Problem(FileUnreadable("x"), place="attribute x.json"), False, id="a file named like an attribute"),
    ],
)
def test_problems_of_path_are_recognised_by_names(problem, want):
    own = Own.from_names([Name("Pod", "default", "p")], ())
    assert want is own_objects.is_problem_of(own, problem)


def test_a_file_of_the_cluster_can_have_the_name_of_an_object(folder):
    folder.joinpath("Pod default").mkdir()
    Path("Pod default/p").write_text("a: [", encoding="utf-8")
    arguments = ["simulate", saved("mine.json", [pod("p")]), "--objects", saved("cluster.json", NODES), "--objects", "Pod default/p"]
    answer = CliRunner().invoke(cli.main, arguments)
    assert (2, True) == (answer.exit_code, "Pod default/p:1:5" in answer.stdout)


UNSORTED = {"kind": "attribute x", "metadata": {"name": "y"}}
"""Object without an apiVersion, whose kind begins like an attribute in problems."""


def test_an_object_of_the_cluster_is_not_an_attribute_because_of_its_kind():
    status, answer = judged([pod("p")], [*NODES, UNSORTED])
    assert (2, [], ["UnreadableObject attribute x y"]) == (
        status,
        answer["skipped"],
        [f"{each['reason']} {each['object']}" for each in answer["problems"]],
    )
    assert answer["message"].endswith("; 1 input of the cluster could not be read")


def test_such_an_object_is_reported_once_for_a_topology():
    answer = CliRunner().invoke(cli.main, ["topology", "--objects", saved("cluster.json", [*NODES, UNSORTED])])
    assert ["muster topology: attribute x y: apiVersion is missing; the object is left out"] == answer.stderr.splitlines()


def line(*decisions, origins=None, **parts):
    """Return the verdict about decisions on the objects at PATH."""
    own = Own.from_names([Name("Pod", "default", "p"), *(origins or {})], (), origins)
    answer = Answer(decisions, **{key: (value,) for key, value in parts.items()})
    return verdict.judge(answer, own, Kinship({}, {})).line


CAPACITY = "; the nodes have capacity"
ODD = Name("Job", "default", "a, Job default/b")
"""Name of an object that looks like a list of two objects."""


@pytest.mark.parametrize(
    ("origins", "names", "capacity"),
    [
        pytest.param([TRAIN], [TRAIN], True, id="a judged object"),
        pytest.param([TRAIN, WEB], [TRAIN, WEB], True, id="several objects"),
        pytest.param([TRAIN], [TRAIN, WEB], False, id="one is not judged"),
        pytest.param([Name("Job", "default", "a"), Name("Job", "default", "b")], [ODD], False, id="a name that looks like two"),
        pytest.param([ODD], [ODD], True, id="such an object is judged"),
    ],
)
def test_refused_objects_are_known_by_name(origins, names, capacity):
    decisions = [single(f"x{number}", "n1") for number in range(len(origins))]
    refused = Problem(RefusedByServer("why"), tuple(names))
    text = line(*decisions, origins={each.root: origin for each, origin in zip(decisions, origins, strict=True)}, refused=refused)
    assert f"does not fit: {', '.join(map(label, names))}: why{CAPACITY if capacity else ''}" == text


FAILED = Decision(leaf("g"), Status.UNSCHEDULABLE, pending={"default/g-0": ()})
KEY, LABEL = TopologyKeyUnknown("zone", "rack"), LabelUnknown("zone", LabelSource.NODE_SELECTOR, "rack")
GONE = TemplateMissing(Name("ResourceClaimTemplate", "default", "gpu"))
MISSPELT = 'no node has the topology key "zone"; did you mean "rack"?'
OF_POD = 'no node has the label "zone" of its node selector; did you mean "rack"?'


@pytest.mark.parametrize(
    ("parts", "suggestion"),
    [
        pytest.param({"problems": Problem.about(leaf("g"), KEY)}, MISSPELT, id="a key"),
        pytest.param({"problems": Problem.about(lone("g-0"), LABEL)}, OF_POD, id="a label of a pod"),
        pytest.param(
            {"problems": Problem.about(leaf("g"), InvalidField("x", MISSPELT, Effect.TOLERATES_NOTHING))}, "", id="another problem"
        ),
        pytest.param({"problems": Problem.about(leaf("h"), LABEL)}, "", id="another object"),
        pytest.param({"notes": Problem.about(TRAIN, GONE)}, "there is no ResourceClaimTemplate default/gpu", id="a missing object"),
        pytest.param({"notes": Problem.about(TRAIN, NotExpressed("x", "there is no way"))}, "", id="another note"),
        pytest.param({"notes": Problem.about(WEB, GONE)}, "", id="missing for another object"),
    ],
)
def test_a_suggestion_is_known_by_kind(parts, suggestion):
    text = line(FAILED, origins={leaf("g"): TRAIN}, **parts)
    assert f"does not fit: Job default/train: {Status.UNSCHEDULABLE.value}" + (f"; {suggestion}" if suggestion else "") == text


def test_a_name_that_looks_like_a_suggestion_is_none():
    mine = pod("p", cpu="9")
    mine["status"] = {"nominatedNodeName": "did you mean"}
    _, answer = judged([mine], NODES, "--remedies", "0")
    assert [["UnknownNominatedNode"], False] == [[each["reason"] for each in answer["problems"]], "did you mean" in answer["message"]]


@pytest.mark.parametrize(
    ("note", "want"),
    [
        pytest.param(
            Problem.about(TRAIN, ObjectNote.HAS_ENDED), "Job default/train: it has ended and creates no more pods", id="it has ended"
        ),
        pytest.param(Problem.about(WEB, ObjectNote.CREATES_NO_PODS), "Deployment default/web: it creates no pods now", id="it has no pods"),
        pytest.param(Problem.about(WEB, NotExpressed("x", "it creates no pods now")), "the pods at PATH have nodes already", id="words"),
    ],
)
def test_why_nothing_is_judged_is_known_by_kind(note, want):
    assert line(notes=note).startswith(f"nothing to judge: {want}")


@pytest.mark.parametrize(("kind", "want"), [("PodGroup", ["PodGroup default/PodGroup v"]), ("PodGroupSet", [])])
def test_a_group_without_pods_is_reported_by_the_kind_of_its_origin(kind, want):
    origin = Name(kind, "default", "PodGroup v")
    own = Own(frozenset({leaf("g")}), frozenset(), (), {leaf("g"): origin})
    assert want == [object_words(each) for each in own_objects.unjudged(Answer(()), load([]), own)]
