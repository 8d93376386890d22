"""Disruption budgets: which victims would break one.

Budgets are best effort: a victim that breaks one is tried first for a reprieve, and may leave all the same.  Counted as
kube-scheduler 1.37.1 does: budgets are used up in the order of the victims, group by group and pod by pod; a pod counts once, at
the first budget of its that has nothing left, and what budgets come after that one are not charged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler_core.model.pods import PodRecord
from scheduler_core.model.selectors import Clauses, admits, compiled
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.preemption.units.units import Below, Units


class DisruptionBudgets:
    """The PodDisruptionBudgets of a snapshot, and which pods they are about."""

    def __init__(self, budgets: Iterable[DisruptionBudget]) -> None:
        self._budgets = sorted(budgets, key=lambda budget: (budget.namespace, budget.name))
        self._clauses: list[Clauses] = []
        self._namespaces: dict[str, list[int]] = {}
        for index, budget in enumerate(self._budgets):
            clauses = compiled(budget.selector) or ()
            self._clauses.append(clauses)
            # Upstream's peculiarity: a selector that is absent or empty matches no pod.
            if clauses:
                self._namespaces.setdefault(budget.namespace, []).append(index)
        self._keys = {namespace: sorted(self._asked(found)) for namespace, found in self._namespaces.items()}
        self._found: dict[tuple[str, tuple[str | None, ...]], tuple[int, ...]] = {}

    def __bool__(self) -> bool:
        """Whether any pod could be in one."""
        return bool(self._namespaces)

    def guarded(self, units: Units, below: Below) -> dict[int, list[PodRecord]]:
        """The pods of *below* that a budget counts, by unit."""
        found: dict[int, list[PodRecord]] = {}
        if self:
            for index, number in zip(below.pods.tolist(), units.unit_of[below.pods].tolist(), strict=True):
                if self._guarding(units.pods[index]):
                    found.setdefault(number, []).append(units.pods[index])
        return found

    def breaches(self, victims: Iterable[Sequence[PodRecord]]) -> list[int]:
        """For each victim, the more important first: how many of its pods break a budget when they leave in this order.

        Pods that no budget counts may be left out.
        """
        left = [budget.allowed for budget in self._budgets]
        return [sum(self._breaks(pod, left) for pod in pods) for pods in victims]

    def _breaks(self, pod: PodRecord, left: list[int]) -> bool:
        for index in self._guarding(pod):
            # Whose eviction the API server has counted already is not counted again.
            if pod.name not in self._budgets[index].disrupted:
                left[index] -= 1
                if left[index] < 0:
                    return True
        return False

    def _guarding(self, pod: PodRecord) -> tuple[int, ...]:
        """The budgets that match *pod*, whether or not its eviction is counted already; looked up once for pods alike."""
        indices = self._namespaces.get(pod.namespace)
        if indices is None or not pod.labels:
            return ()
        key = (pod.namespace, tuple(pod.labels.get(each) for each in self._keys[pod.namespace]))
        if (found := self._found.get(key)) is None:
            found = self._found[key] = tuple(index for index in indices if admits(self._clauses[index], pod.labels))
        return found

    def _asked(self, indices: Iterable[int]) -> set[str]:
        """Labels that the budgets look at: pods that agree in them are matched alike."""
        return {clause.key for index in indices for clause in self._clauses[index]}
