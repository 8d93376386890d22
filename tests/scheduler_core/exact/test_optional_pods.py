"""Optional pods and children in addition to required ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.exact.needs import lacking
from scheduler_core.exact.packing import optional_pods
from scheduler_core.exact.packing.optional_pods import PlannedGroup
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.tree_search import TreeSearch
from tests.scheduler_core.builders import Json, leaf, node, pod, pods, shape
from tests.scheduler_core.exact.small_trees import PLENTY, RACK, cluster, gang, standing, tree


def planned(objects: list[Json], share: int = 0) -> tuple[list[PlannedGroup], TreeSearch]:
    here, request = standing(objects)
    search = TreeSearch(here, request, StepBudget(PLENTY), share=share)
    plan = search.plan(here.topology.root)
    assert plan is not None
    return plan, search


def counted(plan: list[PlannedGroup]) -> dict[str, int]:
    return {each.request.entity.name.name: sum(count for _, count in each.counts) for each in plan if each.request.leaf}


@pytest.mark.parametrize(
    ("cores", "want"),
    [([9], {"a": 4, "b": 5}), ([8], {"a": 4, "b": 4}), ([5], {"a": 2, "b": 3})],
    ids=["room for all", "room for all but one", "room for what is needed"],
)
def test_as_many_optional_pods_are_added_as_there_is_capacity_for(cores, want):
    plan, search = planned([*cluster([cores]), *tree(gang("a", 2, 4), gang("b", 3, 5), minimum=2)])

    assert want == counted(optional_pods.with_more(plan, search.capacity))


def test_pods_that_may_be_anywhere_leave_capacity_for_those_that_may_not():
    objects = [*cluster([[4], [4]]), *tree(gang("anywhere", 1, 5, key=""), gang("confined", 1, 4), minimum=2)]
    plan, search = planned(objects)

    assert {"anywhere": 4, "confined": 4} == counted(optional_pods.with_more(plan, search.capacity))


def test_small_pods_are_added_before_large_ones():
    mixed = [leaf("a", 1, RACK, "t"), *pods("a", 1), *(pod(f"large-{number}", "a", cpu="3") for number in range(2))]
    mixed += [pod(f"small-{number}", "a", cpu="2") for number in range(2)]
    plan, search = planned([*cluster([[5]]), *tree(mixed, minimum=1)])

    assert {"a": 3} == counted(optional_pods.with_more(plan, search.capacity))


@given(st.lists(st.integers(1, 5), max_size=4), st.integers(0, 12))
def test_of_one_offer_after_the_other_as_many_are_taken_as_fit(counts, room):
    offers = [(number, shape(serial=number), count) for number, count in enumerate(counts)]
    used = optional_pods.most(offers, lambda more: sum(more.values()) <= room)

    assert min(room, sum(counts)) == sum(used.values())
    assert all(used.get(number, 0) <= count for number, count in enumerate(counts))


@pytest.mark.parametrize(("whole", "want"), [(False, 2 + 3), (True, 4 + 3)], ids=["all children", "all pods of all children"])
def test_a_raised_tree_needs_all_it_can_have(whole, want):
    objects = [*cluster([[9]]), *tree(gang("a", 2, 4), gang("b", 3), [leaf("none", 4, RACK, "t"), *pods("none", 1)], minimum=1)]
    _, request = standing(objects)

    assert want == lacking(optional_pods.raised(request, whole=whole))


def test_with_a_share_domains_are_chosen_for_the_optional_pods_too():
    # Either rack has room for what a needs; only one of them for all of its pods beside b.
    objects = [*cluster([[6], [5]]), *tree(gang("a", 3, 6), gang("b", 4, 5), minimum=2)]
    plan, _ = planned(objects, share=10_000)

    assert {"a": 6, "b": 5} == counted(plan)


def test_with_a_share_children_that_are_not_needed_are_in_the_plan():
    objects = [*cluster([[4], [5]]), *tree(gang("a", 4), gang("b", 3), gang("c", 2), minimum=2)]

    assert {"b", "c"} == set(counted(planned(objects)[0]))
    assert {"a": 4, "b": 3, "c": 2} == counted(planned(objects, share=10_000)[0])


def test_a_share_that_does_not_suffice_leaves_the_plan_as_it_is():
    objects = [node("n0", "9", rack="r0"), *tree(gang("a", 2, 4), minimum=1)]

    assert {"a": 2} == counted(planned(objects, share=1)[0])
