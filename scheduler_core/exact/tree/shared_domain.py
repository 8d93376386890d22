"""Packing of the leaves that share one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler_core.exact.packing import optional_pods
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.packing import EqualPods, pack
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.domain_tree import DomainTree
from scheduler_core.exact.tree.subproblem import GroupInCell
from scheduler_core.model.pods import PodShape


class SharedDomain:
    """Cells of a domain tree, each packed by itself; verdicts are cached."""

    def __init__(self, domain_tree: DomainTree, capacity: Capacity, shapes: Sequence[PodShape], budget: StepBudget) -> None:
        self._domain_tree = domain_tree
        self._capacity = capacity
        self._shapes = {shape.serial: shape for shape in shapes}
        self._budget = budget
        self._verdicts: dict[tuple[object, ...], bool] = {}

    def fit_together(self, cell: int, loads: Sequence[GroupInCell]) -> bool:
        """Return whether the pods of *loads*, leaves in *cell*, fit together; each shape by itself is known to fit.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        return self._packs(cell, _needed(loads), thorough=True)

    def most(self, cell: int, loads: Sequence[GroupInCell]) -> int:
        """Return the number of pods of *loads*, leaves in *cell*, that a quick search packs; the needed pods are known to fit.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        needed = _needed(loads)
        offers = [
            (0, self._shapes[serial], count - needed.get(serial, 0))
            for serial, count in sorted(_waiting(loads).items())
            if count > needed.get(serial, 0)
        ]
        offers.sort(key=lambda offer: self._capacity.amounts(offer[1]).tolist())

        def fits(more: Mapping[int, int]) -> bool:
            counts = dict(needed)
            for index, count in more.items():
                serial = offers[index][1].serial
                counts[serial] = counts.get(serial, 0) + count
            return self._packs(cell, counts, thorough=False)

        return sum(needed.values()) + sum(optional_pods.most(offers, fits).values())

    def _packs(self, cell: int, counts: Mapping[int, int], *, thorough: bool) -> bool:
        if thorough and len(counts) == 1:
            return True
        key = (thorough, cell, *sorted(counts.items()))
        if (result := self._verdicts.get(key)) is None:
            result = self._verdicts[key] = self._pack(cell, counts, thorough=thorough)
        return result

    def _pack(self, cell: int, counts: Mapping[int, int], *, thorough: bool) -> bool:
        nodes = self._domain_tree.cells[cell].nodes
        shapes = [(self._shapes[serial], count) for serial, count in sorted(counts.items())]
        demands = [EqualPods(self._capacity.amounts(shape), count, self._capacity.slots_by_node(shape)[nodes]) for shape, count in shapes]
        return pack(self._capacity.free[:, nodes], demands, self._budget, thorough=thorough) is not None


def _needed(loads: Sequence[GroupInCell]) -> dict[int, int]:
    """Return the number of needed pods, by the serial of their shape."""
    counts: dict[int, int] = {}
    for load in loads:
        for shape, count in load.counts:
            counts[shape.serial] = counts.get(shape.serial, 0) + count
    return counts


def _waiting(loads: Sequence[GroupInCell]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for load in loads:
        for run in load.request.runs:
            counts[run.shape.serial] = counts.get(run.shape.serial, 0) + run.count
    return counts
