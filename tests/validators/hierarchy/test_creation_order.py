"""Pods that are never created, because a gang waits for pods that come only after it."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from validators.hierarchy.creation_order import Level, PodBatch, awaited_group, created
from validators.model.start_order import Event, Wait


def after(*parts: str, one: bool = False) -> Wait:
    return Wait(Event.ONE_TASK_READY if one else Event.TASKS_READY, parts)


GANG = {"g": Level(3)}
TREE = {"root": Level(2), "a": Level(1, "root"), "b": Level(2, "root")}
CASES = {
    "all at once": ([PodBatch("o", "a", "g", 3)], GANG, {0}),
    "the rest after the first": ([PodBatch("o", "a", "g", 1), PodBatch("o", "b", "g", 2, after("a"))], GANG, {0}),
    "enough at first": ([PodBatch("o", "a", "g", 3), PodBatch("o", "b", "g", 2, after("a"))], GANG, {0, 1}),
    "an awaited part without a group": ([PodBatch("o", "a", None, 1), PodBatch("o", "b", "g", 3, after("a"))], GANG, {0, 1}),
    "others fill the gang": (
        [PodBatch("o", "a", "g", 1), PodBatch("o", "b", "g", 2, after("a")), PodBatch("p", "", "g", 2)],
        GANG,
        {0, 1, 2},
    ),
    "the order of another object": ([PodBatch("o", "a", "g", 1), PodBatch("p", "b", None, 2, after("a"))], GANG, {0, 1}),
    "by way of a part without a group": (
        [PodBatch("o", "a", "g", 1), PodBatch("o", "b", None, 1, after("a")), PodBatch("o", "c", "g", 2, after("b"))],
        GANG,
        {0},
    ),
    "any of two": (
        [PodBatch("o", "a", "g", 1), PodBatch("o", "b", None, 1), PodBatch("o", "c", "g", 2, after("a", "b", one=True))],
        GANG,
        {0, 1, 2},
    ),
    "each of two": ([PodBatch("o", "a", "g", 1), PodBatch("o", "b", None, 1), PodBatch("o", "c", "g", 2, after("a", "b"))], GANG, {0, 1}),
    "a tree that needs both": ([PodBatch("o", "a", "a", 1), PodBatch("o", "b", "b", 2, after("a"))], TREE, {0}),
    "a tree that needs one": ([PodBatch("o", "a", "a", 1), PodBatch("o", "b", "b", 2, after("a"))], {**TREE, "root": Level(1)}, {0, 1}),
    "a cycle of parents, which other rules report": (
        [PodBatch("o", "a", "a", 1), PodBatch("o", "b", None, 2, after("a"))],
        {"a": Level(1, "x"), "x": Level(1, "y"), "y": Level(1, "x")},
        {0, 1},
    ),
    "a part that waits for itself": ([PodBatch("o", "a", None, 1, after("a"))], {}, set()),
}


@pytest.mark.parametrize(("batches", "groups", "want"), CASES.values(), ids=CASES)
def test_what_is_created(batches: list[PodBatch], groups: dict[str, Level], want: set[int]) -> None:
    assert want == created(batches, {**groups})


def test_the_gang_that_is_waited_for_may_be_that_of_pods_before_others() -> None:
    batches = [PodBatch("o", "a", "g", 1), PodBatch("o", "b", "h", 1, after("a")), PodBatch("o", "c", "h", 2, after("b"))]
    levels: dict[Hashable, Level] = {"g": Level(3), "h": Level(1)}
    made = created(batches, levels)

    assert {0} == made
    assert ["g", "g"] == [awaited_group(each, batches, made, levels) for each in batches[1:]]
    assert awaited_group(PodBatch("p", "a", "g", 1, after("b")), batches, made, levels) is None


def test_the_gang_that_is_waited_for_may_be_an_ancestor() -> None:
    batches = [PodBatch("o", "a", "first", 1), PodBatch("o", "b", "second", 1, after("a"))]
    levels: dict[Hashable, Level] = {
        "first": Level(1, "middle"),
        "second": Level(1, "middle"),
        "middle": Level(1, "root"),
        "root": Level(2),
    }
    made = created(batches, levels)

    assert {0} == made
    assert awaited_group(batches[1], batches, made, levels) == "root"
