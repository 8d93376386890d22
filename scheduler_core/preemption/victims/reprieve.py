"""Who may stay after all: units are given back one by one, as long as the proposed pods still fit on their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.pods import PodRecord, Port
from scheduler_core.plugins.node_ports import conflict
from scheduler_core.preemption.result import ChosenUnits, by_importance
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.units import Below, Unit, Units

Proposed = Sequence[tuple[PodRecord, int]]
"""Pods of the preemptor, each with its node (an index), in the order in which they were placed."""


class Surroundings(Protocol):
    """What pods have to do with each other: required inter-pod affinity and anti-affinity, hard topology spread.

    The choice of victims tells it who is away, and asks.
    """

    def matter(self, pods: Sequence[PodRecord], proposed: Proposed) -> bool:
        """Whether it can make a difference to *proposed* that *pods* run where they do; True where in doubt."""

    def move(self, pods: Sequence[PodRecord], *, away: bool) -> None:
        """*pods*, which run, leave their nodes, or are back on them."""

    def passes_filters(self, proposed: Proposed) -> bool:
        """Whether *proposed* may stand on their nodes, one after the other, among those who are not away; leaves no trace."""


class ReprieveRoom:
    """What is free on the nodes of proposed pods while they are on them.

    Only resources that a proposed pod of the node requests are looked at, as NodeResourcesFit does.

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
        """Whether the proposed pods of some node do not fit together."""
        return bool(self._overfull)

    def admit(self, pods: Iterable[PodRecord]) -> bool:
        """Whether *pods*, which ran there, find room beside the proposed ones; if so they take it."""
        admitted: list[PodRecord] = []
        for pod in pods:
            if pod.node not in self._left:
                continue
            admitted.append(pod)
            if not self._take(pod, 1):
                self.dismiss(admitted)
                return False
        return True

    def dismiss(self, pods: Iterable[PodRecord]) -> None:
        """Take back that *pods* were admitted."""
        for pod in pods:
            if pod.node in self._left:
                self._take(pod, -1)

    def _take(self, pod: PodRecord, sign: int) -> bool:
        left = self._left[pod.node]
        fits = pod.node not in self._overfull and not self._clashes(pod)
        for row, amount in pod.shape.requests:
            if row in left:
                left[row] -= sign * amount
                fits = fits and left[row] >= 0
        return fits

    def _clashes(self, pod: PodRecord) -> bool:
        return bool(pod.shape.ports) and conflict(pod.shape.ports, self._ports.get(pod.node, ()))


class AbsentPods:
    """Who is away from the surroundings: at first all pods of *below*."""

    def __init__(self, units: Units, below: Below, surroundings: Surroundings) -> None:
        self.pods = [units.pods[index] for index in below.pods.tolist()]
        self._surroundings = surroundings
        self._back: set[str] = set()
        surroundings.move(self.pods, away=True)

    def returns(self, unit: Unit, proposed: Proposed) -> bool:
        """Whether *unit* may come back among *proposed*; if so it is back."""
        self._surroundings.move(unit.pods, away=False)
        if self._surroundings.passes_filters(proposed):
            self._back.update(pod.key for pod in unit.pods)
            return True
        self._surroundings.move(unit.pods, away=True)
        return False

    def concerned(self, units: Units, below: Below, proposed: Proposed) -> Iterator[int]:
        """The units of *below* whose coming back can make a difference to *proposed*."""
        if self._surroundings.matter(self.pods, proposed):
            for number in below.units.tolist():
                if self._surroundings.matter(units.unit(number).pods, proposed):
                    yield number

    def end(self) -> None:
        """All are back."""
        self._surroundings.move([pod for pod in self.pods if pod.key not in self._back], away=False)


def reprieve(proposed: Proposed, units: Units, below: Below, budgets: DisruptionBudgets, ledger: Ledger, absent: AbsentPods) -> ChosenUnits:
    """Who of *below*, all of whom the ledger has released, cannot come back.

    Nobody can where the proposed pods do not even fit among themselves.  Units that would break a budget are tried before the others, each kind in order of importance.  A unit that is on no node
    of a proposed pod, and has nothing else to do with one, is back without a look.
    """
    room = ReprieveRoom(proposed, ledger)
    concerned = set(absent.concerned(units, below, proposed))
    if room.overfull:
        # Pods of a child that failed may have been proposed beside those of a sibling.  Together they fit nowhere, whoever leaves, and
        # as upstream looks at all of them each time, nobody is let back.
        everyone = tuple(units.unit(number) for number in by_importance(below.units.tolist(), units))
        return ChosenUnits(everyone, sum(_breaches(units, below, budgets).values()))
    tried = concerned | set(units.unit_of[below.pods[np.isin(units.nodes[below.pods], room.nodes)]].tolist())
    breaches = _breaches(units, below, budgets)
    victims = []
    for number in sorted(by_importance(tried, units), key=lambda each: each not in breaches):
        unit = units.unit(number)
        if room.admit(unit.pods):
            if number not in concerned or absent.returns(unit, proposed):
                continue
            room.dismiss(unit.pods)
        victims.append(number)
    chosen = tuple(units.unit(number) for number in by_importance(victims, units))
    return ChosenUnits(chosen, sum(breaches.get(number, 0) for number in victims))


def _breaches(units: Units, below: Below, budgets: DisruptionBudgets) -> dict[int, int]:
    """How many pods of each unit would break a budget, where any would.  Those that come back have used up budgets too."""
    guarded = budgets.guarded(units, below)
    order = by_importance(guarded, units)
    counts = budgets.breaches(guarded[number] for number in order)
    return {number: count for number, count in zip(order, counts, strict=True) if count}
