"""Scores of a node compared with the same in whole numbers, as Go computes them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.noderesources import LARGEST, NodeResources
from tests.scheduler_core.builders import shape

GIB = 2**30


@dataclasses.dataclass(frozen=True)
class Spot:
    """Node: CPU and memory allocatable, counted for scores, and requested."""

    capacity: tuple[int, int]
    scored: tuple[int, int]
    used: tuple[int, int]


def least_allocated(spot: Spot, taken: list[int]) -> int:
    parts = [
        (capacity - amount) * 100 // capacity if amount <= capacity else 0
        for capacity, amount in zip(spot.capacity, taken, strict=True)
        if capacity
    ]
    return sum(parts) // len(parts) if parts else 0


def evenness(spot: Spot, used: list[int]) -> int:
    """Return the balance of resource usage of a node, 0 to 100; float64 as in Go."""
    shares = [
        min(1.0, float(amount) / float(free_capacity)) for free_capacity, amount in zip(spot.capacity, used, strict=True) if free_capacity
    ]
    deviation = abs((shares[0] - shares[1]) / 2) if len(shares) == 2 else 0.0
    return int((1 - deviation) * 100)


def balanced(spot: Spot, what: PodShape, number: int) -> int:
    requested = [dict(what.requests).get(row, 0) for row in (0, 1)]
    if not any(requested):
        return 0
    before = [used + (number - 1) * amount for used, amount in zip(spot.used, requested, strict=True)]
    after = [used + amount for used, amount in zip(before, requested, strict=True)]
    return 50 + (50 + evenness(spot, after) - evenness(spot, before)) // 2


def score(spot: Spot, what: PodShape, number: int) -> int:
    """Return the score of the *number*-th pod placed there."""
    in_use = [scored + number * amount for scored, amount in zip(spot.scored, what.scored, strict=True)]
    return least_allocated(spot, in_use) + balanced(spot, what, number)


def ladders(spots: list[Spot], what: PodShape, depth: int, *, whole: bool = False) -> list[list[int]]:
    capacity, scored, used = (np.array(list(parts), dtype=np.int64).reshape(-1, 2).T for parts in _columns(spots))
    result: list[list[int]] = NodeResources(what).ladder(capacity.astype(float), scored, used, depth, whole=whole).tolist()
    return result


def _columns(spots: list[Spot]) -> tuple[list[tuple[int, int]], ...]:
    return [each.capacity for each in spots], [each.scored for each in spots], [each.used for each in spots]


amounts = st.one_of(st.integers(0, 64), st.integers(0, 100_000), st.integers(0, 2**46), st.sampled_from([2**46, 2**46 - 1, GIB, 100, 1000]))
pairs = st.tuples(amounts, amounts)
spots = st.builds(Spot, pairs, pairs, pairs)


@given(st.lists(spots, min_size=1, max_size=6), st.integers(0, 2**40), st.integers(0, 2**46), st.integers(1, 5))
def test_scores_are_those_of_whole_numbers(nodes, cpu, memory, depth):
    what = shape(cpu, memory)

    assert [[score(spot, what, number) for number in range(1, depth + 1)] for spot in nodes] == ladders(nodes, what, depth)


capacities = st.tuples(st.integers(1, 2**46), st.integers(1, 2**46))


@given(st.lists(st.builds(Spot, capacities, pairs, pairs), min_size=1, max_size=6), st.integers(0, 5000), st.integers(0, 2**34))
def test_the_promise_that_no_node_lacks_either_changes_nothing(nodes, cpu, memory):
    what = shape(cpu, memory)

    assert ladders(nodes, what, 4) == ladders(nodes, what, 4, whole=True)


@given(st.integers(1, LARGEST), st.data())
def test_hundredths_are_cut_off_exactly_where_a_quotient_is_almost_whole(capacity, data):
    # The amounts that leave one unit less than so many hundredths.
    hundredth = data.draw(st.integers(0, 99))
    used = capacity - (capacity * hundredth // 100)
    nodes = [Spot((capacity, 0), (used + less, 0), (0, 0)) for less in (-1, 0, 1) if used + less >= 0]

    assert [[least_allocated(spot, [spot.scored[0] + 1, 0])] for spot in nodes] == ladders(nodes, PodShape(0, ((3, 1),), (1, 1)), 1)


@pytest.mark.parametrize(
    ("spot", "what", "want"),
    [
        pytest.param(Spot((4000, 4 * GIB), (0, 0), (0, 0)), shape(1000, GIB), [75 + 75, 50 + 75, 25 + 75, 0 + 75], id="even all the way"),
        pytest.param(Spot((4000, 4 * GIB), (0, 0), (0, 0)), shape(1000), [85 + 68, 70 + 69], id="only cpu is asked for"),
        pytest.param(Spot((4000, 0), (0, 0), (0, 0)), shape(1000, GIB), [75 + 75, 50 + 75], id="a node without memory"),
        pytest.param(Spot((0, 0), (0, 0), (0, 0)), shape(1000), [75, 75], id="a node without both"),
        pytest.param(Spot((1000, 0), (900, 0), (900, 0)), shape(), [0, 0], id="a pod that asks for neither"),
        pytest.param(Spot((1000, GIB), (5000, 5 * GIB), (5000, 5 * GIB)), shape(100, 1), [75, 75], id="more taken than there is"),
        pytest.param(Spot((1000, GIB), (0, 0), (0, GIB)), shape(1000, 1), [49 + 100, 49 + 75], id="a pod that evens things out"),
    ],
)
def test_examples_worked_out_by_hand(spot, what, want):
    assert want == ladders([spot], what, len(want))[0]


def test_a_node_has_one_row_and_a_pod_one_column():
    nodes = [Spot((4000, GIB), (0, 0), (0, 0))] * 3

    assert (3, 2) == np.array(ladders(nodes, shape(1000), 2)).shape
    assert (
        np.int64
        == NodeResources(shape()).ladder(np.ones((2, 1)), np.zeros((2, 1), dtype=np.int64), np.zeros((2, 1), dtype=np.int64), 1).dtype
    )
