"""Steps of the update of a running object on a page: a bar for each, with the old, the new and the waiting pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from muster.html.svg import Stroke

WIDTH, HEIGHT = 600, 16
MOST = 24
"""Limit of the steps of an update that are drawn: the first and the last ones."""
KINDS = {"running": "Old", "placed": "New", "short": "Waiting", "free": "Refused by a quota"}
"""Titles of the shapes of a bar, in its order."""
_ALWAYS = 2
"""Number of these that are shown even if no step has such pods."""


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """Pods of one kind: its shape, its title, and its place in ``KINDS``."""

    kind: str
    title: str
    index: int


@dataclasses.dataclass(frozen=True, slots=True)
class UpdateStep:
    """Step of an update: its number, what is done, and the pods of each kind after it, in the order of ``KINDS``."""

    number: int
    done: str
    pods: tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class UpdateRow:
    """A step with its bar."""

    step: UpdateStep
    strokes: tuple[Stroke, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class DrawnUpdate:
    """Update of an object.

    Attributes:
        title: the object, and its strategy.
        result: how the update ends.
        columns: the kinds of pods that some step has.
        first: the first steps.
        hidden: number of steps that are not drawn.
        last: the steps after them.

    """

    title: str
    result: str
    columns: tuple[Column, ...]
    first: tuple[UpdateRow, ...]
    hidden: int = 0
    last: tuple[UpdateRow, ...] = ()


def drawn_update(title: str, result: str, steps: Sequence[UpdateStep]) -> DrawnUpdate:
    """Return an update with a bar for each step; all have one scale."""
    scale = max(1, *(sum(each.pods) for each in steps))
    rows = [UpdateRow(each, tuple(_strokes(each, scale))) for each in steps]
    listed = [Column(kind, title, index) for index, (kind, title) in enumerate(KINDS.items())]
    columns = tuple(each for each in listed if each.index < _ALWAYS or any(step.pods[each.index] for step in steps))
    if len(rows) <= MOST:
        return DrawnUpdate(title, result, columns, tuple(rows))
    return DrawnUpdate(title, result, columns, tuple(rows[: MOST // 2]), len(rows) - MOST, tuple(rows[-MOST // 2 :]))


def _strokes(step: UpdateStep, scale: int) -> Iterator[Stroke]:
    before = 0
    for kind, number in zip(KINDS, step.pods, strict=True):
        if number:
            left, right = (1 + (WIDTH - 2) * each / scale for each in (before, before + number))
            yield Stroke(kind, f"M{left:.1f} 1H{right:.1f}V{HEIGHT - 1}H{left:.1f}z")
        before += number
