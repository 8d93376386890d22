"""Trees of a snapshot, their pods, and entities."""

from __future__ import annotations

import itertools

import pytest

from scheduler_core.model.names import Name
from scheduler_core.queueing.trees import Tree, Trees, minimum, pod_entity
from tests.scheduler_core.planted import FIRST, composite, leaf, pod, snapshot
from validators.gates import Gates

ALL_ON = Gates()
POLICY_OFF = Gates(frozenset({"PodGroupPreemptionPolicy"}))


def names(tree: Tree) -> list[str]:
    return [node.group.metadata.name for node in tree.nodes]


def only(trees: Trees) -> Tree:
    (tree,) = trees.all
    return tree


def test_children_come_by_creation_time_then_name():
    groups = [
        composite("root"),
        leaf("b", "root", created="2026-08-01T00:00:05Z"),
        leaf("a", "root", created="2026-08-01T00:00:05Z"),
        leaf("z", "root", created="2026-08-01T09:00:00+09:00"),
        leaf("new", "root", created=None),
    ]

    assert names(only(Trees(snapshot(groups)))) == ["root", "z", "a", "b", "new"]


def test_a_tree_is_listed_parents_first():
    groups = [leaf("b1", "b"), composite("b", "root"), leaf("a1", "a"), composite("a", "root"), composite("root")]

    assert names(only(Trees(snapshot(groups)))) == ["root", "a", "a1", "b", "b1"]


def test_the_order_of_the_groups_does_not_matter():
    groups = [composite("root"), composite("a", "root"), leaf("a1", "a"), leaf("b", "root")]
    result = [names(only(Trees(snapshot(order)))) for order in itertools.permutations(groups)]

    assert all(["root", "a", "a1", "b"] == each for each in result)


def test_a_group_below_a_missing_parent_tops_its_tree():
    tree = only(Trees(snapshot([composite("middle", "nobody"), leaf("a", "middle")])))

    assert (Name("CompositePodGroup", "default", "middle"), True, False) == (tree.name, tree.top.orphan, tree.cyclic)


def test_a_circle_is_one_tree_with_what_hangs_below_it():
    groups = [composite("c", "b"), composite("b", "a"), composite("a", "c"), leaf("x", "b"), composite("y", "c"), leaf("z", "y")]
    tree = only(Trees(snapshot(groups)))

    assert tree.cyclic
    assert names(tree)[0] == "a"
    assert sorted(names(tree)) == ["a", "b", "c", "x", "y", "z"]


def test_its_own_parent_is_a_circle_of_one():
    tree = only(Trees(snapshot([composite("self", "self"), leaf("a", "self")])))

    assert tree.cyclic
    assert names(tree) == ["self", "a"]


def test_two_circles_are_two_trees():
    trees = Trees(snapshot([composite("a", "b"), composite("b", "a"), composite("c", "d"), composite("d", "c")]))

    assert [tree.name.name for tree in trees.all] == ["a", "c"]


def test_of_two_groups_of_one_name_the_first_counts():
    trees = Trees(snapshot([leaf("a", gang=2), leaf("a", gang=3)], [pod("p", "a")]))

    assert trees.entity(only(trees), ALL_ON).minimum == 2
    assert [member.name for member in trees.waiting(only(trees))] == ["p"]


def test_a_pod_group_and_a_composite_may_share_a_name():
    trees = Trees(snapshot([composite("a"), leaf("a", "a")], [pod("p", "a")]))

    assert [node.group.kind for node in only(trees).nodes] == ["CompositePodGroup", "PodGroup"]
    assert [len(trees.members(node).waiting) for node in only(trees).nodes] == [0, 1]


def test_a_pod_belongs_to_the_group_of_its_own_namespace():
    trees = Trees(snapshot([leaf("a", namespace="one")], [pod("p", "a", namespace="one"), pod("p", "a", namespace="two")]))

    assert [member.key for member in trees.waiting(only(trees))] == ["one/p"]
    assert [member.key for member in trees.strays] == ["two/p"]


def test_a_pod_without_a_group_is_alone():
    assert [each.name for each in Trees(snapshot([leaf("a")], [pod("p")])).alone] == ["p"]


def test_members_are_tried_by_priority_then_age_then_name():
    pods = [
        pod("b", "a", priority=5),
        pod("a", "a", priority=5),
        pod("old", "a", priority=5, created="2026-07-01T00:00:00Z"),
        pod("high", "a", priority=9, created="2026-09-01T00:00:00Z"),
        pod("ageless", "a", priority=5, created=""),
    ]
    trees = Trees(snapshot([leaf("a")], pods))

    assert [member.name for member in trees.waiting(only(trees))] == ["high", "old", "a", "b", "ageless"]


