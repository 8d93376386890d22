"""Order of plans: the cost of evicting a set of units.

The criteria are compared lexicographically: no disruption budget is broken, fewer units, fewer pods, a lower highest priority, a lower
sum of priorities, and a later start of the oldest victim.  Further ties are broken by names.  No criterion improves when a unit is added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

import numpy as np

from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.pods import PodRecord
from scheduler_core.preemption.result import by_importance
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import PotentialVictims, Units
from scheduler_core.preemption.units.unit_order import NOW

Key = tuple[bool, int, int, int, int, int, int, tuple[int, ...]]
"""Cost, smaller is better: breaks a budget, units, pods, highest priority, sum of priorities, age of the oldest, pods that break a budget,
and names.
"""


class PlanCost:
    """Cost of the units of *potential*.

    Attributes:
        pods: shape (units,): number of pods to evict.
        free: units whose eviction has begun for all their pods; they cost nothing.

    """

    def __init__(
        self, units: Units, potential: PotentialVictims, budgets: DisruptionBudgets, being_evicted: AbstractSet[str] = frozenset()
    ) -> None:
        self._units = units
        self._budgets = budgets
        self._protected: dict[int, list[PodRecord]] = budgets.protected_pods(units, potential)
        begun: Bools = units.terminating.copy()
        if being_evicted:
            begun |= np.array([pod.key in being_evicted for pod in units.pods], dtype=bool)
        self.pods: Ints = units.size - np.bincount(units.unit_of[begun], minlength=len(units))
        self.free = frozenset(potential.units[self.pods[potential.units] == 0].tolist())
        order, begins = units.by_unit
        self._starts: Ints = np.minimum.reduceat(units.starts[order], begins) if len(units) else units.starts
        # Plain integers, because most sets are small.
        self._criteria: dict[int, tuple[int, int, int, int]] = {}

    @property
    def protected(self) -> AbstractSet[int]:
        """Units with a pod that matches a disruption budget."""
        return self._protected.keys()

    def violations(self, numbers: Iterable[int]) -> int:
        """Return how many pods break a disruption budget if all units *numbers* are evicted."""
        protected = [number for number in numbers if number in self._protected] if self._protected else []
        if not protected:
            return 0
        protected = by_importance(protected, self._units)
        return sum(self._budgets.violations(self._protected[number] for number in protected))

    def key(self, numbers: Collection[int]) -> Key:
        """Return the cost of evicting all units *numbers*."""
        charged = sorted(number for number in numbers if number not in self.free)
        criteria = [self._criteria_of(number) for number in charged]
        violations = self.violations(charged)
        return (
            violations > 0,
            len(charged),
            sum(pods for pods, _, _, _ in criteria),
            max((priority for _, priority, _, _ in criteria), default=-NOW),
            sum(total for _, _, total, _ in criteria),
            max((age for _, _, _, age in criteria), default=-NOW),
            violations,
            tuple(-number for number in reversed(charged)),
        )

    def ranks(self, numbers: Ints) -> Ints:
        """Return the rank of each of *numbers* among them by its own cost; 0 is the cheapest."""
        order = np.lexsort((-numbers, -self._starts[numbers], self._units.priority[numbers], self.pods[numbers]))
        ranks: Ints = np.empty(len(numbers), dtype=np.int64)
        ranks[order] = np.arange(len(numbers))
        return ranks

    def priority_sums(self, numbers: Ints) -> Ints:
        """Return the sum of priorities of the pods of each of *numbers*, relative to the lowest priority of all."""
        priority = self._units.priority[numbers]
        sums: Ints = self.pods[numbers] * (priority - priority.min(initial=NOW))
        return sums

    def highest(self, numbers: Ints, chosen: Collection[int]) -> Ints:
        """Return those of *numbers* with at least the highest priority of *chosen*."""
        priority = self._units.priority
        result: Ints = numbers[priority[numbers] >= priority[list(chosen)].max()]
        return result

    def oldest(self, numbers: Ints, chosen: Collection[int]) -> Ints:
        """Return those of *numbers* with a higher priority than all of *chosen*, or at least as old as its oldest unit."""
        priority, start, indices = self._units.priority, self._starts, list(chosen)
        worse = (priority[numbers] > priority[indices].max()) | (start[numbers] <= start[indices].min())
        result: Ints = numbers[worse]
        return result

    def no_worse(self, one: int, other: int) -> bool:
        """Return whether *one* costs no more than *other* in every criterion, so that it can replace it in every plan."""
        if one in self._protected:
            return False
        left, right = (*self._criteria_of(one), -one), (*self._criteria_of(other), -other)
        return all(mine <= theirs for mine, theirs in zip(left, right, strict=True))

    def _criteria_of(self, number: int) -> tuple[int, int, int, int]:
        """Return the criteria of one unit: pods, priority, sum of priorities, age."""
        if (criteria := self._criteria.get(number)) is None:
            pods, priority = int(self.pods[number]), int(self._units.priority[number])
            criteria = self._criteria[number] = pods, priority, pods * (priority + _ABOVE_ZERO), -int(self._starts[number])
        return criteria


_ABOVE_ZERO = 2**31
"""Added to each priority in a sum, so that the sum grows with every victim."""
