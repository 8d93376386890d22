"""What a change of an object means to the roots that wait: everything that could help them, and nothing else."""

from __future__ import annotations

import copy
import dataclasses

import pytest

from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.cluster_changes import ClusterChanges
from tests import builders
from tests.scheduler_core.builders import composite, leaf, node, pod
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.histories import Server

GONE = "gone"


def group(name, kind="PodGroup"):
    return Name(kind, "default", name)


def single(name):
    return Name("Pod", "default", name)


def with_metadata(each, **more):
    return {**each, "metadata": {**each["metadata"], **more}}


def with_status(each, **more):
    return {**each, "status": {**each.get("status", {}), **more}}


def ended(each):
    return with_status(each, phase="Succeeded")


def leaving(each):
    return with_metadata(each, deletionTimestamp="2026-08-01T00:00:00Z")


def priority_class(value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": value}


def budget(allowed, **more):
    made = builders.disruption_budget("b", allowed=allowed)
    return made | {"metadata": made["metadata"] | more}


def workload(minimum):
    template = {"name": "t", "schedulingPolicy": {"gang": {"minCount": minimum}}}
    metadata = {"name": "w", "namespace": "default"}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"podGroupTemplates": [template]},
    }


class Cluster:
    """A store of objects, which are known by now."""

    def __init__(self, *objects):
        self.server, self.store = Server(), Cache()
        for each in objects:
            self.server.put(each)
        self.server.fill(self.store)
        self.store.usage.placement_state()
        self.store.reporter.pop_changes()

    def after(self, change, *, of=None):
        """What is told once *change* is there, or *of* is gone."""
        if change is GONE:
            self.server.delete(histories.name_of(of))
        else:
            self.server.put(change)
        histories.feed(self.store, self.server.events[-1:])
        return self.store.reporter.pop_changes()


def change_of(before, after, *others):
    """What is told when *before* (None: nothing) becomes *after* (GONE: nothing), beside two nodes and *others*."""
    found = Cluster(node("n1"), node("n2"), *([before] if before is not None else []), *others)
    return found.after(after, of=before)