@pytest.mark.parametrize(
    ("member", "waiting", "running", "count"),
    [
        pytest.param(pod("p", "a"), 1, 0, 1, id="pending"),
        pytest.param(pod("p", "a", gates=("g",)), 1, 0, 1, id="gated"),
        pytest.param(pod("p", "a", node=0), 0, 1, 1, id="running"),
        pytest.param(pod("p", "a", node=0, terminating=True), 0, 1, 1, id="running and being deleted, holding its place"),
        pytest.param(pod("p", "a", terminating=True), 0, 0, 1, id="pending and being deleted, a member only"),
    ],
)
def test_a_member_counts_by_its_state(member, waiting, running, count):
    trees = Trees(snapshot([leaf("a")], [member]))
    members = trees.members(only(trees).top)

    assert (waiting, running, count) == (len(members.waiting), len(members.running), members.count)
    assert running == len(list(trees.running(only(trees))))


@pytest.mark.parametrize(
    ("group", "want"),
    [
        pytest.param(leaf("a", gang=3), 3, id="minCount"),
        pytest.param(composite("a", gang=2), 2, id="minGroupCount"),
        pytest.param(leaf("a"), 1, id="basic"),
        pytest.param(composite("a"), 1, id="basic composite"),
        pytest.param(leaf("a", schedulingPolicy={}), 1, id="no policy"),
        pytest.param(leaf("a", schedulingPolicy={"gang": {}}), 1, id="no count"),
        pytest.param(composite("a", schedulingPolicy={"gang": {"minGroupCount": -3}}), 1, id="less than one"),
    ],
)
def test_the_minimum_of_a_group(group, want):
    assert want == minimum(group)


def test_an_entity_has_the_shape_of_its_tree():
    groups = [
        composite("root", gang=2, priority=7, schedulingConstraints={"topology": [{"key": "zone"}]}),
        leaf("a", "root", gang=3, priority=7, schedulingConstraints={"topology": [{"key": "rack"}]}),
        leaf("b", "root", created="2026-08-02T00:00:00Z"),
    ]
    pods = [pod("a-0", "a"), pod("a-1", "a", node=0), pod("b-0", "b")]
    trees = Trees(snapshot(groups, pods, desired={("default", "b"): 5}))
    root = trees.entity(only(trees), ALL_ON)

    assert [(each.name.name, each.minimum, each.gang, each.key, each.priority, each.desired) for each in root.walk()] == [
        ("root", 2, True, "zone", 7, 0),
        ("a", 3, True, "rack", 7, 0),
        ("b", 1, False, "", 0, 5),
    ]
    assert [([pod.name for pod in each.waiting], [pod.name for pod in each.running]) for each in root.walk()] == [
        ([], []),
        (["a-0"], ["a-1"]),
        (["b-0"], []),
    ]
    assert [FIRST, FIRST, "2026-08-02T00:00:00Z"] == [each.created for each in root.walk()]


@pytest.mark.parametrize(
    ("policy", "pods", "gates", "want"),
    [
        pytest.param(None, [True], ALL_ON, True, id="absent lets it"),
        pytest.param("PreemptLowerPriority", [True], ALL_ON, True, id="the word lets it"),
        pytest.param("Never", [True], ALL_ON, False, id="the root forbids"),
        pytest.param("Never", [True, True], POLICY_OFF, True, id="gate off: the pods alone"),
        pytest.param(None, [True, False], POLICY_OFF, False, id="gate off: one pod forbids"),
    ],
)
def test_who_may_preempt(policy, pods, gates, want):
    groups = [composite("root", preemptionPolicy=policy), leaf("a", "root", preemptionPolicy="Never")]
    trees = Trees(snapshot(groups, [pod(f"p{number}", "a", preempts=preempts) for number, preempts in enumerate(pods)]))

    assert [want, want] == [each.preempts for each in trees.entity(only(trees), gates).walk()]


def test_a_pod_alone_is_an_entity():
    lonely = pod("p", priority=4, preempts=False)
    entity = pod_entity(lonely)

    assert Name("Pod", "default", "p") == entity.name
    assert (1, False, "", 4, False, FIRST) == (entity.minimum, entity.gang, entity.key, entity.priority, entity.preempts, entity.created)
    assert ((lonely,), ()) == (entity.waiting, entity.running)
    assert [entity] == list(entity.leaves())


@pytest.mark.parametrize("levels", [5, 70, 5000])
def test_a_deep_chain_is_one_tree(levels):
    groups = [composite("level-0")] + [composite(f"level-{level}", f"level-{level - 1}") for level in range(1, levels)]

    assert [f"level-{level}" for level in range(levels)] == names(only(Trees(snapshot(groups))))
