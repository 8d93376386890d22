"""Choice between feasible placements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.placement import placement_score
from tests.scheduler_core.builders import decided, leaf, placed, pod, pods, racks

amounts = st.one_of(st.integers(0, 500), st.integers(0, 2**46))
quads = st.lists(st.tuples(amounts, amounts, amounts, amounts), min_size=1, max_size=8)


def tight(capacity: tuple[int, int], taken: tuple[int, int]) -> int:
    parts = [100 * min(used, size) // size for size, used in zip(capacity, taken, strict=True) if size]
    return sum(parts) // len(parts) if parts else 0


@given(quads)
def test_tightness_is_the_mean_of_what_is_used_in_hundredths(each):
    numbers = np.array(each, dtype=np.int64).T

    assert [tight(one[:2], one[2:]) for one in each] == placement_score.tightness(numbers[:2], numbers[2:]).tolist()
    assert [tight(one[:2], one[2:]) for one in each] == [placement_score.tightness_of(one[:2], one[2:]) for one in each]


@pytest.mark.parametrize(
    ("capacity", "in_use", "want"),
    [
        pytest.param((1000, 1000), (500, 0), 25, id="half of one"),
        pytest.param((1000, 0), (500, 7), 50, id="a resource that there is none of does not count"),
        pytest.param((0, 0), (5, 5), 0, id="no capacity at all"),
        pytest.param((1000, 1000), (9000, 999), 99, id="more than all is all, and nothing is rounded up"),
    ],
)
def test_examples_of_tightness(capacity, in_use, want):
    assert want == placement_score.tightness_of(capacity, in_use)


def best(tight_: list[int], counts: list[int], holds: list[bool] | None = None, feasible: list[int] | None = None) -> int:
    rows = list(range(len(counts))) if feasible is None else feasible
    arrays = [np.array(each, dtype=np.int64) for each in (rows, tight_, counts)]
    return placement_score.choose(*arrays, holds=None if holds is None else np.array(holds))


@pytest.mark.parametrize(
    ("tight_", "counts", "want"),
    [
        pytest.param([10, 20, 15], [2, 2, 2], 1, id="the tightest"),
        pytest.param([20, 20, 20], [2, 2, 2], 0, id="of equal ones the first"),
        pytest.param([10, 20, 20], [2, 2, 2], 1, id="of equal best ones the first"),
        pytest.param([50, 0], [1, 2], 0, id="half the pods cost fifty"),
        pytest.param([49, 0], [1, 2], 1, id="and no more"),
        pytest.param([0, 33], [3, 2], 0, id="counts are cut off: 2 of 3 is 66"),
        pytest.param([0, 34], [3, 2], 0, id="a tie after cutting off"),
        pytest.param([0, 35], [3, 2], 1, id="and beyond it"),
        pytest.param([5], [0], 0, id="one alone is taken as it is"),
        pytest.param([5, 6], [0, 0], -1, id="pods that are not there cannot be compared"),
    ],
)
def test_the_highest_total_is_taken(tight_, counts, want):
    assert want == best(tight_, counts)


def test_only_the_feasible_are_compared():
    assert 2 == best([90, 10, 20], [9, 2, 2], feasible=[1, 2])
    # The largest count is that among the feasible ones.
    assert 1 == best([0, 50, 0], [9, 1, 2], feasible=[1, 2])


@pytest.mark.parametrize(
    ("holds", "want"),
    [
        pytest.param([False, False, False], 1, id="none holds more"),
        pytest.param([True, False, True], 2, id="the best of those that do"),
        pytest.param([True, False, False], 0, id="the only one that does"),
    ],
)
def test_placements_that_hold_the_desired_count_come_first(holds, want):
    assert want == best([10, 99, 20], [2, 2, 2], holds)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 9)), min_size=1, max_size=9))
def test_the_choice_is_the_first_of_the_largest_totals(each):
    tight_, counts = ([one[part] for one in each] for part in (0, 1))
    totals = [one + 100 * count // max(counts) for one, count in each]

    assert totals.index(max(totals)) == best(tight_, counts)


def test_the_tighter_rack_is_taken_and_of_equal_ones_the_first_by_name():
    gang = [leaf("g", 2, "rack"), *pods("g", 2)]
    nodes = racks({"r2": 1, "r1": 1, "r3": 1})

    assert {"r1-0"} == {*placed(decided([*nodes, *gang])).values()}
    assert {"r3-0"} == {*placed(decided([*nodes, *gang, pod("there", on="r3-0")])).values()}