G, H = group("g"), group("h")


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(None, pod("a"), ClusterChanges(roots={single("a")}), id="one comes that is a root of its own"),
        pytest.param(None, pod("a", "g"), ClusterChanges(roots={G}), id="a member comes"),
        pytest.param(None, pod("a", "g", on="n1"), ClusterChanges(roots={G}, pods_moved=True), id="a member comes with its node"),
        pytest.param(None, pod("a", on="n1"), ClusterChanges(pods_moved=True), id="a single one comes with its node"),
        pytest.param(
            None, pod("a", "unknown"), ClusterChanges(missing_groups={("default", "unknown")}), id="one comes whose group is not there"
        ),
        pytest.param(None, pod("a", on="elsewhere"), ClusterChanges(pods_moved=True), id="one comes with a node that is not there"),
        pytest.param(pod("a", "g"), pod("a", "g", on="n1"), ClusterChanges(roots={G}, pods_moved=True), id="a member is bound"),
        pytest.param(pod("a"), pod("a", on="n1"), ClusterChanges(roots={single("a")}, pods_moved=True), id="a single one is bound"),
        pytest.param(pod("a", "g"), GONE, ClusterChanges(roots={G}), id="a pending member is gone"),
        pytest.param(
            pod("a", "g", on="n1"), GONE, ClusterChanges(roots={G}, freed_nodes={"n1"}, pods_moved=True), id="a member that ran is gone"
        ),
        pytest.param(
            pod("a", "g", on="n1"),
            ended(pod("a", "g", on="n1")),
            ClusterChanges(roots={G}, freed_nodes={"n1"}, pods_moved=True),
            id="a member has ended",
        ),
        pytest.param(
            pod("a", "g", on="n1"),
            leaving(pod("a", "g", on="n1")),
            ClusterChanges(roots={G}, pods_moved=True),
            id="a member leaves, its room not free yet",
        ),
        pytest.param(
            pod("a", "g", "2", on="n1"),
            pod("a", "g", on="n1"),
            ClusterChanges({G}, {"n1"}, pods_moved=True),
            id="one takes less where it is",
        ),
        pytest.param(
            pod("a", on="n1"),
            pod("a", on="n1", labels={"x": "y"}),
            ClusterChanges(pods_moved=True),
            id="the labels change of one that has a node",
        ),
        pytest.param(
            pod("a", "g"), pod("a", "g", labels={"x": "y"}), ClusterChanges(roots={G}), id="the labels change of one that has none"
        ),
        pytest.param(pod("a", "g"), pod("a", "h"), ClusterChanges(roots={G, H}), id="one changes its group"),
        pytest.param(pod("a", "g", schedulingGates=[{"name": "x"}]), pod("a", "g"), ClusterChanges(roots={G}), id="a gate is removed"),
        pytest.param(pod("a", "g", priority=1), pod("a", "g", priority=2), ClusterChanges(roots={G}), id="the priority changes"),
        pytest.param(pod("a", "g"), with_metadata(pod("a", "g"), annotations={"x": "y"}), ClusterChanges(), id="an annotation of others"),
        pytest.param(pod("a", "g"), pod("a", "g", nominated="n1"), ClusterChanges(), id="one is promised a node"),
        pytest.param(pod("a", "g", nominated="n1"), pod("a", "g"), ClusterChanges(freed_nodes={"n1"}), id="a promise is taken back"),
        pytest.param(
            pod("a", "g", nominated="n1"), pod("a", "g", nominated="n2"), ClusterChanges(freed_nodes={"n1"}), id="another node is promised"
        ),
        pytest.param(
            pod("a", "g", nominated="n1"), GONE, ClusterChanges(roots={G}, freed_nodes={"n1"}), id="one that was promised a node is gone"
        ),
        pytest.param(
            pod("a", "g", nominated="n1"),
            pod("a", "g", nominated="n1", on="n1"),
            ClusterChanges(roots={G}, pods_moved=True),
            id="a promise is kept",
        ),
        pytest.param(
            pod("a", "g", nominated="n1"),
            pod("a", "g", nominated="", on="n2"),
            ClusterChanges(roots={G}, freed_nodes={"n1"}, pods_moved=True),
            id="it went elsewhere than promised",
        ),
    ],
)
def test_a_change_of_a_pod(before, after, want):
    assert want == change_of(before, after, leaf("g", 1), leaf("h", 1))


def told(each):
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    return with_status(each, conditions=[condition])


@pytest.mark.parametrize("each", [pod("a", "g"), pod("a", "g", on="n1")], ids=["pending", "running"])
def test_condition_of_a_pod_is_no_queueing_hint(each):
    assert not change_of(each, told(each), leaf("g", 1))


def test_the_deletion_of_a_single_pod_reaches_all_caches_that_know_it():
    assert ClusterChanges(roots={single("a")}, freed_nodes={"n1"}, pods_moved=True) == change_of(pod("a", on="n1"), GONE)


def test_a_pod_made_anew_under_its_name_is_another():
    found = Cluster(node("n1"), leaf("g", 1), pod("a", "g", on="n1"))
    found.server.delete(("Pod", "default", "a"))
    found.server.put(pod("a", "g"))
    histories.feed(found.store, found.server.events[-1:])

    assert ClusterChanges(roots={G}, freed_nodes={"n1"}, pods_moved=True) == found.store.reporter.pop_changes()


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(None, node("n"), ClusterChanges(nodes={"n"}), id="it comes"),
        pytest.param(node("n"), GONE, ClusterChanges(nodes={"n"}), id="it goes"),
        pytest.param(node("n"), node("n", rack="r1"), ClusterChanges(nodes={"n"}), id="its labels change"),
        pytest.param(node("n"), node("n", "8"), ClusterChanges(nodes={"n"}), id="it has more"),
        pytest.param(node("n"), node("n", taints=[{"key": "x", "effect": "NoSchedule"}]), ClusterChanges(nodes={"n"}), id="it has a taint"),
        pytest.param(node("n", unschedulable=True), node("n"), ClusterChanges(nodes={"n"}), id="it is opened"),
        pytest.param(
            node("n"), with_status(node("n"), conditions=[{"type": "Ready", "status": "True"}]), ClusterChanges(), id="a heartbeat"
        ),
    ],
)
def test_a_change_of_a_node(before, after, want):
    assert want == change_of(before, after)


