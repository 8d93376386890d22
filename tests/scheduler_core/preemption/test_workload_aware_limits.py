"""Victims of a root with nominations, pods that are terminating, and disruption budgets."""

from __future__ import annotations

import pytest

from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording.kube_scheduler import preemption_words
from tests.scheduler_core.preemption.scene import (
    budget,
    leaf,
    names,
    pod,
    root,
)
from tests.scheduler_core.preemption.workload_aware import select

NOMINATED = pod("high", nominated=0)


@pytest.mark.parametrize(
    ("pods", "leaving"),
    [
        pytest.param([pod("p", 0, 10, terminating=True, preempted=True)], frozenset(), id="as the cluster says"),
        pytest.param([pod("p", 0, 10)], frozenset({"default/p"}), id="as an earlier decision says"),
    ],
)
def test_while_victims_are_on_their_way_nobody_else_is_chosen(pods, leaving):
    result = select(root(NOMINATED), [*pods, pod("q", 1, 10)], [1000, 1000], leaving=leaving)

    assert (Status.SUCCESS, "ongoing preemption on nominated nodes", ()) == (result.status, preemption_words(result.reason), result.victims)
    assert {"default/high": 0} == result.nominations


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod("p", 1, 10, terminating=True, preempted=True), id="on another node"),
        pytest.param(pod("p", 0, 100, cpu=0, terminating=True, preempted=True), id="of no lower priority"),
        pytest.param(pod("p", 0, 10, cpu=0, terminating=True), id="that leaves for another reason"),
        pytest.param(pod("p", 0, 10, cpu=0), id="that stays"),
    ],
)
def test_a_nomination_alone_holds_nothing_up(other):
    result = select(root(NOMINATED), [other, pod("q", 0, 5)], [1000, 1000])

    assert "found a placement for podgroup, preempting 1 victims" == preemption_words(result.reason)


def test_the_nomination_of_a_member_deep_in_the_tree_counts():
    inner = Entity(Name("PodGroup", "default", "inner"), 1, True, "", 100, True, "", (), (NOMINATED,))
    outer = Entity(Name("CompositePodGroup", "default", "outer"), 1, True, "", 100, True, "", (inner,))

    assert "ongoing preemption on nominated nodes" == preemption_words(
        select(outer, [pod("p", 0, 10, terminating=True, preempted=True)], [1000]).reason
    )


def test_who_leaves_already_is_not_reported_again_but_is_counted():
    pods = [pod("a", 0, 10, group="low", terminating=True), pod("b", 0, 10, group="low"), pod("c", 0, 10, group="low")]

    result = select(root(pod("high", cpu=3000)), pods, [3000], groups=[leaf("low", "all")], leaving={"default/c"})

    assert (["b"], ["a", "c"]) == (names(result.victims), names(result.being_evicted))
    assert "found a placement for podgroup, preempting 3 victims" == preemption_words(result.reason)


def test_who_would_break_a_budget_comes_back_first():
    pods = [pod("guarded", 0, 10, labels={"app": "db"}), pod("plain", 0, 50)]

    result = select(root(pod("high")), pods, [2000], budgets=[budget("b", 0, {"app": "db"})])

    assert (["plain"], 0) == (names(result.victims), result.violating)


def test_a_budget_is_no_veto():
    pods = [pod("guarded", 0, 10, labels={"app": "db"})]

    result = select(root(pod("high")), pods, [1000], budgets=[budget("b", 0, {"app": "db"})])

    assert (["guarded"], 1) == (names(result.victims), result.violating)


def test_budgets_are_used_up_by_units_that_are_not_in_the_way_too():
    pods = [pod("far", 1, 90, labels={"app": "db"}), pod("near", 0, 10, labels={"app": "db"}), pod("plain", 0, 50)]

    result = select(root(pod("high")), pods, [2000, 1000], budgets=[budget("b", 1, {"app": "db"})])

    assert ["plain"] == names(result.victims)
