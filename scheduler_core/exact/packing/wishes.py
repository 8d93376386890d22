"""What the leaves placed so far want, and which of these wishes stand in each other's way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler_core.exact.packing.capacity import Wish
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement


class Wishes:
    """Pods by shape and placement; the placements that have any are few."""

    def __init__(self) -> None:
        self._counts: dict[int, dict[int, int]] = {}
        self._placements: dict[int, Placement] = {}
        self._shapes: dict[int, PodShape] = {}
        self._members: dict[int, frozenset[int]] = {}
        self._meet: dict[tuple[int, int], bool] = {}
        self._inside: dict[tuple[int, int], bool] = {}

    def add(self, placement: Placement, counts: Iterable[tuple[PodShape, int]], sign: int = 1) -> None:
        """More pods, or (*sign* -1) fewer."""
        here = self._counts.setdefault(placement.serial, {})
        self._placements[placement.serial] = placement
        for shape, count in counts:
            self._shapes[shape.serial] = shape
            here[shape.serial] = here.get(shape.serial, 0) + sign * count
            if not here[shape.serial]:
                del here[shape.serial]
        if not here:
            del self._counts[placement.serial]

    def clear(self) -> None:
        """None at all."""
        self._counts.clear()

    def placements(self) -> list[Placement]:
        """Those with wishes."""
        return [self._placements[serial] for serial in self._counts]

    def counts_within(self, placement: Placement) -> Iterator[tuple[PodShape, int]]:
        """What is wanted within *placement* as a whole."""
        return ((self._shapes[serial], count) for serial, count in self._counts.get(placement.serial, {}).items())

    def key(self, placement: Placement) -> tuple[tuple[int, int], ...]:
        """The same, to be compared."""
        return tuple(sorted(self._counts[placement.serial].items()))

    def related_wishes(self, placement: Placement) -> list[Wish]:
        """All wishes that have to do with *placement*: those that may use a node of it, and those that these have to do with."""
        near, rest = [placement], [each for each in self.placements() if each.serial != placement.serial]
        for one in near:
            touched = [each for each in rest if self.overlap(one, each)]
            if touched:
                near += touched
                rest = [each for each in rest if each not in touched]
        near.sort(key=lambda each: each.serial)
        return [(shape, each, count) for each in near for shape, count in self.counts_within(each)]

    def overlap(self, one: Placement, other: Placement) -> bool:
        """Whether the two share a node."""
        at = (one.serial, other.serial)
        if (found := self._meet.get(at)) is None:
            found = self._meet[at] = not self._nodes(one).isdisjoint(self._nodes(other))
        return found

    def inside(self, one: Placement, other: Placement) -> bool:
        """Whether *one* is a part of *other*, or all of it."""
        at = (one.serial, other.serial)
        if (found := self._inside.get(at)) is None:
            found = self._inside[at] = self._nodes(one) <= self._nodes(other)
        return found

    def _nodes(self, placement: Placement) -> frozenset[int]:
        if (found := self._members.get(placement.serial)) is None:
            found = self._members[placement.serial] = frozenset(placement.nodes.tolist())
        return found
