"""DefaultPreemption of kube-scheduler 1.37.1: victims for a pod without a group, node by node.

On each node where eviction can help, all units with a lower priority are removed.  If the pod then fits, units are reprieved while it
still fits.  A group with disruption mode ``all`` is one victim with all its pods, on any node.  kube-scheduler tries a sample of nodes
and picks any of equally good ones; here all nodes are tried, and ties go to the first name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

import numpy as np

from scheduler_core.causes.attempts import FitError, PreemptionResult, ReasonCount, VictimsFound
from scheduler_core.causes.filter_reasons import FilterReason
from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.preemption.result import ChosenUnits, Preemption, by_importance, preemption_in_progress
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import PotentialVictims, Units
from scheduler_core.preemption.units.unit_order import NOW
from scheduler_core.preemption.units.units_by_node import UnitsByNode
from scheduler_core.preemption.victims.dry_run import NO_VICTIMS, DryRun
from scheduler_core.preemption.victims.reprieve import PodRelations

NOT_HELPFUL = "Preemption is not helpful for scheduling"
_ABOVE_ZERO = 2**31
"""Added to each priority in a sum, so that the sum grows with every victim."""


class PodPreemption:
    """Selects victims for pods without a group; data that no pod changes is computed once."""

    def __init__(self, units: Units, budgets: DisruptionBudgets, ledger: Ledger) -> None:
        self._units = units
        self._budgets = budgets
        self._ledger = ledger
        self._table = ledger.topology.nodes
        self._amounts = units.amounts(len(ledger.used))
        self._highest_priority, self._earliest_start, self._priority_sum = _unit_priorities(units)
        self._pairs: dict[int, UnitsByNode] = {}

    def select_victims(
        self, pod: PodRecord, nodes: Nodes, relations: PodRelations | None = None, being_evicted: AbstractSet[str] = frozenset()
    ) -> Preemption[None]:
        """Return the victims for *pod*, which does not fit.

        Args:
            pod: the preemptor, which has no group.
            nodes: indices of the nodes where it failed for a reason that eviction can resolve.
            relations: relations between pods, unchanged afterwards; None if no relation can affect *pod*.
            being_evicted: keys of pods whose eviction has begun although the snapshot does not show it.

        """
        if not pod.preempts:
            return Preemption(Status.UNSCHEDULABLE, PreemptionResult.NEVER)
        potential = self._units.potential_victims(pod.priority)
        nodes = np.unique(nodes)
        if pod.nominated in nodes.tolist() and preemption_in_progress([pod.nominated], self._units, potential, being_evicted):
            return Preemption(Status.UNSCHEDULABLE, PreemptionResult.POD_TERMINATING, nominations={pod.key: pod.nominated})
        pairs = self._pairs_of(potential)
        dry_run = DryRun(pod, nodes, self._units, pairs, self._ledger)
        if relations is None:
            dry_run.reprieve()
        else:
            dry_run.reprieve_with_relations(relations)
        best, numbers, violating = self._best(dry_run, pairs)
        if best < 0:
            dry_run.reasons[NO_VICTIMS] += len(dry_run.nodes)
            dry_run.reasons[NOT_HELPFUL] = len(self._table) - len(nodes)
            return Preemption(Status.UNSCHEDULABLE, self._fit_error(dry_run.reasons))
        chosen = ChosenUnits(tuple(self._units.unit(number) for number in by_importance(numbers, self._units)), violating)
        found = VictimsFound(chosen.count, self._table.names[best])
        return Preemption(Status.SUCCESS, found, *chosen.split(being_evicted), chosen.units, violating, {pod.key: best})

    def _pairs_of(self, potential: PotentialVictims) -> UnitsByNode:
        key = len(potential.units)
        if (pairs := self._pairs.get(key)) is None:
            pairs = self._pairs[key] = UnitsByNode(self._units, potential, self._budgets, self._amounts, len(self._table))
        return pairs

    def _best(self, dry_run: DryRun, pairs: UnitsByNode) -> tuple[int, list[int], int]:
        """Return the best node, its victims, and how many of their pods break a budget; node -1 if there are no victims."""
        victims = np.flatnonzero(dry_run.evicted)
        if not len(victims):
            return -1, [], 0
        nodes, position = np.unique(np.searchsorted(pairs.starts, victims, side="right") - 1, return_inverse=True)
        units = pairs.unit[victims]
        violations, total, count = (np.zeros(len(nodes), dtype=np.int64) for _ in range(3))
        np.add.at(violations, position, pairs.violations[victims])
        np.add.at(total, position, self._priority_sum[units])
        np.add.at(count, position, self._units.size[units])
        highest: Ints = np.full(len(nodes), -NOW, dtype=np.int64)
        np.maximum.at(highest, position, self._highest_priority[units])
        since: Ints = np.full(len(nodes), NOW, dtype=np.int64)
        topmost = self._highest_priority[units] == highest[position]
        np.minimum.at(since, position[topmost], self._earliest_start[units[topmost]])
        best = int(np.lexsort((nodes, -since, count, total, highest, violations))[0])
        return int(nodes[best]), units[position == best].tolist(), int(violations[best])

    def _fit_error(self, reasons: Counter[FilterReason]) -> FitError:
        present = (ReasonCount(reason, count) for reason, count in reasons.items() if count)
        return FitError(len(self._table), tuple(sorted(present, key=lambda each: f"{each.nodes} {_known_by(each.message)}")))


def _known_by(reason: FilterReason) -> str:
    return reason if isinstance(reason, str) else reason.key


def _unit_priorities(units: Units) -> tuple[Ints, Ints, Ints]:
    """Return for each unit the highest priority of its pods, the earliest start of a pod of that priority, and the sum of priorities.

    These are priorities of pods, as in kube-scheduler; the priority of a unit is that of its root.
    """
    order, starts = units.by_unit
    own = np.array([pod.priority for pod in units.pods], dtype=np.int64)[order]
    if not len(own):
        return own, own, own
    top = np.maximum.reduceat(own, starts)
    since = np.where(own == np.repeat(top, units.size), units.starts[order], NOW)
    return top, np.minimum.reduceat(since, starts), np.add.reduceat(own + _ABOVE_ZERO, starts)
