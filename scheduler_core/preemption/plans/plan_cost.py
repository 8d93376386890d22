"""What it costs to make units leave: the order in which plans are better than others.

No disruption budget broken first; then fewest units, fewest pods, the lowest priority of the highest victim, the lowest sum of
priorities, the latest start of the oldest victim.  What is left is settled by names.  Each of these only grows as more units leave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

import numpy as np

from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.pods import PodRecord
from scheduler_core.preemption.result import by_importance
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.unit_order import NOW
from scheduler_core.preemption.units.units import Below, Units

Key = tuple[bool, int, int, int, int, int, int, tuple[int, ...]]
"""The smaller, the better: breaks a budget, units, pods, highest priority, sum of priorities, age of the oldest, pods that break
a budget, names."""


class PlanCost:
    """What the units of *below* are worth.

    Attributes:
        pods: shape (units,): how many pods of each would have to be told to leave.
        free: units that are leaving altogether, whoever comes: they cost nothing.

    """

    def __init__(self, units: Units, below: Below, budgets: DisruptionBudgets, leaving: AbstractSet[str] = frozenset()) -> None:
        self._units = units
        self._budgets = budgets
        self._guarded: dict[int, list[PodRecord]] = budgets.guarded(units, below)
        gone: Bools = units.terminating.copy()
        if leaving:
            gone |= np.array([pod.key in leaving for pod in units.pods], dtype=bool)
        self.pods: Ints = units.size - np.bincount(units.unit_of[gone], minlength=len(units))
        self.free = frozenset(below.units[self.pods[below.units] == 0].tolist())
        order, begins = units.by_unit
        self._since: Ints = np.minimum.reduceat(units.starts[order], begins) if len(units) else units.starts
        # Plain numbers, as most sets are small.
        self._known: dict[int, tuple[int, int, int, int]] = {}

    @property
    def guarded(self) -> AbstractSet[int]:
        """The units that a disruption budget counts."""
        return self._guarded.keys()

    def breaks(self, numbers: Iterable[int]) -> int:
        """How many pods of these units break a disruption budget when all of them leave."""
        concerned = [number for number in numbers if number in self._guarded] if self._guarded else []
        if not concerned:
            return 0
        concerned = by_importance(concerned, self._units)
        return sum(self._budgets.breaches(self._guarded[number] for number in concerned))

    def key(self, numbers: Collection[int]) -> Key:
        """How bad it is that all of these units leave."""
        told = sorted(number for number in numbers if number not in self.free)
        each = [self._of(number) for number in told]
        broken = self.breaks(told)
        return (
            broken > 0,
            len(told),
            sum(pods for pods, _, _, _ in each),
            max((priority for _, priority, _, _ in each), default=-NOW),
            sum(total for _, _, total, _ in each),
            max((age for _, _, _, age in each), default=-NOW),
            broken,
            tuple(-number for number in reversed(told)),
        )

    def ranks(self, numbers: Ints) -> Ints:
        """Where each of *numbers* stands among them: 0 is the one that is worth least by itself."""
        order = np.lexsort((-numbers, -self._since[numbers], self._units.priority[numbers], self.pods[numbers]))
        found: Ints = np.empty(len(numbers), dtype=np.int64)
        found[order] = np.arange(len(numbers))
        return found

    def totals(self, numbers: Ints) -> Ints:
        """The sum of the priorities of the pods of each of *numbers*, each counted from the lowest priority of all of them."""
        priority = self._units.priority[numbers]
        found: Ints = self.pods[numbers] * (priority - priority.min(initial=NOW))
        return found

    def highest(self, numbers: Ints, chosen: Collection[int]) -> Ints:
        """Those of *numbers* of the highest priority in *chosen*, or of a higher one."""
        priority = self._units.priority
        found: Ints = numbers[priority[numbers] >= priority[list(chosen)].max()]
        return found

    def oldest(self, numbers: Ints, chosen: Collection[int]) -> Ints:
        """Those of *numbers* that are of a higher priority than all of *chosen*, or as old as the oldest of it."""
        priority, since, there = self._units.priority, self._since, list(chosen)
        worse = (priority[numbers] > priority[there].max()) | (since[numbers] <= since[there].min())
        found: Ints = numbers[worse]
        return found

    def not_more(self, one: int, other: int) -> bool:
        """Whether *one* is worth no more than *other* in every respect, so that it can take its place in any plan."""
        if one in self._guarded:
            return False
        left, right = (*self._of(one), -one), (*self._of(other), -other)
        return all(mine <= theirs for mine, theirs in zip(left, right, strict=True))

    def _of(self, number: int) -> tuple[int, int, int, int]:
        """Of one unit: pods, priority, sum of priorities, age."""
        if (found := self._known.get(number)) is None:
            pods, priority = int(self.pods[number]), int(self._units.priority[number])
            found = self._known[number] = pods, priority, pods * (priority + _ABOVE_ZERO), -int(self._since[number])
        return found


_ABOVE_ZERO = 2**31
"""Added to each priority in a sum, so that with every victim the sum grows."""
