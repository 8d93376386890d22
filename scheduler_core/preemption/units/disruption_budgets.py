"""Disruption budgets: victims whose eviction breaks one.

Budgets are best effort: a unit that breaks one is reprieved first, but can still be a victim.  They are counted as in kube-scheduler.
Budgets are charged in the order of the victims, group by group and pod by pod.  A pod counts at most once, at its first budget
with no disruption left, and its later budgets are not charged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.selector_index import SelectorIndex
from scheduler_core.model.selectors import Clauses, admits, compiled
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.preemption.units.preemption_units import PotentialVictims, Units


class DisruptionBudgets:
    """PodDisruptionBudgets of a snapshot, and the pods that they match."""

    def __init__(self, budgets: Iterable[DisruptionBudget], behavior: SchedulerBehavior = KUBERNETES_1_37) -> None:
        """Index *budgets*; *behavior* is that of the kube-scheduler that is mirrored."""
        self._protects_all = behavior.protects_by_empty_selector
        self._budgets = sorted(budgets, key=lambda budget: (budget.namespace, budget.name))
        self._clauses: list[Clauses] = []
        self._index = SelectorIndex()
        self._namespaces: dict[str, list[int]] = {}
        for index, budget in enumerate(self._budgets):
            clauses = compiled(budget.selector)
            if not clauses and not self._protects_all:
                # As in kube-scheduler, an empty selector matches no pod.
                clauses = None
            self._clauses.append(clauses or ())
            # An absent selector matches no pod in any version.
            self._index.add(clauses, budget.namespace)
            if clauses is not None:
                self._namespaces.setdefault(budget.namespace, []).append(index)
        self._keys = {namespace: self._label_keys(indices) for namespace, indices in self._namespaces.items()}
        self._matches: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[int, ...]] = {}

    def __bool__(self) -> bool:
        """Return whether any pod can match a budget."""
        return bool(self._namespaces)

    def protected_pods(self, units: Units, potential: PotentialVictims) -> dict[int, list[PodRecord]]:
        """Return the pods of *potential* that match a budget, by unit."""
        protected: dict[int, list[PodRecord]] = {}
        if self:
            for index, number in zip(potential.pods.tolist(), units.unit_of[potential.pods].tolist(), strict=True):
                if self._matching_budgets(units.pods[index]):
                    protected.setdefault(number, []).append(units.pods[index])
        return protected

    def violations(self, victims: Iterable[Sequence[PodRecord]]) -> list[int]:
        """Return for each victim, in the order of importance, how many of its pods break a budget.

        Pods that match no budget can be left out.
        """
        left = [budget.allowed for budget in self._budgets]
        return [sum(self._violates(pod, left) for pod in pods) for pods in victims]

    def violations_by_unit(self, units: Units, potential: PotentialVictims) -> dict[int, int]:
        """Return the number of pods of each unit of *potential* that break a budget, if not zero; reprieved units are charged too."""
        protected = self.protected_pods(units, potential)
        order = sorted(protected, key=lambda number: int(units.positions[number]))
        counts = self.violations(protected[number] for number in order)
        return {number: count for number, count in zip(order, counts, strict=True) if count}

    def budgets_of(self, pod: PodRecord) -> tuple[DisruptionBudget, ...]:
        """Return the budgets that match *pod*, in the order of their names."""
        return tuple(self._budgets[index] for index in self._matching_budgets(pod))

    def _violates(self, pod: PodRecord, left: list[int]) -> bool:
        for index in self._matching_budgets(pod):
            # The API server has already counted the eviction of a disrupted pod.
            if pod.name not in self._budgets[index].disrupted:
                left[index] -= 1
                if left[index] < 0:
                    return True
        return False

    def _matching_budgets(self, pod: PodRecord) -> tuple[int, ...]:
        """Return the budgets that match *pod*; cached by the labels that budgets select."""
        keys = self._keys.get(pod.namespace)
        if keys is None or (not pod.labels and not self._protects_all):
            return ()
        key = (pod.namespace, tuple(sorted((each, pod.labels[each]) for each in keys & pod.labels.keys())))
        if (matches := self._matches.get(key)) is None:
            candidates = self._index.candidates(pod.namespace, pod.labels)
            matches = self._matches[key] = tuple(index for index in candidates if admits(self._clauses[index], pod.labels))
        return matches

    def _label_keys(self, indices: Iterable[int]) -> set[str]:
        """Return the label keys that budgets select: pods with equal values match the same budgets."""
        return {clause.key for index in indices for clause in self._clauses[index]}
