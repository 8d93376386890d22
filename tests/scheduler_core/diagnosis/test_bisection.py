"""Bisection: the largest and smallest values are found from any first guess, with few trials."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.diagnosis.bisection import largest, least


@given(st.integers(1, 300), st.integers(0, 300), st.integers(0, 320))
def test_the_largest_good_number_is_found(high, limit, likely):
    limit = max(1, min(limit, high))
    assert limit == largest(1, high, min(likely, high), lambda number: number <= limit)


@given(st.integers(0, 300), st.integers(1, 400), st.integers(1, 320))
def test_the_least_good_number_is_found_or_none(high, limit, likely):
    assert (limit if limit <= high else 0) == least(likely, high, lambda number: number >= limit)


@given(st.integers(0, 300), st.integers(1, 400), st.integers(1, 320), st.integers(1, 9), st.integers(-3, 3))
def test_what_is_missing_changes_the_tries_not_the_number(high, limit, likely, slots, error):
    requested = []

    def good(number):
        requested.append(number)
        return number >= limit

    assert (limit if limit <= high else 0) == least(likely, high, good, lambda: max(0, -(-(limit - requested[-1]) // slots) + error))


@pytest.mark.parametrize(
    ("limit", "likely", "most"),
    [
        pytest.param(90, 90, 2, id="guessed"),
        pytest.param(500, 10, 2, id="none there"),
        pytest.param(91, 90, 4, id="nearly guessed"),
        pytest.param(1, 1, 1, id="the least there is"),
    ],
)
def test_few_rules_are_evaluated(limit, likely, most):
    requested = []

    def good(number):
        requested.append(number)
        return number >= limit

    least(likely, 256, good)
    assert len(requested) <= most


@pytest.mark.parametrize(
    ("limit", "likely", "high", "tries"),
    [
        pytest.param(130, 112, 256, [112, 130, 129], id="after the first guess"),
        pytest.param(100, 102, 256, [102, 101, 51, 100, 99], id="below the first guess"),
        pytest.param(500, 10, 256, [10, 256], id="none there"),
    ],
)
def test_the_number_that_is_missing_is_tried_next(limit, likely, high, tries):
    requested = []

    def good(number):
        requested.append(number)
        return number >= limit

    least(likely, high, good, lambda: limit - requested[-1])
    assert requested == tries


def test_the_absence_of_a_number_is_noticed_if_no_less_is_missing():
    requested = []
    assert not least(10, 4096, requested.append, lambda: 7)
    assert requested == [10, 17, 4096]
