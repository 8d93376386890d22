"""Enumeration of the sets of a given number of units, without sets that cannot matter."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.model.topology import Placement
from scheduler_core.preemption.bounds.shortage import Shortage
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.plan_cost import Key, PlanCost

_EMPTY: frozenset[int] = frozenset()
_SET_STEPS = 3
"""Steps for each set, or beginning of a set."""
_LARGEST = 200
"""Largest size of a set: each unit uses one Python stack frame, and the effort is spent long before."""
_MOST_COMPARED = 64
"""Number of units up to which all pairs are compared."""


class Fits(Protocol):
    """Decides if a root fits."""

    def fits(self, numbers: AbstractSet[int], placement: Placement) -> bool | None:
        """Return whether the root fits in *placement* without the units *numbers*; None if unknown."""


class Subsets:
    """Sets of units of one domain.

    If *exact*, an eviction never does harm.  So subsets of an infeasible set are infeasible, and a unit is evicted only together with all
    units that give back at least as much and cost no more.
    """

    def __init__(self, placement: Placement, units: Sequence[int], trials: Fits, cost: PlanCost, effort: Effort) -> None:
        self._placement = placement
        self._trials = trials
        self._cost = cost
        self._effort = effort
        self.units = units
        self._prerequisites: dict[int, frozenset[int]] = {}

    def compare(self, shortage: Shortage) -> None:
        """Compute which units are evicted only together with others; for exact requirements only."""
        if len(self.units) > _MOST_COMPARED:
            return
        amounts = {unit: self._amounts_by_node(unit, shortage) for unit in self.units}
        for position, unit in enumerate(self.units):
            self._prerequisites[position] = frozenset(
                other for other in self.units[:position] if (amounts[other] >= amounts[unit]).all() and self._cost.no_worse(other, unit)
            )

    def best(self, size: int, limit: Key | None, *, exact: bool, allow_violations: bool) -> tuple[frozenset[int] | None, bool]:
        """Return the best set of *size* units that makes the root fit and is better than *limit*, and True if the answer is certain.

        Sets that break a disruption budget are skipped unless *allow_violations*.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if size > _LARGEST:
            return None, False
        self._exact, self._allow_violations, self._size = exact, allow_violations, size
        self._best: frozenset[int] | None = None
        self._limit = limit
        self._certain = True
        self._descend((), 0)
        return self._best, self._certain

    def _descend(self, chosen: tuple[int, ...], at: int) -> None:
        self._effort.spend(_SET_STEPS)
        units = frozenset(chosen)
        if self._is_pruned(units):
            return
        if len(chosen) == self._size:
            fits = self._trials.fits(units, self._placement)
            self._certain &= fits is not None
            if fits:
                self._best, self._limit = units, self._cost.key(units)
            return
        if self._exact and self._trials.fits(units.union(self.units[at:]), self._placement) is False:
            return
        for position in range(at, len(self.units) - (self._size - len(chosen)) + 1):
            if self._prerequisites.get(position, _EMPTY) <= units:
                self._descend((*chosen, self.units[position]), position + 1)

    def _is_pruned(self, chosen: frozenset[int]) -> bool:
        key = self._cost.key(chosen)
        if key[0] and not self._allow_violations:
            return True
        if self._limit is None:
            return False
        # All criteria except the number of units can only get worse.
        return (self._size, *key[2:6]) > self._limit[1:6] or (len(chosen) == self._size and key >= self._limit)

    def _amounts_by_node(self, unit: int, shortage: Shortage) -> Ints:
        pairs = np.flatnonzero(shortage.unit == unit)
        amounts: Ints = np.zeros((len(shortage.amounts), len(self._placement)), dtype=np.int64)
        columns = np.searchsorted(self._placement.nodes, shortage.node[pairs])
        inside = (columns < len(self._placement)) & (
            self._placement.nodes[np.minimum(columns, len(self._placement) - 1)] == shortage.node[pairs]
        )
        amounts[:, columns[inside]] = shortage.amounts[:, pairs[inside]]
        return amounts
