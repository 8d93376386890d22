"""Pods of the leaves placed so far, by placement, and which of these demands share nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from scheduler_core.exact.packing.capacity import Demand
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement


class Demands:
    """Number of pods by placement and shape."""

    def __init__(self, coupled: Callable[[PodShape], bool] = lambda _: False) -> None:
        """Begin with no pods; *coupled* says if the volumes of pods of a shape depend on those of other pods."""
        self._coupled = coupled
        self._counts: dict[int, dict[int, int]] = {}
        self._placements: dict[int, Placement] = {}
        self._shapes: dict[int, PodShape] = {}
        self._members: dict[int, frozenset[int]] = {}
        self._overlap: dict[tuple[int, int], bool] = {}
        self._inside: dict[tuple[int, int], bool] = {}

    def add(self, placement: Placement, counts: Iterable[tuple[PodShape, int]], sign: int = 1) -> None:
        """Add pods, or remove them if *sign* is -1."""
        pods = self._counts.setdefault(placement.serial, {})
        self._placements[placement.serial] = placement
        for shape, count in counts:
            self._shapes[shape.serial] = shape
            pods[shape.serial] = pods.get(shape.serial, 0) + sign * count
            if not pods[shape.serial]:
                del pods[shape.serial]
        if not pods:
            del self._counts[placement.serial]

    def clear(self) -> None:
        """Remove all pods."""
        self._counts.clear()

    def placements(self) -> list[Placement]:
        """Return the placements that have pods."""
        return [self._placements[serial] for serial in self._counts]

    def counts_within(self, placement: Placement) -> Iterator[tuple[PodShape, int]]:
        """Return the pods of exactly *placement*: shape and number."""
        return ((self._shapes[serial], count) for serial, count in self._counts.get(placement.serial, {}).items())

    def key(self, placement: Placement) -> tuple[tuple[int, int], ...]:
        """Return the pods of exactly *placement* as a comparable key."""
        return tuple(sorted(self._counts[placement.serial].items()))

    def connected_demands(self, placement: Placement) -> list[Demand]:
        """Return the demands that are connected with *placement* by shared nodes or volumes, also through other demands."""
        connected, rest = [placement], [each for each in self.placements() if each.serial != placement.serial]
        for one in connected:
            touched = [each for each in rest if self.overlap(one, each) or (self._any_coupled(one) and self._any_coupled(each))]
            if touched:
                connected += touched
                rest = [each for each in rest if each not in touched]
        connected.sort(key=lambda each: each.serial)
        return [(shape, each, count) for each in connected for shape, count in self.counts_within(each)]

    def _any_coupled(self, placement: Placement) -> bool:
        return any(self._coupled(shape) for shape, _ in self.counts_within(placement))

    def overlap(self, one: Placement, other: Placement) -> bool:
        """Return whether *one* and *other* share a node."""
        key = (one.serial, other.serial)
        if (result := self._overlap.get(key)) is None:
            result = self._overlap[key] = not self._nodes(one).isdisjoint(self._nodes(other))
        return result

    def inside(self, one: Placement, other: Placement) -> bool:
        """Return whether all nodes of *one* are in *other*."""
        key = (one.serial, other.serial)
        if (result := self._inside.get(key)) is None:
            result = self._inside[key] = self._nodes(one) <= self._nodes(other)
        return result

    def _nodes(self, placement: Placement) -> frozenset[int]:
        if (members := self._members.get(placement.serial)) is None:
            members = self._members[placement.serial] = frozenset(placement.nodes.tolist())
        return members
