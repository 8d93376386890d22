"""Victims of a root: which units are preempted, and which are reprieved."""

from __future__ import annotations

import pytest

from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording.kube_scheduler import preemption_words
from tests.scheduler_core.preemption.scene import (
    composite,
    leaf,
    names,
    pod,
    root,
)
from tests.scheduler_core.preemption.workload_aware import select


def test_who_is_in_the_way_leaves_and_who_is_not_stays():
    pods = [pod("in-the-way", 0, 10, 2000), pod("elsewhere", 1, 1, 1000)]

    result = select(root(pod("high", cpu=2000)), pods, [2000, 1000])

    assert ["in-the-way"] == names(result.victims)
    assert {"default/high": 0} == result.nominations
    assert (Status.SUCCESS, "found a placement for podgroup, preempting 1 victims") == (result.status, preemption_words(result.reason))


def test_the_more_important_comes_back_first():
    pods = [pod("low", 0, 10), pod("middle", 0, 50), pod("lowest", 0, 5)]

    assert ["low", "lowest"] == names(select(root(pod("high", cpu=2000)), pods, [3000]).victims)


def test_who_started_first_stays():
    pods = [pod("young", 0, 10, started="2026-08-01T00:00:01Z"), pod("old", 0, 10, started="2026-08-01T00:00:00Z"), pod("new", 0, 10)]

    assert ["new"] == names(select(root(pod("high")), pods, [3000]).victims)


def test_victims_follow_the_placement_and_are_not_the_fewest():
    pods = [pod("a", 0, 50), pod("b", 0, 50), pod("c", 1, 10, 2000)]

    assert ["a", "b"] == names(select(root(pod("high", cpu=2000)), pods, [2000, 2000]).victims)


def test_a_group_of_mode_all_leaves_whole_even_where_it_is_not_in_the_way():
    pods = [pod("low-0", 0, 10, group="low"), pod("low-1", 1, 10, group="low"), pod("plain", 1, 10)]

    result = select(root(pod("high", cpu=1000)), pods, [1000, 2000], groups=[leaf("low", "all")], priorities={"low": 10})

    assert ["low-0", "low-1"] == names(result.victims)
    assert [Name("PodGroup", "default", "low")] == [unit.owner for unit in result.units]


def test_a_tree_of_mode_all_leaves_whole():
    groups = [composite("tree", "all"), leaf("one", "all", "tree"), leaf("two", "all", "tree")]
    pods = [pod("a", 0, group="one"), pod("b", 1, group="two"), pod("c", 1)]

    assert ["a", "b"] == names(select(root(pod("high")), pods, [1000, 2000], groups=groups).victims)


def test_of_a_group_of_mode_single_leave_only_as_many_as_must():
    pods = [pod(f"low-{index}", 0, 10, group="low") for index in range(3)]

    result = select(root(pod("high")), pods, [3000], groups=[leaf("low", "single")], priorities={"low": 10})

    assert ["low-2"] == names(result.victims)
    assert [("Pod", "PodGroup")] == [(unit.owner.kind, unit.type) for unit in result.units]


def test_a_group_counts_by_the_priority_of_its_root():
    pods = [pod("p", 0, 10, group="pg")]
    groups = [leaf("pg", "single", "top"), composite("top", "single")]

    result = select(root(pod("high")), pods, [1000], groups=groups, priorities={"pg": 10, "top": 500})

    assert (Status.UNRESOLVABLE, "No preemption victims found for incoming preemptor") == (result.status, preemption_words(result.reason))


@pytest.mark.parametrize("priority", [100, 101])
def test_nobody_of_equal_or_higher_priority_leaves(priority):
    result = select(root(pod("high"), priority=100), [pod("p", 0, priority)], [1000])

    assert ((), "No preemption victims found for incoming preemptor", None) == (
        result.victims,
        preemption_words(result.reason),
        result.outcome,
    )


def test_a_root_that_must_not_preempt_does_not():
    result = select(root(pod("high"), preempts=False), [pod("p", 0)], [1000])

    assert (Status.UNSCHEDULABLE, "not eligible due to preemptionPolicy=Never.", ()) == (
        result.status,
        preemption_words(result.reason),
        result.victims,
    )


def test_no_pod_is_preempted_where_the_whole_root_does_not_fit_even_so():
    result = select(root(pod("a"), pod("b"), pod("c")), [pod("p", 0), pod("q", 1)], [1000, 1000])

    assert (Status.UNSCHEDULABLE, "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining") == (
        result.status,
        preemption_words(result.reason),
    )
    assert ((), {}) == (result.victims, result.nominations)
    assert result.outcome is not None


def test_pods_beyond_the_minimum_cost_victims_too():
    result = select(root(pod("a"), pod("b"), minimum=1), [pod("p", 0), pod("q", 1)], [1000, 1000])

    assert ["p", "q"] == names(result.victims)


def test_all_proposed_pods_must_still_fit_on_their_nodes():
    pods = [pod("wide-0", 0, 50, 500, group="wide"), pod("wide-1", 1, 50, 500, group="wide"), pod("p", 0, 10, 500), pod("q", 1, 10, 500)]

    result = select(root(pod("a", cpu=1000), pod("b", cpu=2000)), pods, [1500, 2000], groups=[leaf("wide", "all")], priorities={"wide": 50})

    assert ["q", "wide-0", "wide-1"] == names(result.victims)


def test_a_unit_that_cannot_come_back_takes_nothing():
    pods = [pod("big", 0, 50, 2000), pod("small", 0, 10, 1000)]

    assert ["big"] == names(select(root(pod("high", cpu=1000)), pods, [2999]).victims)


def test_resources_that_the_root_does_not_request_do_not_matter():
    pods = [pod("p", 0, 10, 1000, memory=10**12), pod("q", 0, 5, 1000)]

    assert ["q"] == names(select(root(pod("high")), pods, [2000]).victims)


def test_the_number_of_pods_counts():
    assert ["q"] == names(select(root(pod("high", cpu=0)), [pod("p", 0, 10, 0), pod("q", 0, 5, 0)], [1000], room=2).victims)
