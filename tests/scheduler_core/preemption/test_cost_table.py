"""Lowest costs, compared with exhaustive search at each place."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.preemption.bounds.cost_table import INFINITE, LARGEST_GRID, CostChoice, CostTable, Grid, TooLargeError, divide
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError

_way = st.tuples(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(0, 9))
_places = st.lists(st.lists(_way, min_size=1, max_size=4), max_size=3)


def choice(*options):
    return CostChoice(tuple(counts for counts, _ in options), np.array([cost for _, cost in options]), ((),) * len(options))


@given(_places, st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_no_ways_together_have_as_much_for_less(places, wanted):
    table = CostTable(Grid((3, 3)))
    for number, each in enumerate(places):
        table.add(number, choice(*each))
    costs = [
        sum(cost for _, cost in alternatives)
        for alternatives in itertools.product(*places)
        if all(sum(counts[column] for counts, _ in alternatives) >= wanted[column] for column in (0, 1))
    ]
    want = min(costs, default=INFINITE) if any(wanted) else 0 if not places else min(costs)

    assert want == table.cost_of(wanted)
    assert [want] == table.costs_of(np.array([wanted])).tolist()
    if want < INFINITE:
        traced = [(each.counts[path], int(each.costs[path])) for _, each, path in table.trace(wanted)]
        assert want == sum(cost for _, cost in traced)
        assert all(sum(counts[column] for counts, _ in traced) >= wanted[column] for column in (0, 1))


def test_beyond_its_limit_a_table_has_nothing():
    table = CostTable(Grid((1, 2)))
    table.add(0, choice(((1, 2), 0)))

    assert [0, INFINITE] == [table.cost_of((1, 2)), table.cost_of((2, 0))]
    assert [0, INFINITE] == table.costs_of(np.array([(1, 2), (2, 0)])).tolist()


@pytest.mark.parametrize(("most", "large"), [((LARGEST_GRID - 1,), False), ((LARGEST_GRID,), True), ((255, 256), True)])
def test_a_grid_has_so_many_positions_at_most(most, large):
    if large:
        with pytest.raises(TooLargeError):
            Grid(most)
    else:
        assert LARGEST_GRID == Grid(most).size


@given(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2))
)
def test_positions_and_counts_are_the_same_thing(most, less):
    grid = Grid(most)
    every = list(itertools.product(*(range(limit + 1) for limit in most)))

    assert every == list(grid.counts(np.arange(grid.size)))
    assert list(range(grid.size)) == [grid.position(counts) for counts in every]
    want = [grid.position(tuple(max(0, have - removed) for have, removed in zip(counts, less, strict=True))) for counts in every]
    assert want == grid.shifted_by(less).tolist()


def test_a_peak_is_where_more_costs_more():
    grid = Grid((2, 1))
    # By counts of the first kind in rows, of the second in columns.
    costs = np.array([0, 0, 0, 5, 7, INFINITE])

    assert [(0, 1), (1, 0), (1, 1), (2, 0)] == list(grid.counts(grid.maximal_positions(costs)))


@st.composite
def _growing(draw):
    """Draw costs over a grid that never decrease with the amount, 0 for nothing."""
    grid = Grid((2, 2))
    places = []
    for _ in range(draw(st.integers(1, 4))):
        raw = [draw(st.sampled_from((0, 0, 1, 3, INFINITE))) for _ in range(grid.size)]
        raw[0] = 0
        every = list(itertools.product(range(3), repeat=2))
        costs = [max(raw[grid.position(less)] for less in every if all(map(int.__le__, less, counts))) for counts in every]
        places.append(np.array(costs))
    return grid, places


@given(_growing())
def test_no_division_costs_less(drawn):
    grid, places = drawn
    every = list(itertools.product(range(3), repeat=2))
    sums = [
        sum(int(costs[grid.position(part)]) for costs, part in zip(places, parts, strict=True))
        for parts in itertools.product(every, repeat=len(places))
        if tuple(map(sum, zip(*parts, strict=True))) == (2, 2)
    ]
    cost, parts = divide(grid, places, Effort(10**6))

    assert min(INFINITE, *sums) == cost
    if cost < INFINITE:
        assert cost == sum(int(costs[part]) for costs, part in zip(places, parts, strict=True))
        assert all(have >= 2 for have in map(sum, zip(*grid.counts(np.array(parts)), strict=True)))


def test_among_no_places_nothing_can_be_divided():
    assert (INFINITE, []) == divide(Grid((1,)), [], Effort(0))


def test_dividing_takes_effort():
    grid = Grid((4,))
    with pytest.raises(EffortSpentError):
        divide(grid, [np.arange(5)] * 3, Effort(10))
