"""Choices of the search: domains, quorums, pods of a minimum."""

from __future__ import annotations

import itertools

import pytest

from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.choices import Choices
from scheduler_core.exact.tree.domain_tree import DomainTree
from scheduler_core.exact.tree.subproblem import GroupInCell
from scheduler_core.placement.placement_request import PlacementRequest
from tests.scheduler_core.builders import Json, leaf, node, pod, pods, toleration
from tests.scheduler_core.exact.small_trees import PLENTY, RACK, ZONE, cluster, domain_tree_of, gang, measured, standing, tree

THERE = cluster([[2, 1], [3]], [[8]])


def choices_of(objects: list[Json]) -> tuple[Choices, PlacementRequest, DomainTree]:
    here, request = standing(objects)
    budget = StepBudget(PLENTY)
    _, measures = measured(here, request, budget)
    domain_tree = domain_tree_of(here, measures, ZONE, RACK)
    return Choices(domain_tree, measures, budget), request, domain_tree


def of(choices: Choices, request: PlacementRequest, cell: int = 0) -> list[list[tuple[str, bool]]]:
    """Return the children of each quorum, each with a flag for optional."""
    load = GroupInCell(cell, request, (), (), 0, 0, (cell, request.number, ()))
    return [
        [(task.request.entity.name.name, task.optional) for task in tasks]
        for tasks in itertools.chain(choices.expansions([load], [0], most=False), choices.expansions([load], [0], most=True))
    ]


@pytest.mark.parametrize(
    ("need", "want"),
    [(3, ["r0", "r1", "r2"]), (4, ["r2"]), (9, [])],
    ids=["as much as the smallest", "more than the smallest", "more than any"],
)
def test_a_domain_without_capacity_for_a_group_is_no_candidate(need, want):
    choices, request, domain_tree = choices_of([*THERE, *tree(gang("a", need), minimum=1)])

    assert want == [domain_tree.value(each, RACK) for each in choices.candidates(request.children[0], 0)]


def test_a_group_stays_with_its_members_that_run():
    there = [*THERE, leaf("a", 2, RACK, "t"), *pods("a", 2), pod("runs", "a", on="n1-0")]
    choices, request, domain_tree = choices_of([*there, *tree(minimum=1)])

    assert ["r1"] == [domain_tree.value(each, RACK) for each in choices.candidates(request.children[0], 0)]


def test_a_composite_needs_capacity_for_as_many_children_as_it_must_have():
    inner = tree(gang("a", 3, parent="s"), gang("b", 8, parent="s"), minimum=2, key=ZONE, name="s", parent="t")
    choices, request, domain_tree = choices_of([*THERE, *tree(inner, minimum=1)])

    assert [] == [domain_tree.value(each, ZONE) for each in choices.candidates(request.children[0], 0)]


def test_quorums_are_as_small_as_can_be_and_the_others_are_optional():
    choices, request, _ = choices_of([*THERE, *tree(gang("a", 3), gang("b", 1), gang("c", 2), minimum=2)])

    assert [
        [("b", False), ("c", False)],
        [("b", False), ("a", False)],
        [("c", False), ("a", False)],
        [("a", True), ("b", False), ("c", False)],
        [("a", False), ("b", False), ("c", True)],
        [("a", False), ("b", True), ("c", False)],
    ] == of(choices, request)


def test_equal_children_are_interchangeable():
    choices, request, _ = choices_of([*THERE, *tree(*(gang(name, 1) for name in "abcd"), minimum=2)])

    assert 2 == len(of(choices, request))


def test_a_child_that_has_no_candidate_is_in_no_quorum():
    choices, request, _ = choices_of([*THERE, *tree(gang("a", 9), gang("b", 1), minimum=1)])

    assert [[("b", False)], [("b", False)]] == of(choices, request)


def test_of_two_pods_the_one_that_needs_more_is_left_over():
    mixed = [leaf("a", 2, RACK, "t"), *(pod(f"p{cpu}-{number}", "a", cpu=str(cpu)) for cpu in (2, 1) for number in range(2))]
    choices, request, _ = choices_of([*THERE, *tree(mixed, minimum=1)])
    result = [[count for _, count in counts] for counts in choices.selections(request.children[0])]

    assert [[2]] == result


def test_of_two_pods_of_which_none_is_the_easier_either_may_be_left_over():
    kinds = [{"cpu": "2", "memory": "1Gi"}, {"cpu": "1", "memory": "2Gi"}]
    mixed = [leaf("a", 2, "", "t"), *(pod(f"p{kind}-{number}", "a", **kinds[kind]) for kind in (0, 1) for number in range(2))]
    choices, request, _ = choices_of([*THERE, node("large", "64", "64Gi"), *tree(mixed, minimum=1)])

    assert 3 == len(list(choices.selections(request.children[0])))


def test_of_two_pods_that_are_alike_in_all_that_matters_the_later_one_is_left_over():
    mixed = [leaf("a", 2, RACK, "t"), *pods("a", 2)]
    mixed += [pod(f"tolerant-{number}", "a", tolerations=[toleration("x=y:NoSchedule")]) for number in range(2)]
    choices, request, _ = choices_of([*THERE, *tree(mixed, minimum=1)])

    assert [[2]] == [[count for _, count in counts] for counts in choices.selections(request.children[0])]
