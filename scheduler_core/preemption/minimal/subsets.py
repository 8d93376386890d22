"""Every set of so many units, as far as one can matter."""

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

_NOBODY: frozenset[int] = frozenset()
_STEPS = 3
"""For each set or part of one."""
_LARGEST = 200
"""Larger sets are not tried: each unit takes one of Python's frames, and the effort ends long before."""
_COMPARED = 64
"""Units up to which each is held against each."""


class Fits(Protocol):
    """What tells whether a root fits."""

    def fits(self, numbers: AbstractSet[int], placement: Placement) -> bool | None:
        """Whether it does in *placement* once the units *numbers* have left; None where that is not known."""


class Subsets:
    """Sets of units of one domain.

    *exact*: a unit that leaves can never do harm, so that what a set cannot do no part of it can, and a unit that gives back no more
    than another, and is worth no less, leaves only after it.
    """

    def __init__(self, placement: Placement, units: Sequence[int], trials: Fits, worth: PlanCost, effort: Effort) -> None:
        self._placement = placement
        self._trials = trials
        self._worth = worth
        self._effort = effort
        self.units = units
        self._before: dict[int, frozenset[int]] = {}

    def compare(self, shortage: Shortage) -> None:
        """Find out which units leave only after others.  For exact questions only."""
        if len(self.units) > _COMPARED:
            return
        given = {unit: self._given(unit, shortage) for unit in self.units}
        for position, unit in enumerate(self.units):
            self._before[position] = frozenset(
                other for other in self.units[:position] if (given[other] >= given[unit]).all() and self._worth.not_more(other, unit)
            )

    def best(self, size: int, limit: Key | None, *, exact: bool, broken: bool) -> tuple[frozenset[int] | None, bool]:
        """The best set of *size* units that lets the root fit, if it is better than *limit*; and whether that is certain.

        Sets that break a disruption budget are left out unless *broken*.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if size > _LARGEST:
            return None, False
        self._exact, self._broken, self._size = exact, broken, size
        self._found: frozenset[int] | None = None
        self._limit = limit
        self._certain = True
        self._descend((), 0)
        return self._found, self._certain

    def _descend(self, chosen: tuple[int, ...], at: int) -> None:
        self._effort.spend(_STEPS)
        here = frozenset(chosen)
        if self._hopeless(here):
            return
        if len(chosen) == self._size:
            fits = self._trials.fits(here, self._placement)
            self._certain &= fits is not None
            if fits:
                self._found, self._limit = here, self._worth.key(here)
            return
        if self._exact and self._trials.fits(here.union(self.units[at:]), self._placement) is False:
            return
        for position in range(at, len(self.units) - (self._size - len(chosen)) + 1):
            if self._before.get(position, _NOBODY) <= here:
                self._descend((*chosen, self.units[position]), position + 1)

    def _hopeless(self, chosen: frozenset[int]) -> bool:
        key = self._worth.key(chosen)
        if key[0] and not self._broken:
            return True
        if self._limit is None:
            return False
        # Everything but the number of units can only get worse.
        return (self._size, *key[2:6]) > self._limit[1:6] or (len(chosen) == self._size and key >= self._limit)

    def _given(self, unit: int, shortage: Shortage) -> Ints:
        pairs = np.flatnonzero(shortage.unit == unit)
        found: Ints = np.zeros((len(shortage.need), len(self._placement)), dtype=np.int64)
        at = np.searchsorted(self._placement.nodes, shortage.node[pairs])
        inside = (at < len(self._placement)) & (self._placement.nodes[np.minimum(at, len(self._placement) - 1)] == shortage.node[pairs])
        found[:, at[inside]] = shortage.need[:, pairs[inside]]
        return found
