"""Truncation of long messages, with a note of what is omitted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.wording.truncation import LONGEST, cut, listed_within


def test_a_short_text_is_left_alone():
    assert cut("x" * LONGEST) == "x" * LONGEST


def test_a_long_text_says_how_much_is_missing():
    assert cut("x" * 200, 100) == "x" * 60 + " … and 140 more characters"


def test_few_parts_are_joined():
    assert listed_within(["a", "b"]) == "a; b"


def test_parts_that_do_not_fit_are_counted():
    assert listed_within(["a" * 30, "b" * 30, "c" * 30, "d"], longest=110) == f"{'a' * 30}; {'b' * 30}; … and 2 more"


def test_one_part_is_shown_even_if_it_must_be_cut():
    assert listed_within(["a" * 300, "b"], longest=120) == f"{'a' * 40} … and 260 more characters; … and 1 more"


def test_nothing_to_list_is_nothing():
    assert listed_within([]) == ""


@pytest.mark.parametrize("longest", [120, LONGEST])
@given(parts=st.lists(st.text(max_size=200), max_size=40))
def test_no_list_is_longer_than_it_may_be(parts, longest):
    messages = listed_within(parts, longest=longest)

    assert len(messages) <= longest
    assert ("; ".join(parts) == messages) or "more" in messages
