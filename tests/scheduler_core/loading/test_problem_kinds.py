"""Kinds of the problems of loading, and the objects that they name."""

from __future__ import annotations

from typing import Any

import pytest

from kubeapi.gather import is_left_out
from kubeapi.problem import ObjectLeftOut, ObjectUnreadable, Problem, ProblemKind
from muster.render.file_notes import FileUnreadable
from scheduler_core.causes.input_problems import AttributeUnknown, Effect, InvalidField, SeveralDomains
from scheduler_core.cluster.load import load
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.names import Name
from scheduler_core.wording.problem_words import object_words
from scheduler_core.wording.titles import label
from tests.scheduler_core.loading.manifests import budget, group, node, pod
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_class, device_slice, template, wanting
from validators.gates import COMPOSITE, NEEDS, TOPOLOGY, Gates

Json = dict[str, Any]
CONFIGURATION = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
ZONE = "topology.kubernetes.io/zone"
CLIQUE = f"{DRIVER}/clique"
BY_ZONE = {"schedulingConstraints": {"topology": [{"key": ZONE}]}}
WRONG_TAINT = {"key": "a", "value": "", "effect": "Never"}
WRONG_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Maybe"}]}
BY_NAMESPACE = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ZONE, "namespaceSelector": {"matchLabels": {"team": "a"}}}]
    }
}


def named(kind: str, name: str = "", namespace: str = "") -> Name:
    return Name(kind, namespace, name)


def of_clique(*values: str) -> Json:
    return device_slice("node-1", *(device(f"d{number}", {"clique": each}) for number, each in enumerate(values)))


WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {"podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"basic": {}}}]},
}
MINE = named("Pod", "pod-1", "default")
GROUP = named("PodGroup", "group-1", "default")
NODE = named("Node", "node-1")
CONFIGURED = named("KubeSchedulerConfiguration")
CASES: dict[str, tuple[list[Any], set[tuple[ProblemKind, Name]]]] = {
    "not JSON": ([b"{"], {(ProblemKind.UNREADABLE_OBJECT, named("Object"))}),
    "without an apiVersion": ([{"kind": "Pod", "metadata": {"name": "p"}}], {(ProblemKind.UNREADABLE_OBJECT, named("Pod", "p"))}),
    "not UTF-8": (
        [b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "x": "\xff"}'],
        {(ProblemKind.OBJECT_LEFT_OUT, named("Pod", "p", "a"))},
    ),
    "without a name": ([pod("")], {(ProblemKind.OBJECT_LEFT_OUT, named("Pod"))}),
    "a pod that cannot be read": ([pod(priority="high")], {(ProblemKind.OBJECT_LEFT_OUT, MINE)}),
    "a pod of an unknown node": ([pod(nodeName="gone")], {(ProblemKind.OBJECT_LEFT_OUT, MINE)}),
    "a node that cannot be read": ([node(allocatable={"cpu": "much"})], {(ProblemKind.OBJECT_LEFT_OUT, NODE)}),
    "pods of one name": ([pod(priority=1), pod(priority=2)], {(ProblemKind.SEVERAL_OBJECTS, MINE)}),
    "nodes of one name": ([node(), node(labels={"a": "b"})], {(ProblemKind.SEVERAL_OBJECTS, NODE)}),
    "a taint": ([node(taints=[WRONG_TAINT])], {(ProblemKind.INVALID_FIELD, NODE)}),
    "a toleration": ([pod(tolerations=[{"operator": "Maybe"}])], {(ProblemKind.INVALID_FIELD, MINE)}),
    "a selector": (
        [budget(spec={"selector": WRONG_SELECTOR})],
        {(ProblemKind.INVALID_FIELD, named("PodDisruptionBudget", "budget-1", "default"))},
    ),
    "the priority class of a pod": ([pod(priorityClassName="gone")], {(ProblemKind.UNKNOWN_PRIORITY_CLASS, MINE)}),
    "the priority class of a group": ([group(priorityClassName="gone")], {(ProblemKind.UNKNOWN_PRIORITY_CLASS, GROUP)}),
    "a group unlike its template": (
        [WORKLOAD, group(workloadRef={"workloadName": "train", "templateName": "workers"}, disruptionMode={"all": {}})],
        {(ProblemKind.TEMPLATE_DIFFERS, GROUP)},
    ),
    "a nominated node": ([pod(status={"nominatedNodeName": "gone"})], {(ProblemKind.UNKNOWN_NOMINATED_NODE, MINE)}),
    "a topology key": ([node(labels={"zone": "a"}), group(**BY_ZONE)], {(ProblemKind.UNKNOWN_TOPOLOGY_KEY, GROUP)}),
    "a topology key in another case": (
        [node(labels={ZONE.title(): "a"}), node("node-2", labels={ZONE: "b"}), group(**BY_ZONE)],
        {(ProblemKind.LABEL_CASE, NODE)},
    ),
    "a value in another case": (
        [node(labels={ZONE: "a"}), node("node-2", labels={ZONE: "A"}), group(**BY_ZONE)],
        {(ProblemKind.LABEL_CASE, named("Node", "node-2"))},
    ),
    "a label": ([node(labels={"zone": "a"}), pod(nodeSelector={"zonne": "a"})], {(ProblemKind.UNKNOWN_LABEL, MINE)}),
    "the value of a label": ([node(labels={"zone": "east"}), pod(nodeSelector={"zone": "eats"})], {(ProblemKind.UNKNOWN_LABEL, MINE)}),
    "a namespace": ([node(), pod(affinity=BY_NAMESPACE)], {(ProblemKind.MISSING_NAMESPACE, MINE)}),
    "an attribute of devices": (
        [node(), of_clique("c"), group(schedulingConstraints={"topology": [{"key": CLIQUE}]})],
        {(ProblemKind.ATTRIBUTE_WITHOUT_LEVEL, GROUP)},
    ),
    "a pool of devices": (
        [node(), device_class(), template(), device_slice("node-1", "a", count=2), wanting()],
        {(ProblemKind.UNUSABLE_POOL, named("ResourceSlice", "s-node-1"))},
    ),
    "configurations": (
        [CONFIGURATION, {**CONFIGURATION, "parallelism": 2}],
        {(ProblemKind.SEVERAL_OBJECTS, CONFIGURED)},
    ),
    "a configuration with an error": ([{**CONFIGURATION, "parallelism": -1}], {(ProblemKind.OBJECT_LEFT_OUT, CONFIGURED)}),
    "a configuration with a part that is ignored": (
        [{**CONFIGURATION, "extenders": [{"urlPrefix": "http://x"}]}],
        {(ProblemKind.NOT_MODELLED, CONFIGURED)},
    ),
    "a configuration with a percentage": (
        [*(node(f"n{number}") for number in range(101)), {**CONFIGURATION, "percentageOfNodesToScore": 50}],
        {(ProblemKind.PARTLY_SCORED, CONFIGURED)},
    ),
}


