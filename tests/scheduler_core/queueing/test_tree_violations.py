"""Violations that make a tree invalid, as the rules report them."""

from __future__ import annotations

import re

import pytest

from kubeapi.meta import ObjectMeta
from scheduler_core.queueing import tree_violations
from scheduler_core.queueing.trees import Trees
from scheduler_core.wording.pre_enqueue_words import pre_enqueue_words
from tests.scheduler_core.planted import composite, leaf, pod, snapshot
from validators.gates import Gates
from validators.model import objects
from validators.model.objects import Named

ALL = {"all": {}}
ALL_ON = Gates()


def workload(name: str, *leaves: str, gang: int = 2):
    """Return a Workload of one composite template ``root`` over *leaves*, gangs where *gang* is not 0."""
    policy = {"gang": {"minCount": gang}} if gang else {"basic": {}}
    below = [{"name": each, "schedulingPolicy": policy} for each in leaves]
    root = {"name": "root", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": below}
    return objects.decode_kind("Workload", {"metadata": {"name": name}, "spec": {"compositePodGroupTemplates": [root]}})


def violated_rules(groups, pods=(), others=(), gates=None) -> dict[str, list[str]]:
    """Return the ids of the rules that each group of the first tree violates."""
    trees = Trees(snapshot(groups, pods, others=others))
    return {
        name: [re.findall(r"\(([a-z-]+)\)$", breach)[0] for breach in breaches] for name, breaches in worded(trees, gates or ALL_ON).items()
    }


def worded(trees: Trees, gates: Gates = ALL_ON) -> dict[str, list[str]]:
    """Return the violations of each group of the first tree in words."""
    found = tree_violations.find_violations(trees.all[0], trees, gates)
    return {each.group.name: [pre_enqueue_words(violation) for violation in each.violations] for each in found}


def chain(levels: int):
    return [composite("level-1")] + [composite(f"level-{level}", f"level-{level - 1}") for level in range(2, levels + 1)]


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        pytest.param([composite("root"), leaf("a", "root")], {}, id="valid"),
        pytest.param(chain(4), {}, id="four levels"),
        pytest.param(chain(5), {"level-5": ["tree-depth"]}, id="five levels"),
        pytest.param([composite("a", "b"), composite("b", "a")], {"a": ["parent-acyclic"], "b": ["parent-acyclic"]}, id="circle"),
        pytest.param([composite("a", "a"), leaf("b", "a")], {"a": ["parent-acyclic"]}, id="its own parent"),
        pytest.param([composite("root"), leaf("a", "root", workload="other")], {"a": ["tree-one-workload"]}, id="two Workloads"),
        pytest.param(
            [composite("root", disruptionMode=ALL), leaf("a", "root", gang=1)], {"a": ["tree-disruption-nesting"]}, id="Single below All"
        ),
        pytest.param([composite("root"), leaf("a", "root", disruptionMode=ALL)], {}, id="All below Single"),
        pytest.param(
            [composite("root", priorityClassName="high"), leaf("a", "root")], {"a": ["tree-priority-uniform"]}, id="two priority classes"
        ),
        pytest.param([composite("root", priority=1), leaf("a", "root", priority=2)], {"a": ["tree-priority-uniform"]}, id="two priorities"),
        pytest.param([leaf("a", "nobody")], {}, id="a missing parent is none"),
        pytest.param(
            [composite("top", "nobody"), leaf("a", "top", workload="other")],
            {"a": ["tree-one-workload"]},
            id="two Workloads below a missing parent",
        ),
    ],
)
def test_rules_about_trees(groups, want):
    assert want == violated_rules(groups)


def test_a_deep_tree_has_each_group_below_the_fourth_level_reported():
    assert {f"level-{level}": ["tree-depth"] for level in range(5, 71)} == violated_rules(chain(70))


def test_a_group_that_breaks_several_rules_reports_all():
    groups = [composite("root", disruptionMode=ALL, priority=1), leaf("a", "root", gang=1, priority=2, workload="other")]

    assert violated_rules(groups) == {"a": ["tree-disruption-nesting", "tree-one-workload", "tree-priority-uniform"]}


TREE = [composite("root"), leaf("a", "root", gang=2)]


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param([workload("train", "a")], {}, id="as its Workload"),
        pytest.param([workload("train", "b")], {"a": ["tree-matches-templates"]}, id="no such template"),
        pytest.param([workload("train", "a", gang=3)], {}, id="another minCount, as it may be changed"),
        pytest.param([workload("train", "a", gang=0)], {}, id="another policy, which counts"),
        pytest.param([workload("other", "b")], {}, id="a Workload that is not in the input"),
        pytest.param([Named("Workload", ObjectMeta(name="train"))], {}, id="a Workload that cannot be read"),
    ],
)
def test_a_tree_is_compared_with_its_workload(others, want):
    assert want == violated_rules(TREE, others=others)


@pytest.mark.parametrize(
    ("groups", "pods", "want"),
    [
        pytest.param([leaf("a", priority=5)], [pod("p", "a", priority=5)], {}, id="as its group"),
        pytest.param([leaf("a", priority=5)], [pod("p", "a", priority=4)], {"a": ["pod-priority-matches"]}, id="pending"),
        pytest.param([leaf("a", priority=5)], [pod("p", "a", priority=4, node=0)], {"a": ["pod-priority-matches"]}, id="running"),
        pytest.param(
            [composite("root", priority=5), leaf("a", "root")],
            [pod("p", "a", priority=5)],
            {},
            id="as the root, whatever the inner group left open",
        ),
        pytest.param(
            [composite("root", priority=5), leaf("a", "root")], [pod("p", "a")], {"a": ["pod-priority-matches"]}, id="unlike the root"
        ),
        pytest.param([leaf("a", "nobody", priority=5)], [pod("p", "a")], {}, id="of a missing root nothing is known"),
    ],
)
def test_pods_have_the_priority_of_the_root(groups, pods, want):
    assert want == violated_rules(groups, pods)


def test_a_breach_says_where_and_what_and_which_rule():
    trees = Trees(snapshot([composite("a", "b"), composite("b", "a")]))
    (breaches, *_) = worded(trees).values()

    assert breaches == [
        'spec.parentCompositePodGroupName: Invalid value: "b": must not lead back to the group itself: a → b → a (parent-acyclic)'
    ]


def test_pods_of_another_priority_are_reported_as_upstream_does_and_counted():
    trees = Trees(
        snapshot([leaf("a", priority=100)], [pod("p0", "a", priority=50), pod("p1", "a", priority=100), pod("p2", "a", priority=7)])
    )
    (breaches,) = worded(trees).values()

    want = "all pods in a single pod group should have the same priority as the pod group's priority, got 50 and 100: default/p0 and 1 more"

    assert [f"{want} (pod-priority-matches)"] == breaches


def test_the_rules_are_in_order():
    assert sorted(rule.id for rule in tree_violations.RULES) == [rule.id for rule in tree_violations.RULES]
