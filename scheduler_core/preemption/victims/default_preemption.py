"""Whom a pod without a group makes leave: DefaultPreemption of kube-scheduler 1.37.1, node by node.

On each node where eviction could help, the units of a lower priority that touch it leave; if the pod then fits, those come back
beside which it still fits.  A group of disruption mode ``all`` is one victim with all its pods, wherever they run.  All nodes
are looked at, and of equally good ones the first by name is taken, where upstream looks at a sample and takes any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

import numpy as np

from scheduler_core.model.decision import Status
from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.preemption.result import NEVER, ChosenUnits, Preemption, awaited, by_importance
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.unit_order import NOW
from scheduler_core.preemption.units.units import Below, Units
from scheduler_core.preemption.units.units_by_node import UnitsByNode
from scheduler_core.preemption.victims.dry_run import NO_VICTIMS, DryRun
from scheduler_core.preemption.victims.reprieve import Surroundings

ONGOING = "not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL = "Preemption is not helpful for scheduling"
_ABOVE_ZERO = 2**31
"""Added to each priority in a sum, so that with every victim the sum grows."""


class PodPreemption:
    """Chooses victims for pods without a group, one pod at a time; what depends on no pod is worked out once."""

    def __init__(self, units: Units, budgets: DisruptionBudgets, ledger: Ledger) -> None:
        self._units = units
        self._budgets = budgets
        self._ledger = ledger
        self._table = ledger.topology.nodes
        self._amounts = units.amounts(len(ledger.used))
        self._top, self._since, self._sum = _worth(units)
        self._pairs: dict[int, UnitsByNode] = {}

    def select_victims(
        self, pod: PodRecord, nodes: Nodes, surroundings: Surroundings | None = None, leaving: AbstractSet[str] = frozenset()
    ) -> Preemption[None]:
        """Whom *pod*, which does not fit, makes leave.

        Args:
            pod: the preemptor, which has no group.
            nodes: indices of the nodes where it failed for a reason that eviction can remove.
            surroundings: the relations between pods, the same afterwards; None where none can make a difference to *pod*.
            leaving: keys of pods that are on their way although the snapshot does not say so.

        """
        if not pod.preempts:
            return Preemption(Status.UNSCHEDULABLE, NEVER)
        below = self._units.below(pod.priority)
        nodes = np.unique(nodes)
        if pod.nominated in nodes.tolist() and awaited([pod.nominated], self._units, below, leaving):
            return Preemption(Status.UNSCHEDULABLE, ONGOING, nominations={pod.key: pod.nominated})
        pairs = self._pairs_of(below)
        attempt = DryRun(pod, nodes, self._units, pairs, self._ledger)
        if surroundings is None:
            attempt.give_back()
        else:
            attempt.give_back_related(surroundings)
        best, numbers, violating = self._best(attempt, pairs)
        if best < 0:
            attempt.reasons[NO_VICTIMS] += len(attempt.nodes)
            attempt.reasons[NOT_HELPFUL] = len(self._table) - len(nodes)
            return Preemption(Status.UNSCHEDULABLE, self._why(attempt.reasons))
        chosen = ChosenUnits(tuple(self._units.unit(number) for number in by_importance(numbers, self._units)), violating)
        message = f"found a potential placement for pod on node {self._table.names[best]}, preempting {chosen.count} victims"
        return Preemption(Status.SUCCESS, message, *chosen.split(leaving), chosen.units, violating, {pod.key: best})

    def _pairs_of(self, below: Below) -> UnitsByNode:
        key = len(below.units)
        if (found := self._pairs.get(key)) is None:
            found = self._pairs[key] = UnitsByNode(self._units, below, self._budgets, self._amounts, len(self._table))
        return found

    def _best(self, attempt: DryRun, pairs: UnitsByNode) -> tuple[int, list[int], int]:
        """The node to take, the units that leave, and how many of their pods break a budget; -1 where nobody could leave."""
        victims = np.flatnonzero(attempt.evicted)
        if not len(victims):
            return -1, [], 0
        nodes, at = np.unique(np.searchsorted(pairs.starts, victims, side="right") - 1, return_inverse=True)
        units = pairs.unit[victims]
        violations, total, count = (np.zeros(len(nodes), dtype=np.int64) for _ in range(3))
        np.add.at(violations, at, pairs.breaches[victims])
        np.add.at(total, at, self._sum[units])
        np.add.at(count, at, self._units.size[units])
        highest: Ints = np.full(len(nodes), -NOW, dtype=np.int64)
        np.maximum.at(highest, at, self._top[units])
        since: Ints = np.full(len(nodes), NOW, dtype=np.int64)
        topmost = self._top[units] == highest[at]
        np.minimum.at(since, at[topmost], self._since[units[topmost]])
        best = int(np.lexsort((nodes, -since, count, total, highest, violations))[0])
        return int(nodes[best]), units[at == best].tolist(), int(violations[best])

    def _why(self, reasons: Counter[str]) -> str:
        lines = sorted(f"{count} {reason}" for reason, count in reasons.items() if count)
        return f"0/{len(self._table)} nodes are available: {', '.join(lines)}."


def _worth(units: Units) -> tuple[Ints, Ints, Ints]:
    """Of each unit: the highest priority of its pods, when the first of those of that priority started, and the sum of all.

    These are the pods' own priorities, as upstream takes them here; the unit's is that of its root.
    """
    order, starts = units.by_unit
    own = np.array([pod.priority for pod in units.pods], dtype=np.int64)[order]
    if not len(own):
        return own, own, own
    top = np.maximum.reduceat(own, starts)
    since = np.where(own == np.repeat(top, units.size), units.starts[order], NOW)
    return top, np.minimum.reduceat(since, starts), np.add.reduceat(own + _ABOVE_ZERO, starts)