def test_members_that_are_bound_to_a_node_that_comes_count_from_then_on():
    """Single pods that are bound wait for nothing."""
    found = Cluster(leaf("g", 1), pod("a", "g", on="n"), leaf("h", 1), pod("b", "h", on="elsewhere"), pod("c", on="n"))

    assert ClusterChanges(roots={G}, nodes={"n"}) == found.after(node("n"))
    assert ClusterChanges(nodes={"n"}) == found.after(node("n", "8"))
    assert ClusterChanges(nodes={"n"}) == found.after(GONE, of=node("n"))


TOP = group("top", "CompositePodGroup")


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(None, leaf("x", 1), ClusterChanges(roots={group("x")}), id="one comes"),
        pytest.param(leaf("x", 1), GONE, ClusterChanges(roots={group("x")}, missing_groups={("default", "x")}), id="one goes"),
        pytest.param(leaf("x", 1), leaf("x", 2), ClusterChanges(roots={group("x")}), id="it needs more"),
        pytest.param(leaf("x", 1), leaf("x", 1, parent="top"), ClusterChanges(roots={group("x"), TOP}), id="it joins a tree"),
        pytest.param(leaf("x", 1, parent="top"), leaf("x", 1), ClusterChanges(roots={group("x"), TOP}), id="it leaves a tree"),
        pytest.param(leaf("x", 1, parent="top"), GONE, ClusterChanges(roots={TOP}, missing_groups={("default", "x")}), id="a child goes"),
        pytest.param(
            composite("y", 1), GONE, ClusterChanges(roots={group("y", "CompositePodGroup"), group("z")}), id="its children are roots now"
        ),
        pytest.param(
            None,
            composite("y", 1),
            ClusterChanges(roots={group("y", "CompositePodGroup"), group("z")}),
            id="its children are no roots now",
        ),
    ],
)
def test_a_change_of_a_group(before, after, want):
    created = {"creationTimestamp": "2026-08-01T00:00:00Z"}
    before = before and with_metadata(before, **created)
    after = after if after is GONE else with_metadata(after, **created)

    others = composite("top", 1), leaf("z", 1, parent="y")
    running = pod("a", "x", on="n1"), pod("b", "z", on="n1")

    assert want == change_of(before, after, *others)
    assert dataclasses.replace(want, units=True) == change_of(before, after, *others, *running)


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param([pod("a", "x")], False, id="a pending pod"),
        pytest.param([pod("a", "elsewhere", on="n1")], False, id="a pod of another group"),
        pytest.param([leaf("elsewhere", 1), pod("a", "elsewhere", on="n1")], False, id="a group beside it"),
        pytest.param([leaf("x", 1, parent="y"), pod("a", "x", on="n1")], True, id="a pod below it"),
        pytest.param([composite("m", 1, parent="y"), leaf("x", 1, parent="m"), pod("a", "x", on="n1")], True, id="one far below it"),
        pytest.param([composite("m", 1, parent="y")], False, id="one that it is below itself"),
    ],
)
def test_preemption_units_change_with_a_running_group(others, want):
    assert want == change_of(None, composite("y", 1, parent="m"), *others).units


@pytest.mark.parametrize(
    "touch",
    [
        pytest.param(lambda each: with_status(each, conditions=[{"type": "X", "status": "True"}]), id="it is told something"),
        pytest.param(lambda each: with_metadata(each, finalizers=["x"]), id="it is protected"),
        pytest.param(lambda each: with_metadata(each, annotations={"x": "y"}), id="it is annotated"),
    ],
)
@pytest.mark.parametrize("each", [leaf("x", 1), composite("x", 1)], ids=["PodGroup", "CompositePodGroup"])
def test_a_change_of_a_group_that_decides_nothing_helps_nobody(each, touch):
    assert not change_of(each, touch(copy.deepcopy(each)))


