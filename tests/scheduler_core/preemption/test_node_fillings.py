"""Victims on a node for a number of pods, compared with every set of units and every number of pods."""

from __future__ import annotations

import itertools
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.preemption.bounds.node_fillings import ways

_amounts = st.tuples(st.integers(0, 3), st.integers(0, 2))


def fits(counts, free, needs, amounts, positions):
    capacity = [max(0, have + sum(needs[each][row] for each in positions)) for row, have in enumerate(free)]
    return all(sum(count * each[row] for count, each in zip(counts, amounts, strict=True)) <= have for row, have in enumerate(capacity))


def subsets(count):
    return itertools.chain.from_iterable(itertools.combinations(range(count), size) for size in range(count + 1))


@given(
    st.lists(_amounts.filter(any), min_size=1, max_size=2),
    st.tuples(st.integers(-1, 4), st.integers(-1, 3)),
    st.lists(_amounts, max_size=4),
)
def test_each_minimal_eviction_needs_all_its_victims_and_one_of_them_suffices(amounts, free, needs):
    most = (3,) * len(amounts)
    result, sets, whole = ways(most, free, needs, amounts)

    assert whole
    assert sets <= 2 ** len(needs)
    for counts, positions in result:
        assert fits(counts, free, needs, amounts, positions)
        assert not any(fits(counts, free, needs, amounts, set(positions) - {each}) for each in positions)
    for positions in subsets(len(needs)):
        for counts in itertools.product(range(4), repeat=len(amounts)):
            if fits(counts, free, needs, amounts, positions):
                assert any(
                    all(map(int.__le__, counts, more))
                    and all(leaving.count(need) <= [needs[each] for each in positions].count(need) for need in leaving)
                    for more, each in result
                    for leaving in [[needs[position] for position in each]]
                )


def test_of_units_that_give_back_the_same_the_first_leave():
    result, sets, whole = ways((2,), (0,), [(1,), (1,), (1,)], [(1,)])

    assert ([((0,), ()), ((1,), (0,)), ((2,), (0, 1))], 4, True) == (result, sets, whole)


@pytest.mark.parametrize(("units", "want"), [(9, True), (10, False)])
def test_where_there_are_too_many_sets_it_says_that_some_are_missing(units, want):
    needs = [(number + 1,) for number in range(units)]
    result, sets, whole = ways((100,), (0,), needs, [(1,)])

    assert want == whole
    assert sets == (2**units if want else units + 1)
    # The large ones first.
    assert ((19 if units == 10 else 17,), (units - 2, units - 1)) in result


def test_nothing_fits_where_more_is_taken_than_there_is():
    assert ([((0,), ()), ((1,), (0,))], 2, True) == ways((1,), (-1,), [(2,)], [(1,)])


def test_of_many_equal_units_one_stands_for_all():
    def calls(size):
        number = 0

        def count(frame, event, argument):
            nonlocal number
            number += event in {"call", "c_call"}

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            ways((size,), (0,), [(1,)] * size, [(1,)])
        finally:
            sys.setprofile(before)
        return number

    assert calls(400) < 5 * calls(100)
