"""Reprieve: units are put back one by one, as long as the proposed pods still fit on their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.pods import PodRecord, Port
from scheduler_core.plugins.node_ports import conflict
from scheduler_core.preemption.result import ChosenUnits, by_importance
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import PotentialVictims, Unit, Units

Proposed = Sequence[tuple[PodRecord, int]]
"""Pods of the preemptor with their nodes, as indices, in the order in which they were placed."""


class PodRelations(Protocol):
    """Relations between pods: required inter-pod affinity and anti-affinity, and hard topology spread.

    The selection of victims removes pods from them and puts pods back.
    """

    def may_affect(self, pods: Sequence[PodRecord], proposed: Proposed) -> bool:
        """Return whether running *pods* can change the result of filters for *proposed*; True if in doubt."""

    def move(self, pods: Sequence[PodRecord], *, away: bool) -> None:
        """Remove running *pods* from their nodes if *away*, else put them back."""

    def passes_filters(self, proposed: Proposed) -> bool:
        """Return whether *proposed* pass the filters one after the other, without the removed pods; changes nothing."""


class ReprieveCapacity:
    """Free amounts of the nodes of proposed pods, with these pods on them.

    Only resources that a proposed pod of the node requests are compared, as in NodeResourcesFit.

    Attributes:
        nodes: indices, ascending.

    """

    def __init__(self, proposed: Proposed, ledger: Ledger) -> None:
        wanted: dict[int, dict[int, int]] = {}
        self._ports: dict[int, list[Port]] = {}
        for pod, node in proposed:
            amounts = wanted.setdefault(node, {})
            for row, amount in pod.shape.requests:
                amounts[row] = amounts.get(row, 0) + amount
            if pod.shape.ports:
                self._ports.setdefault(node, []).extend(pod.shape.ports)
        self.nodes = sorted(wanted)
        taken = ledger.used[:, self.nodes] + ledger.held[:, self.nodes]
        free = (ledger.topology.nodes.allocatable[:, self.nodes] - taken).T.tolist()
        self._left = {
            node: {row: left[row] - amount for row, amount in wanted[node].items()} for node, left in zip(self.nodes, free, strict=True)
        }
        self._overfull = {node for node, left in self._left.items() if min(left.values()) < 0}

    @property
    def overfull(self) -> bool:
        """True if the proposed pods of some node do not fit together."""
        return bool(self._overfull)

    def admit(self, pods: Iterable[PodRecord]) -> bool:
        """Return whether *pods*, which ran on these nodes, fit next to the proposed pods; if so their resources are subtracted."""
        admitted: list[PodRecord] = []
        for pod in pods:
            if pod.node not in self._left:
                continue
            admitted.append(pod)
            if not self._charge(pod, 1):
                self.remove(admitted)
                return False
        return True

    def remove(self, pods: Iterable[PodRecord]) -> None:
        """Add the resources of admitted *pods* back."""
        for pod in pods:
            if pod.node in self._left:
                self._charge(pod, -1)

    def _charge(self, pod: PodRecord, sign: int) -> bool:
        left = self._left[pod.node]
        fits = pod.node not in self._overfull and not self._has_port_conflict(pod)
        for row, amount in pod.shape.charges:
            if row in left:
                left[row] -= sign * amount
                fits = fits and left[row] >= 0
        return fits

    def _has_port_conflict(self, pod: PodRecord) -> bool:
        return bool(pod.shape.ports) and conflict(pod.shape.ports, self._ports.get(pod.node, ()))


class AbsentPods:
    """Pods that are removed from the relations: at first all pods of the potential victims."""

    def __init__(self, units: Units, potential: PotentialVictims, relations: PodRelations) -> None:
        self.pods = [units.pods[index] for index in potential.pods.tolist()]
        self._relations = relations
        self._returned: set[str] = set()
        relations.move(self.pods, away=True)

    def try_return(self, unit: Unit, proposed: Proposed) -> bool:
        """Put *unit* back if the filters still pass *proposed*; return whether they do."""
        self._relations.move(unit.pods, away=False)
        if self._relations.passes_filters(proposed):
            self._returned.update(pod.key for pod in unit.pods)
            return True
        self._relations.move(unit.pods, away=True)
        return False

    def related_units(self, units: Units, potential: PotentialVictims, proposed: Proposed) -> Iterator[int]:
        """Yield the units of *potential* whose return can change the result of filters for *proposed*."""
        if self._relations.may_affect(self.pods, proposed):
            for number in potential.units.tolist():
                if self._relations.may_affect(units.unit(number).pods, proposed):
                    yield number

    def restore(self) -> None:
        """Put all pods back."""
        self._relations.move([pod for pod in self.pods if pod.key not in self._returned], away=False)


def reprieve(
    proposed: Proposed, units: Units, potential: PotentialVictims, budgets: DisruptionBudgets, ledger: Ledger, absent: AbsentPods
) -> ChosenUnits:
    """Return the units of *potential* that are not reprieved; the ledger has released all of them.

    Units that would break a budget are tried first, then the others, each in order of importance.  A unit without pods on the nodes of
    *proposed*, and without relations to it, is reprieved at once.  If the proposed pods do not fit together, no unit is reprieved.
    """
    capacity = ReprieveCapacity(proposed, ledger)
    related = set(absent.related_units(units, potential, proposed))
    if capacity.overfull:
        # Greedy can propose pods of a failed child together with those of a sibling.  They do not fit together, whatever is evicted.
        # kube-scheduler tests all of them for each unit, so it reprieves none.
        everyone = tuple(units.unit(number) for number in by_importance(potential.units.tolist(), units))
        return ChosenUnits(everyone, sum(budgets.violations_by_unit(units, potential).values()))
    tried = related | set(units.unit_of[potential.pods[np.isin(units.nodes[potential.pods], capacity.nodes)]].tolist())
    violations = budgets.violations_by_unit(units, potential)
    victims = []
    for number in sorted(by_importance(tried, units), key=lambda each: each not in violations):
        unit = units.unit(number)
        if capacity.admit(unit.pods):
            if number not in related or absent.try_return(unit, proposed):
                continue
            capacity.remove(unit.pods)
        victims.append(number)
    chosen = tuple(units.unit(number) for number in by_importance(victims, units))
    return ChosenUnits(chosen, sum(violations.get(number, 0) for number in victims))
