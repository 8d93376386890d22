"""Costs of groups in their domain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.preemption.bounds.cost_table import Grid
from scheduler_core.preemption.bounds.group_opening import Opening
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from scheduler_core.preemption.plans.group_domains import DomainArea
from scheduler_core.preemption.plans.kinds import Kinds
from tests.scheduler_core.preemption.test_kinds import EITHER, MORE, ONE, above, leaf

RACK, ZONE = DomainArea(1, np.arange(1), {"rack": "r1"}), DomainArea(0, np.arange(2), {})


def opening(root, effort=10_000):
    kinds = Kinds(root)
    return kinds, Opening(kinds, Effort(effort))


def pods(kinds, loads):
    return sorted(kinds.pods_in(load) for load in loads)


def test_in_its_domain_a_group_is_pods():
    root = above(9, 1, EITHER)
    kinds, result = opening(root)

    assert [(1, 1), (2, 0)] == pods(kinds, result.opened(RACK, kinds.load([EITHER])))
    assert [kinds.load([EITHER])] == result.opened(ZONE, kinds.load([EITHER]))
    assert [True, False] == [result.only_pods(area, kinds.load([EITHER])) for area in (RACK, ZONE)]


def test_several_groups_are_all_their_pods_in_every_way():
    root = above(9, 2, EITHER, MORE)
    kinds, result = opening(root)
    load = tuple(map(sum, zip(kinds.load([EITHER, EITHER, MORE]), kinds.load_of_pods((0, 5)), strict=True)))

    assert [(2 + 3, 2 + 1 + 5), (3 + 3, 1 + 1 + 5), (4 + 3, 0 + 1 + 5)] == pods(kinds, result.pods(load))


def test_a_composite_needs_its_missing_children_in_every_minimal_combination():
    other = leaf(7, (0, 3))
    root = above(9, 1, ONE, MORE, other)
    kinds, result = opening(root)
    want = {kinds.load([ONE]), kinds.load([other])}

    assert want == set(result.opened(ZONE, kinds.load([root])))


def test_children_without_a_key_are_pods_at_once():
    free = leaf(7, (4, 0), key="")
    root = above(9, 2, ONE, free)
    kinds, result = opening(root)
    want = tuple(map(sum, zip(kinds.load([ONE]), kinds.load_of_pods((4, 0)), strict=True)))

    assert [want] == result.opened(ZONE, kinds.load([root]))


@given(st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_rows_are_all_pods_of_all_parts(counts):
    root = above(9, 2, ONE, EITHER)
    kinds, result = opening(root)
    load = tuple(0 if of_root else count for count, of_root in zip(counts, kinds.load([root]), strict=True))
    grid = Grid(load)
    rows, begins = result.rows(load, grid)
    several = [rows[begin:end].tolist() for begin, end in itertools.pairwise([*begins.tolist(), len(rows)])]
    want = [{tuple(each) for each in pods(kinds, result.pods(part))} for part in grid.counts(np.arange(grid.size))]

    assert want == [set(map(tuple, each)) for each in several]


def test_quorums_take_effort():
    children = [leaf(number, (number + 1, number % 3)) for number in range(12)]
    root = above(99, 6, *children)
    kinds, result = opening(root, effort=100)

    with pytest.raises(EffortSpentError):
        result.opened(ZONE, kinds.load([root]))
