"""Bounds on groups that are not divided, compared with exhaustive search."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.exact.tree.residual_bounds import ResidualBounds
from tests.sampling import sampled


def possible(needs: list[tuple[int, ...]], rooms: list[tuple[int, ...]]) -> bool:
    for chosen in itertools.product(range(len(rooms)), repeat=len(needs)):
        remaining = [list(capacity) for capacity in rooms]
        for need, where in zip(needs, chosen, strict=True):
            remaining[where] = [have - amount for have, amount in zip(remaining[where], need, strict=True)]
        if all(have >= 0 for capacity in remaining for have in capacity):
            return True
    return False


amounts = st.tuples(st.integers(0, 9), st.integers(0, 900).map(lambda each: each * 512))


@settings(deadline=None, max_examples=sampled(300))
@given(st.lists(amounts, min_size=1, max_size=5), st.lists(amounts, min_size=1, max_size=3), st.integers(0, 5), st.booleans())
def test_nothing_is_refuted_that_is_possible(needs, rooms, done, exact):
    done = min(done, len(needs))

    assert not (possible(needs[done:], rooms) and ResidualBounds(needs, exact=exact).refute(rooms, done))


@pytest.mark.parametrize(
    ("needs", "capacities", "want"),
    [
        pytest.param([3, 3], [3, 3], False, id="as much as there is"),
        pytest.param([3, 4], [3, 3], True, id="more than there is"),
        pytest.param([3, 3, 3], [5, 5], True, id="one in each room"),
        pytest.param([3, 3, 3, 3], [6, 7], False, id="two in each room"),
        pytest.param([5, 1], [4, 4], True, id="too large for any room"),
        pytest.param([6, 6, 1], [7, 6], False, id="sums that fill"),
        pytest.param([5, 3, 3, 3], [7, 7], True, id="sums that leave room"),
        pytest.param([3, 4], [2**63 - 1], False, id="without a limit"),
        pytest.param([3, 4], [2**63 - 1, 0], False, id="without a limit, and nothing"),
    ],
)
def test_exact_needs_fill_rooms_by_their_sums(needs, capacities, want):
    assert want == ResidualBounds([(need,) for need in needs], exact=True).refute([(free_capacity,) for free_capacity in capacities], 0)


def test_needs_that_may_be_larger_are_not_judged_by_their_sums():
    needs, capacities = [(5,), (3,), (3,), (3,)], [(7,), (7,)]

    assert [True, False] == [ResidualBounds(needs, exact=exact).refute(capacities, 0) for exact in (True, False)]


def test_only_what_is_not_done_counts():
    pressure = ResidualBounds([(9,), (2,)], exact=True)

    assert [True, False, False] == [pressure.refute([(2,)], done) for done in range(3)]


def test_more_rooms_take_more_steps():
    pressure = ResidualBounds([(9,), (2,)], exact=True)

    assert pressure.effort(10, 0) < pressure.effort(100, 0)
