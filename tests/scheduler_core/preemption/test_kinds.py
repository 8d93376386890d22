"""Groups by what they need."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.plans.kinds import Kinds
from scheduler_core.preemption.plans.required_pods import RequiredPods
from tests.scheduler_core.preemption.scene import shape

SMALL, LARGE = shape(1000), shape(3000)


def leaf(number, *options, key="rack", value=None):
    """Return a leaf; *ways* are numbers of pods of the small and of the large shape."""
    pods = tuple(tuple((each, count) for each, count in zip((SMALL, LARGE), path, strict=True) if count) for path in options)
    return RequiredPods(number, key, value, pods)


def above(number, missing, *children, key=""):
    return RequiredPods(number, key, None, (), missing, children)


ONE, SAME, MORE = leaf(1, (2, 1)), leaf(2, (2, 1)), leaf(3, (3, 1))
EITHER = leaf(4, (2, 0), (1, 1))
ROOT = above(9, 3, ONE, SAME, MORE, EITHER)


def test_groups_that_need_the_same_are_of_one_kind():
    kinds = Kinds(ROOT)

    assert [ROOT, ONE, MORE, EITHER] == sorted(kinds.groups, key=lambda group: (group is not ROOT, group.number))
    assert kinds.load([ONE, SAME]) == kinds.load([SAME, SAME])
    assert sorted(kinds.load([ONE, SAME]), reverse=True) == [2, 0, 0, 0, 0, 0]


def test_groups_that_need_the_same_in_another_order_are_of_one_kind():
    other = RequiredPods(2, "rack", None, (((LARGE, 1), (SMALL, 2)),))
    kinds = Kinds(above(9, 1, ONE, other))

    assert kinds.load([ONE]) == kinds.load([other])
    assert not kinds.has_easier(kinds.load([ONE]), kinds.load([ONE, other]))


@pytest.mark.parametrize(
    "other", [leaf(2, (2, 1), key="zone"), leaf(2, (2, 1), value="r1"), leaf(2, (2, 1), (1, 2)), above(2, 1, leaf(3, (2, 1)))]
)
def test_groups_that_differ_in_anything_are_not(other):
    kinds = Kinds(above(9, 2, ONE, other))

    assert kinds.load([ONE]) != kinds.load([other])


def test_needs_of_a_composite_are_between_its_smallest_and_largest_children():
    kinds = Kinds(ROOT)

    assert (1 + 2 + 2, 0 + 1 + 1) == kinds.least(kinds.load([ROOT]))
    assert (2 + 2 + 3, 1 + 1 + 1) == kinds.most(ROOT)
    assert (1, 0) == kinds.least(kinds.load([EITHER]))


def test_pods_of_a_load_count_besides_its_groups():
    kinds = Kinds(ROOT)
    load = kinds.load_of_pods((5, 7))
    both = tuple(map(sum, zip(load, kinds.load([MORE]), strict=True)))

    assert (5, 7) == kinds.pods_in(load)
    assert (8, 8) == kinds.least(both)
    assert kinds.nothing == kinds.load_of_pods((0, 0))


@pytest.mark.parametrize(
    ("chosen", "want"),
    [
        pytest.param([ONE, SAME], False, id="all others are harder"),
        pytest.param([ONE], False, id="another is just as hard"),
        pytest.param([ONE, MORE], True, id="another needs less than one of them"),
        pytest.param([MORE], True, id="all others need less"),
    ],
)
def test_of_two_groups_the_easier_needs_no_more_pods(chosen, want):
    whole = above(9, 3, ONE, SAME, MORE)
    kinds = Kinds(whole)

    assert want == kinds.has_easier(kinds.load(chosen), kinds.load(whole.children))


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        pytest.param(leaf(1, (1, 0)), leaf(2, (2, 0)), True, id="fewer pods"),
        pytest.param(leaf(1, (1, 0), (0, 2)), leaf(2, (2, 0)), True, id="fewer pods in one of its ways"),
        pytest.param(leaf(1, (2, 0)), leaf(2, (2, 0), (0, 2)), False, id="not fewer than in every way of the other"),
        pytest.param(leaf(1, (1, 0)), leaf(2, (0, 2)), False, id="pods of another shape"),
        pytest.param(leaf(1, (1, 0), key="zone"), leaf(2, (2, 0)), False, id="domains of another key"),
        pytest.param(leaf(1, (1, 0), value="r1"), leaf(2, (2, 0)), False, id="one domain only"),
        pytest.param(above(1, 1, leaf(3, (1, 0)), key="rack"), leaf(2, (2, 0)), False, id="groups below"),
    ],
)
def test_a_group_can_take_the_place_of_another_with(one, other, want):
    root = above(9, 1, one, other)
    kinds = Kinds(root)

    assert want == kinds.has_easier(kinds.load([other]), kinds.load(root.children))
