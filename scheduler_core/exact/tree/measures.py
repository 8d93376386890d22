"""Needs and capacities as vectors of measures: the resources, and the number of pods of each shape.

A vector has one plain integer for each measure, because a search compares few of them very often.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.exact.needs import lacking, satisfied
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest

Amounts = tuple[int, ...]
"""One integer for each measure."""


class Measures:
    """Measures of one tree.

    If all pods have one shape, their number is the only measure and is exact: a node holds a number of them.

    Attributes:
        single: True if all pods have one shape.
        free: shape (measures, nodes): free amounts.
        weights: amounts of one pod, by the serial of its shape.
        smallest: for each measure the least amount of any pod.

    """

    def __init__(self, capacity: Capacity, shapes: Sequence[PodShape]) -> None:
        self.single = len(shapes) == 1
        slots = [capacity.slots_by_node(shape)[None, :] for shape in shapes]
        self.free: Ints = np.concatenate(slots if self.single else [capacity.free, *slots])
        self.weights: dict[int, Amounts] = {}
        for number, shape in enumerate(shapes):
            own = tuple(int(other == number) for other in range(len(shapes)))
            self.weights[shape.serial] = own if self.single else (*capacity.amounts(shape).tolist(), *own)
        self.smallest: Amounts = tuple(map(min, zip(*self.weights.values(), strict=True)))
        self.nothing: Amounts = (0,) * len(self.free)
        self._least: dict[int, Amounts] = {}
        self._exact: dict[int, bool] = {}
        self._lacking: dict[int, int] = {}
        self._order = [shape.serial for shape in shapes]
        self._easier: dict[tuple[int, int], bool] = {}
        self._main: dict[int, int] = {}
        self._waiting: dict[int, int] = {}

    def measure_pods(self, counts: Sequence[tuple[PodShape, int]]) -> Amounts:
        """Return the sum of the amounts of *counts*, a number of pods by shape."""
        if self.single:
            return (sum(count for _, count in counts),)
        parts = [[count * each for each in self.weights[shape.serial]] for shape, count in counts]
        return tuple(map(sum, zip(*parts, strict=True))) if parts else self.nothing

    def easier(self, one: int, other: int) -> bool:
        """Return whether a pod of shape *one*, a serial, fits wherever one of *other* fits; of two equal shapes the first is easier."""
        key = (one, other)
        if (result := self._easier.get(key)) is None:
            result = self._easier[key] = self._is_easier(one, other)
        return result

    def least(self, request: PlacementRequest) -> Amounts:
        """Return the least amounts that meet the minimum of *request*, each measure by itself."""
        if (amounts := self._least.get(request.number)) is None:
            amounts = self._least[request.number] = self._compute_least(request)
        return amounts

    def exact(self, request: PlacementRequest) -> bool:
        """Return whether every selection of pods that meets the minimum of *request* has the amounts ``least``."""
        if (result := self._exact.get(request.number)) is None:
            result = self._exact[request.number] = self._is_exact(request)
        return result

    def lacking(self, request: PlacementRequest) -> int:
        """Return the least number of pods of *request* to place."""
        if (count := self._lacking.get(request.number)) is None:
            count = self._lacking[request.number] = lacking(request)
        return count

    def waiting(self, request: PlacementRequest) -> int:
        """Return the number of waiting pods of *request*."""
        if (count := self._waiting.get(request.number)) is None:
            own = sum(run.count for run in request.runs)
            count = self._waiting[request.number] = own + sum(self.waiting(child) for child in request.children)
        return count

    def main(self, request: PlacementRequest) -> int:
        """Return the index of the measure that orders cells for *request*: the number of pods of its first shape."""
        if self.single:
            return 0
        if (measure := self._main.get(request.number)) is None:
            shape = next((run.shape for leaf in request.leaves() for run in leaf.runs), None)
            measure = self._main[request.number] = len(self.nothing) - len(self.weights) + self._order.index(shape.serial) if shape else 0
        return measure

    def _compute_least(self, request: PlacementRequest) -> Amounts:
        if satisfied(request):
            return self.nothing
        if request.leaf:
            missing = self.lacking(request)
            kinds = {run.shape.serial for run in request.runs}
            if len(kinds) == 1:
                return tuple(missing * each for each in self.weights[kinds.pop()])
            parts = [self.weights[run.shape.serial] for run in request.runs for _ in range(run.count)]
        else:
            missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
            parts = [self.least(child) for child in request.children if not satisfied(child)]
        return tuple(sum(sorted(each)[:missing]) for each in zip(*parts, strict=True)) if parts else self.nothing

    def _is_easier(self, one: int, other: int) -> bool:
        resources = len(self.nothing) - len(self.weights)
        mine, theirs = self.weights[one][:resources], self.weights[other][:resources]
        if (mine == theirs and one > other) or any(need > more for need, more in zip(mine, theirs, strict=True)):
            return False
        slots = self.free[resources:]
        return bool((slots[self._order.index(one)] >= slots[self._order.index(other)]).all())

    def _is_exact(self, request: PlacementRequest) -> bool:
        if satisfied(request):
            return True
        if request.leaf:
            return self.lacking(request) == self.waiting(request) or len({run.shape.serial for run in request.runs}) == 1
        open_ = [child for child in request.children if not satisfied(child)]
        return len(open_) == request.entity.minimum - (len(request.children) - len(open_)) and all(map(self.exact, open_))
