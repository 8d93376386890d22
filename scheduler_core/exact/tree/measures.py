"""What pods and groups measure: each resource that they request, and pods of each shape, of which a node holds so many.

All is counted in plain integers, one for each measure, as a search compares few of them very often.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.exact.needs import lacking, leaves, satisfied
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest

Amounts = tuple[int, ...]
"""One for each measure."""


class Measures:
    """The measures of one tree.

    Where all pods are of one shape their number is the only one, and says all: so many fit on a node.

    Attributes:
        single: whether that is so.
        everywhere: shape (measures, nodes): what is free.
        weights: what a pod measures, by the serial of its shape.
        smallest: the least that any pod has of each measure.

    """

    def __init__(self, capacity: Capacity, shapes: Sequence[PodShape]) -> None:
        self.single = len(shapes) == 1
        slots = [capacity.everywhere(shape)[None, :] for shape in shapes]
        self.everywhere: Ints = np.concatenate(slots if self.single else [capacity.free, *slots])
        self.weights: dict[int, Amounts] = {}
        for number, shape in enumerate(shapes):
            own = tuple(int(other == number) for other in range(len(shapes)))
            self.weights[shape.serial] = own if self.single else (*capacity.amounts(shape).tolist(), *own)
        self.smallest: Amounts = tuple(map(min, zip(*self.weights.values(), strict=True)))
        self.nothing: Amounts = (0,) * len(self.everywhere)
        self._least: dict[int, Amounts] = {}
        self._exact: dict[int, bool] = {}
        self._lacking: dict[int, int] = {}
        self._order = [shape.serial for shape in shapes]
        self._easier: dict[tuple[int, int], bool] = {}
        self._main: dict[int, int] = {}
        self._wanted: dict[int, int] = {}

    def measure_pods(self, counts: Sequence[tuple[PodShape, int]]) -> Amounts:
        """What so many pods of each shape measure together."""
        if self.single:
            return (sum(count for _, count in counts),)
        parts = [[count * each for each in self.weights[shape.serial]] for shape, count in counts]
        return tuple(map(sum, zip(*parts, strict=True))) if parts else self.nothing

    def easier(self, one: int, other: int) -> bool:
        """Whether a pod of shape *one* (its serial) has room wherever one of *other* has; of two alike the first is the easier one."""
        at = (one, other)
        if (found := self._easier.get(at)) is None:
            found = self._easier[at] = self._is_easier(one, other)
        return found

    def least(self, request: PlacementRequest) -> Amounts:
        """What *request* measures at least, each measure by itself."""
        if (found := self._least.get(request.number)) is None:
            found = self._least[request.number] = self._work_out(request)
        return found

    def exact(self, request: PlacementRequest) -> bool:
        """Whether *request* measures ``least`` whichever of its pods are taken to meet its minimum."""
        if (found := self._exact.get(request.number)) is None:
            found = self._exact[request.number] = self._is_exact(request)
        return found

    def lacking(self, request: PlacementRequest) -> int:
        """How many pods of *request* must be placed at least."""
        if (found := self._lacking.get(request.number)) is None:
            found = self._lacking[request.number] = lacking(request)
        return found

    def wanted(self, request: PlacementRequest) -> int:
        """How many pods of *request* wait."""
        if (found := self._wanted.get(request.number)) is None:
            waiting = sum(run.count for run in request.runs)
            found = self._wanted[request.number] = waiting + sum(self.wanted(child) for child in request.children)
        return found

    def main(self, request: PlacementRequest) -> int:
        """The measure that tells best how much room *request* has: pods of its first shape."""
        if self.single:
            return 0
        if (found := self._main.get(request.number)) is None:
            shape = next((run.shape for leaf in leaves(request) for run in leaf.runs), None)
            found = self._main[request.number] = len(self.nothing) - len(self.weights) + self._order.index(shape.serial) if shape else 0
        return found

    def _work_out(self, request: PlacementRequest) -> Amounts:
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
        slots = self.everywhere[resources:]
        return bool((slots[self._order.index(one)] >= slots[self._order.index(other)]).all())

    def _is_exact(self, request: PlacementRequest) -> bool:
        if satisfied(request):
            return True
        if request.leaf:
            return self.lacking(request) == self.wanted(request) or len({run.shape.serial for run in request.runs}) == 1
        open_ = [child for child in request.children if not satisfied(child)]
        return len(open_) == request.entity.minimum - (len(request.children) - len(open_)) and all(map(self.exact, open_))
