"""Kinds of groups: groups with equal needs are of one kind, whatever their names."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.model.pods import PodShape
from scheduler_core.preemption.plans.required_pods import RequiredPods

Load = tuple[int, ...]
"""Number of groups of each kind that have no domain yet, then number of pods of each shape without a domain."""
Pods = tuple[int, ...]
"""Number of pods of each shape."""


class Kinds:
    """Kinds of the groups of *root*, and the shapes of their pods.

    Attributes:
        groups: one group of each kind.
        shapes: by serial.
        nothing: the empty load.

    """

    def __init__(self, root: RequiredPods) -> None:
        self.groups: list[RequiredPods] = []
        self._kind: dict[int, int] = {}
        self._number_kinds(root, {})
        shapes = {shape.serial: shape for group in self.groups for way in group.ways for shape, _ in way}
        self.shapes: list[PodShape] = [shapes[serial] for serial in sorted(shapes)]
        self._shape = {shape.serial: number for number, shape in enumerate(self.shapes)}
        self.nothing: Load = (0,) * (len(self.groups) + len(self.shapes))
        self._pods = [self._selections(group) for group in self.groups]
        self._least: list[Pods] = [self._summed(group, most=False) for group in self.groups]

    def load(self, groups: Iterable[RequiredPods]) -> Load:
        """Return the load of *groups*."""
        counts = list(self.nothing)
        for group in groups:
            counts[self._kind[group.number]] += 1
        return tuple(counts)

    def pods(self, kind: int) -> tuple[Pods, ...]:
        """Return the selections of pods that meet the minimum of a leaf of *kind*."""
        return self._pods[kind]

    def load_of_pods(self, pods: Pods) -> Load:
        """Return the load of *pods*."""
        return (*self.nothing[: len(self.groups)], *pods)

    def pods_in(self, load: Load) -> Pods:
        """Return the pods of *load*, without those of its groups."""
        return load[len(self.groups) :]

    def least(self, load: Load) -> Pods:
        """Return the least number of pods of each shape that *load* needs."""
        groups = [tuple(count * each for each in self._least[kind]) for kind, count in enumerate(load[: len(self.groups)]) if count]
        return tuple(map(sum, zip(self.pods_in(load), *groups, strict=True)))

    def most(self, group: RequiredPods) -> Pods:
        """Return the largest number of pods of each shape that *group* can need."""
        return self._summed(group, most=True)

    def has_easier(self, load: Load, whole: Load) -> bool:
        """Return whether a group of *whole* that is not in *load* is easier than one that is, so that it can replace it."""
        kinds = range(len(self.groups))
        spare = [kind for kind in kinds if whole[kind] > load[kind]]
        return any(self._easier(one, other) for one in spare for other in kinds if load[other])

    def _easier(self, one: int, other: int) -> bool:
        """Return whether pods that meet the minimum of kind *other* always meet that of kind *one*, another kind."""
        left, right = self.groups[one], self.groups[other]
        if one == other or not left.ways or not right.ways or (left.key, left.value) != (right.key, right.value):
            return False
        return all(any(all(map(int.__le__, few, many)) for few in self._pods[one]) for many in self._pods[other])

    def _number_kinds(self, group: RequiredPods, kinds: dict[object, int]) -> int:
        if group.number not in self._kind:
            below = tuple(sorted(self._number_kinds(child, kinds) for child in group.children))
            # The order of the pods of a group does not matter.
            ways = frozenset(tuple(sorted((shape.serial, count) for shape, count in way)) for way in group.ways)
            needs = (group.key, group.value, ways, group.missing, below)
            if needs not in kinds:
                kinds[needs] = len(self.groups)
                self.groups.append(group)
            self._kind[group.number] = kinds[needs]
        return self._kind[group.number]

    def _selections(self, group: RequiredPods) -> tuple[Pods, ...]:
        ways = []
        for way in group.ways:
            pods = [0] * len(self.shapes)
            for shape, count in way:
                pods[self._shape[shape.serial]] += count
            ways.append(tuple(pods))
        return tuple(ways)

    def _summed(self, group: RequiredPods, *, most: bool) -> Pods:
        if group.ways:
            ways = self._pods[self._kind[group.number]]
            return tuple(map(max if most else min, zip(*ways, strict=True)))
        below = [self._summed(child, most=most) for child in group.children]
        return tuple(sum(sorted(column, reverse=most)[: group.missing]) for column in zip(*below, strict=True))
