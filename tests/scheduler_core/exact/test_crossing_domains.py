"""Search for trees whose domains may overlap."""

from __future__ import annotations

import math

import pytest

from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.exact.tree.crossing_domains import CrossingDomains
from scheduler_core.exact.tree.tree_search import TreeSearch, free_for
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json
from tests.scheduler_core.cp_sat import corpus, model
from tests.scheduler_core.cp_sat.runs import decide
from tests.scheduler_core.exact.small_trees import PLENTY, ZONE, cluster, gang, standing, tree

SEVEN = [[1]] * 7
"""Zone with capacity for seven pods, in which no rack has capacity for two."""
TAKEN_BY_A_ZONE = [
    pytest.param([[[2], [3]], [[2], [1]]], [gang("a", 2), gang("z", 5, key=ZONE)], id="one zone"),
    pytest.param([[[3], [4]], [[3], [1]], SEVEN, SEVEN, SEVEN], [gang("a", 3), *(gang(name, 7, key=ZONE) for name in "wxyz")], id="four"),
]


@pytest.mark.parametrize(("zones", "groups"), TAKEN_BY_A_ZONE)
def test_equal_racks_are_not_alike_where_another_group_needs_the_whole_zone_of_one(
    zones: list[list[list[int]]], groups: list[list[Json]]
) -> None:
    here, request = standing([*cluster(*zones), *tree(*groups, minimum=len(groups))])
    budget = StepBudget(PLENTY)

    assert CrossingDomains(here, request, budget, free_for(here, request, budget)).plan(here.topology.root) is not None
    assert TreeSearch(here, request, budget).plan(here.topology.root) is not None


@pytest.mark.parametrize("steps", range(10, 300, 10))
def test_what_was_being_tried_when_a_budget_was_spent_is_forgotten(steps: int) -> None:
    here, request = standing([*cluster([[2], [2]]), *tree(gang("a", 2), gang("b", 2), minimum=2)])
    budget = StepBudget(PLENTY)
    search = CrossingDomains(here, request, budget, free_for(here, request, budget))
    try:
        with budget.part(steps):
            search.plan(here.topology.root)
    except StepsSpentError:
        pass

    assert search.plan(here.topology.root) is not None


def test_a_plan_takes_no_capacity_from_the_next_one() -> None:
    here, request = standing([*cluster([[2], [2]]), *tree(gang("a", 2), gang("b", 2), minimum=2, key=ZONE)])
    budget = StepBudget(PLENTY)
    search = CrossingDomains(here, request, budget, free_for(here, request, budget))
    first = [(each.domain.value, each.counts) for each in search.plan(here.topology.root) or ()]

    assert first
    assert first == [(each.domain.value, each.counts) for each in search.plan(here.topology.root) or ()]


def test_a_domain_that_is_examined_again_is_not_said_to_have_no_capacity() -> None:
    """A tree of eight groups in three zones: one group uses more than half of the step budget and is postponed."""
    objects = corpus.pressed(597)
    decision = decide(objects, "complete")

    assert model.feasible(objects)["t"]
    assert "infeasible" != decision.search.outcome
    assert () == decision.victims


def test_with_the_budget_for_it_such_a_domain_is_found_and_nobody_leaves() -> None:
    decision = decide(corpus.pressed(597), "complete", budget=100_000)

    assert (Status.SUCCESS, ()) == (decision.status, decision.victims)


def test_every_quorum_that_is_passed_over_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be very many quorums: if skipped ones were not counted, the step budget would not bound the search."""
    here, request = standing([*cluster([[9]] * 2), *tree(*(gang(f"g{number:02}", 1 + number) for number in range(8)), minimum=4)])
    budget = StepBudget(PLENTY)
    search = CrossingDomains(here, request, budget, free_for(here, request, budget))
    monkeypatch.setattr(search, "_is_refuted_alone", lambda *_: True)
    before = budget.explored

    assert search.plan(here.topology.root) is None
    assert math.comb(8, 4) <= budget.explored - before
