"""The groups of a root by what they need: groups that need the same are one kind, whatever they are called."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.model.pods import PodShape
from scheduler_core.preemption.plans.required_pods import RequiredPods

Load = tuple[int, ...]
"""Groups of each kind that have not found their domain, then pods of each shape that may be anywhere."""
Pods = tuple[int, ...]
"""Pods of each shape."""


class Kinds:
    """The kinds of the groups of *root*, and the shapes of their pods.

    Attributes:
        groups: one of each kind.
        shapes: by serial.
        nothing: the empty load.

    """

    def __init__(self, root: RequiredPods) -> None:
        self.groups: list[RequiredPods] = []
        self._kind: dict[int, int] = {}
        self._number(root, {})
        shapes = {shape.serial: shape for group in self.groups for way in group.ways for shape, _ in way}
        self.shapes: list[PodShape] = [shapes[serial] for serial in sorted(shapes)]
        self._shape = {shape.serial: number for number, shape in enumerate(self.shapes)}
        self.nothing: Load = (0,) * (len(self.groups) + len(self.shapes))
        self._pods = [self._ways(group) for group in self.groups]
        self._least: list[Pods] = [self._summed(group, most=False) for group in self.groups]

    def load(self, groups: Iterable[RequiredPods]) -> Load:
        """A load of *groups*."""
        found = list(self.nothing)
        for group in groups:
            found[self._kind[group.number]] += 1
        return tuple(found)

    def pods(self, kind: int) -> tuple[Pods, ...]:
        """Of a kind that has pods: those that meet its minimum, in every way there is."""
        return self._pods[kind]

    def of_pods(self, pods: Pods) -> Load:
        """A load of *pods*."""
        return (*self.nothing[: len(self.groups)], *pods)

    def pods_of(self, load: Load) -> Pods:
        """The pods of *load* besides its groups."""
        return load[len(self.groups) :]

    def least(self, load: Load) -> Pods:
        """The fewest pods of each shape that *load* comes to."""
        groups = [tuple(count * each for each in self._least[kind]) for kind, count in enumerate(load[: len(self.groups)]) if count]
        return tuple(map(sum, zip(self.pods_of(load), *groups, strict=True)))

    def most(self, group: RequiredPods) -> Pods:
        """The most pods of each shape that *group* can come to."""
        return self._summed(group, most=True)

    def has_easier(self, load: Load, whole: Load) -> bool:
        """Whether a group of *whole* that is not in *load* could take the place of one that is, wherever that goes."""
        kinds = range(len(self.groups))
        spare = [kind for kind in kinds if whole[kind] > load[kind]]
        return any(self._easier(one, other) for one in spare for other in kinds if load[other])

    def _easier(self, one: int, other: int) -> bool:
        """Whether pods that meet the minimum of kind *other* always meet that of kind *one*, which is another."""
        left, right = self.groups[one], self.groups[other]
        if one == other or not left.ways or not right.ways or (left.key, left.value) != (right.key, right.value):
            return False
        return all(any(all(map(int.__le__, few, many)) for few in self._pods[one]) for many in self._pods[other])

    def _number(self, group: RequiredPods, looks: dict[object, int]) -> int:
        if group.number not in self._kind:
            below = tuple(sorted(self._number(child, looks) for child in group.children))
            # In whatever order the pods of a group stand.
            ways = frozenset(tuple(sorted((shape.serial, count) for shape, count in way)) for way in group.ways)
            look = (group.key, group.value, ways, group.missing, below)
            if look not in looks:
                looks[look] = len(self.groups)
                self.groups.append(group)
            self._kind[group.number] = looks[look]
        return self._kind[group.number]

    def _ways(self, group: RequiredPods) -> tuple[Pods, ...]:
        found = []
        for way in group.ways:
            pods = [0] * len(self.shapes)
            for shape, count in way:
                pods[self._shape[shape.serial]] += count
            found.append(tuple(pods))
        return tuple(found)

    def _summed(self, group: RequiredPods, *, most: bool) -> Pods:
        if group.ways:
            ways = self._pods[self._kind[group.number]]
            return tuple(map(max if most else min, zip(*ways, strict=True)))
        below = [self._summed(child, most=most) for child in group.children]
        return tuple(sum(sorted(column, reverse=most)[: group.missing]) for column in zip(*below, strict=True))