def test_a_group_that_is_being_deleted_is_another():
    each = leaf("x", 1)

    assert ClusterChanges(roots={group("x")}) == change_of(each, leaving(each))


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(None, priority_class(5), ClusterChanges(priorities_changed=True), id="a priority class comes"),
        pytest.param(priority_class(5), priority_class(6), ClusterChanges(priorities_changed=True), id="a priority class changes"),
        pytest.param(priority_class(5), GONE, ClusterChanges(priorities_changed=True), id="a priority class goes"),
        pytest.param(None, budget(0), ClusterChanges(budgets=True), id="a budget comes"),
        pytest.param(budget(0), budget(1), ClusterChanges(budgets=True), id="a budget allows more"),
        pytest.param(budget(0), GONE, ClusterChanges(budgets=True), id="a budget goes"),
        pytest.param(budget(0), budget(0, labels={"x": "y"}), ClusterChanges(), id="a budget is labelled"),
        pytest.param(workload(1), GONE, ClusterChanges(roots={TOP, group("x")}), id="a Workload goes"),
        pytest.param(None, workload(1), ClusterChanges(roots={TOP, group("x")}), id="a Workload comes"),
    ],
)
def test_a_change_of_what_is_said_about_groups(before, after, want):
    made = leaf("x", 1)
    made["spec"]["workloadRef"] = {"workloadName": "w", "templateName": "t"}
    of_another = leaf("other", 1)
    of_another["spec"]["workloadRef"] = {"workloadName": "another", "templateName": "t"}

    assert want == change_of(before, after, made, of_another, composite("top", 1), leaf("child", 1, parent="top"))


def test_changes_are_merged_until_they_are_taken_and_returned_once():
    found = Cluster(node("n1"), leaf("g", 1), pod("a", "g", on="n1"))
    found.server.delete(("Pod", "default", "a"))
    found.server.put(node("n2"))
    found.server.put(pod("b"))
    histories.feed(found.store, found.server.events[-3:])
    taken = found.store.reporter.pop_changes()

    assert ClusterChanges(roots={G, single("b")}, freed_nodes={"n1"}, nodes={"n2"}, pods_moved=True) == taken
    assert (True, False) == (bool(taken), bool(found.store.reporter.pop_changes()))


def test_changes_of_budgets_are_numbered():
    found = Cluster(budget(0))
    before = found.store.reporter.budgets
    found.after(budget(1))
    found.after(budget(1, labels={"x": "y"}))

    assert before + 1 == found.store.reporter.budgets


@pytest.mark.parametrize(
    "news",
    [
        pytest.param(ClusterChanges(roots={G}), id="a root"),
        pytest.param(ClusterChanges(freed_nodes={"n"}), id="room"),
        pytest.param(ClusterChanges(nodes={"n"}), id="a node"),
        pytest.param(ClusterChanges(pods_moved=True), id="a move"),
        pytest.param(ClusterChanges(budgets=True), id="a budget"),
        pytest.param(ClusterChanges(priorities_changed=True), id="a class"),
        pytest.param(ClusterChanges(units=True), id="a unit"),
    ],
)
def test_each_fact_is_a_change(news):
    assert news
    assert not ClusterChanges()


@pytest.mark.parametrize(
    ("node_name", "acknowledged", "after", "want"),
    [
        pytest.param("n1", True, pod("a", "g", on="n1"), ClusterChanges(), id="as it was acknowledged"),
        pytest.param("n1", False, pod("a", "g", on="n1"), ClusterChanges(roots={G}, pods_moved=True), id="before it was acknowledged"),
        pytest.param("n2", True, pod("a", "g", on="n1"), ClusterChanges({G}, {"n2"}, pods_moved=True), id="elsewhere"),
        pytest.param("n1", True, leaving(pod("a", "g", on="n1")), ClusterChanges({G}, pods_moved=True), id="and it leaves"),
        pytest.param("n1", True, pod("a", "g", "2", on="n1"), ClusterChanges({G}, {"n1"}, pods_moved=True), id="and it takes more"),
    ],
)
def test_the_end_of_a_bind_of_ours_is_news_unless_it_was_acknowledged(node_name, acknowledged, after, want):
    found = Cluster(node("n1"), node("n2"), leaf("g", 1), pod("a", "g"))
    assumed, ref = AssumedPods(found.store), found.store.usage.pods.pods["default/a"].ref
    assert assumed.assume(ref, node_name)
    if acknowledged:
        assumed.acknowledge(ref)
    found.store.reporter.pop_changes()

    assert want == found.after(after)
