"""Matching of claims with volumes, compared with all ways to match them."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.exact.volumes.matching import Item, Matching, parts, suffice, volumes_in
from tests.sampling import sampled

MASKS = st.integers(0, 31)
ITEMS = st.lists(st.builds(Item, st.integers(0, 2), st.lists(st.tuples(MASKS, st.integers(0, 2)), max_size=2).map(tuple)), max_size=4)


def possible(items: list[Item], taken: int = 0) -> bool:
    """Try every volume of every option for every claim."""
    items = [each for each in items if each.count]
    if not items:
        return True
    first, rest = items[0], items[1:]
    for number, (mask, limit) in enumerate(first.options):
        options = list(first.options)
        options[number] = mask, limit - 1
        less = Item(first.count - 1, tuple(options))
        if limit and any(possible([less, *rest], taken | 1 << volume) for volume in volumes_in(mask & ~taken)):
            return True
    return False


@settings(max_examples=sampled(2_000))
@given(ITEMS)
@example([Item(1, ((0b11, 1),)), Item(1, ((0b01, 1),))]).via("the first claim leaves its volume to the second")
@example([Item(1, ((0b011, 1),)), Item(1, ((0b110, 1),)), Item(1, ((0b001, 1),))]).via("and takes that of the third")
@example([Item(2, ((0b011, 2), (0b100, 1))), Item(1, ((0b111, 1),))]).via("an option with a limit")
def test_a_matching_is_returned_if_one_exists(items):
    assert possible(items) == suffice(items, StepBudget(10_000))


@given(ITEMS)
def test_each_claim_gets_a_volume_of_its_options(items):
    matching = Matching(items)
    matched = [sum(matching.add(number) for _ in range(item.count)) for number, item in enumerate(items)]
    given_to = [*matching.volumes()]
    assert len(given_to) == len({volume for _, volume in given_to}) == sum(matched)
    for number, item in enumerate(items):
        volumes = [volume for each, volume in given_to if each == number]
        assert matched[number] == len(volumes)
        assert all(any(mask >> volume & 1 for mask, _ in item.options) for volume in volumes)


@given(st.lists(MASKS))
def test_parts_are_disjoint_and_make_up_each_set(masks):
    found = parts(masks)
    assert all(found)
    for mask in masks:
        inside = [part for part in found if part & mask]
        assert mask == sum(inside)


def test_a_spent_budget_is_no_answer():
    with pytest.raises(StepsSpentError):
        suffice([Item(3, ((7, 3),))], StepBudget(2))
