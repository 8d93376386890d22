"""Weights of plans: a plan weighs less than another exactly if it is better."""

from __future__ import annotations

import itertools
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.preemption.plans.cost_weights import CostWeights
from scheduler_core.preemption.plans.plan_cost import PlanCost
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from tests.scheduler_core.preemption.scene import leaf, pod, units_of

_groups = st.lists(st.tuples(st.integers(1, 3), st.sampled_from((-5, 0, 3, 2_000_000))), min_size=1, max_size=5)


def weighed(groups):
    """Return a unit for each entry: its number of pods and their priority."""
    created = [leaf(f"g{number}", "all") for number in range(len(groups))]
    pods = [
        pod(f"p{number}{each}", 0, priority, group=f"g{number}") for number, (count, priority) in enumerate(groups) for each in range(count)
    ]
    units = units_of(pods, created, {f"g{number}": priority for number, (_, priority) in enumerate(groups)})
    below = units.potential_victims(10**9 * 2)
    return CostWeights(PlanCost(units, below, DisruptionBudgets(())), below.units)


def plans(groups):
    numbers = range(len(groups))
    return itertools.chain.from_iterable(itertools.combinations(numbers, size) for size in range(len(groups) + 1))


def figures(groups, chosen):
    pods = sum(groups[number][0] for number in chosen)
    lowest = min(priority for _, priority in groups)
    return len(chosen), pods, sum(groups[number][0] * (groups[number][1] - lowest) for number in chosen)


@given(_groups)
def test_weights_are_in_the_order_of_units_pods_and_priorities(groups):
    weights = weighed(groups)
    ordered = sorted(plans(groups), key=weights.total)

    assert weights.exact
    assert [figures(groups, each) for each in ordered] == sorted(figures(groups, each) for each in plans(groups))
    for chosen in ordered:
        weight = weights.total(chosen)
        units, pods, _ = figures(groups, chosen)
        assert units == weights.least_units(weight)
        assert weight == weights.round_up(weight)
        assert weight < weights.above_units(units)
        assert weight < weights.above_plan(chosen, pods)
        assert units == 0 or units == weights.least_units(weights.above_plan(chosen, pods - 1))


@given(_groups, st.integers(1, 9), st.integers(1, 9))
def test_part_of_a_unit_counts_as_all_of_it(groups, part, parts):
    weights = weighed(groups)
    heaviest = max(weights.weights.values())
    if part < parts:
        least = weights.round_up(heaviest * part // parts)

        assert 1 == weights.least_units(heaviest * part // parts)
        assert 0 < least <= min(weights.weights.values())


def test_the_lightest_are_the_least_that_so_many_weigh():
    weights = weighed([(1, 0), (2, 0), (1, 5)])

    assert weights.weights[0] + weights.weights[2] == weights.least_total([0, 1, 2], 2)
    assert 0 == weights.least_total([0, 1, 2], 0)


@pytest.mark.parametrize(("units", "want"), [(3, True), (6_000, False)])
def test_where_numbers_do_not_go_far_enough_it_says_so(units, want):
    weights = weighed([(1, 2_000_000_000 * (number % 2) - 10**9) for number in range(units)])

    assert want == weights.exact
    assert sum(weights.weights.values()) < 2**61


def test_of_equal_units_the_last_replaces_the_other_unless_a_budget_protects_it():
    units = units_of([pod("a", 0, 0), pod("b", 0, 0)], [], {})
    below = units.potential_victims(1)
    protecting = types.SimpleNamespace(protected_pods=lambda *_: {1: [units.pods[1]]})

    assert [True, False] == [PlanCost(units, below, each).no_worse(1, 0) for each in (DisruptionBudgets(()), protecting)]