@pytest.mark.parametrize(("objects", "want"), CASES.values(), ids=CASES)
def test_a_problem_has_a_kind_and_names_its_object(objects: list[Any], want: set[tuple[ProblemKind, Name]]) -> None:
    problems = load(objects).problems
    assert {(each.kind, *each.names) for each in problems} == want
    assert [object_words(each) for each in problems] == [label(*each.names) for each in problems]


@pytest.mark.parametrize(
    ("values", "want"),
    [
        pytest.param(("c1", "c2"), Problem.about(NODE, SeveralDomains(CLIQUE, ("c1", "c2"))), id="several values"),
        pytest.param((), Problem(AttributeUnknown(CLIQUE)), id="no value"),
    ],
)
def test_a_level_by_an_attribute(values: tuple[str, ...], want: Problem) -> None:
    (problem,) = load([node(), of_clique(*values)], device_topology=[CLIQUE]).problems
    assert problem == want


def test_more_pools_are_one_problem_without_names() -> None:
    slices = [device_slice("node-1", "a", pool=f"p{number:02}", name=f"s{number:02}", count=2) for number in range(12)]
    problems = load([node(), device_class(), template(), *slices, wanting()]).problems
    assert {each.kind for each in problems} == {ProblemKind.UNUSABLE_POOL}
    assert [object_words(each) for each in problems if not each.names] == ["ResourceSlices"]


def test_disabled_gates() -> None:
    objects = [node(labels={ZONE: "a"}), group(kind="CompositePodGroup"), group(**BY_ZONE)]
    gates = Gates(frozenset({COMPOSITE, TOPOLOGY}))
    found = {(each.kind, *each.names) for each in apply_feature_gates(load(objects), gates).problems}
    composite = named("CompositePodGroup", "group-1", "default")
    assert found == {(ProblemKind.OBJECT_LEFT_OUT, composite), (ProblemKind.FIELD_DROPPED, GROUP)}


def test_a_dropped_field_of_a_pod() -> None:
    snapshot = load([node(), pod(schedulingGroup={"podGroupName": "group-1"})])
    (problem,) = apply_feature_gates(snapshot, Gates(frozenset(NEEDS))).problems
    assert (problem.kind, problem.names) == (ProblemKind.FIELD_DROPPED, (MINE,))


@pytest.mark.parametrize(
    ("problem", "want"),
    [
        pytest.param(Problem.about(MINE, ObjectLeftOut("why")), True, id="a pod"),
        pytest.param(
            Problem.about(MINE, InvalidField("x", "the pod is left out", Effect.TERM_MATCHES_NOTHING)), False, id="another problem of a pod"
        ),
        pytest.param(Problem.about(NODE, ObjectLeftOut("why")), False, id="another kind of object"),
        pytest.param(Problem.about(named("Thing", "x"), ObjectUnreadable("why")), True, id="an object of any kind"),
        pytest.param(Problem(FileUnreadable("why"), place="Pod default/pod-1"), False, id="a file named like a pod"),
    ],
)
def test_an_object_that_is_left_out_is_recognised_by_kind(problem: Problem, want: bool) -> None:
    assert is_left_out(problem, ("Pod",)) is want
