"""Costs of nodes by the victims on them, as kube-scheduler ranks them from 1.38 on (RankNodes of DefaultPreemption).

While a group is placed without its potential victims, only nodes of the least cost are scored for a pod.  A node costs the units that run
there, even if the pod would fit next to some of them.  Once a pod of the group is on one of its nodes, a unit costs nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.preemption.result import by_importance
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import PotentialVictims, Units

Cost = tuple[int, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
"""Pods that break a budget; priorities with their pods, the highest first; types and sizes of the units, the more important first."""


class NodeRanks:
    """Costs of nodes by the units of *potential*.

    Budgets are counted once, as if all of them were evicted in the order of their importance, as kube-scheduler counts them.
    """

    def __init__(self, units: Units, potential: PotentialVictims, budgets: DisruptionBudgets) -> None:
        self._units = units
        self._violations = budgets.violations_by_unit(units, potential)
        self._units_on: dict[int, list[int]] = {}
        order = {number: place for place, number in enumerate(by_importance(potential.units.tolist(), units))}
        pairs = {(int(units.nodes[pod]), int(units.unit_of[pod])) for pod in potential.pods.tolist()}
        for node, unit in sorted(pairs, key=lambda pair: (pair[0], order[pair[1]])):
            self._units_on.setdefault(node, []).append(unit)
        self._costs: dict[tuple[int, ...], Cost] = {}

    def cheapest(self, occupied: Sequence[int], nodes: Nodes) -> Bools:
        """Return which of *nodes* cost the least, if pods of the group are on the nodes *occupied*; shape (nodes,)."""
        condemned = {unit for node in occupied for unit in self._units_on.get(node, ())}
        costs = [self._cost(tuple(unit for unit in self._units_on.get(node, ()) if unit not in condemned)) for node in nodes.tolist()]
        least = min(costs)
        return np.array([cost == least for cost in costs], dtype=bool)

    def _cost(self, units: tuple[int, ...]) -> Cost:
        """Return the cost of *units*, the more important first.  A cost whose parts begin with those of another one is higher."""
        if (cost := self._costs.get(units)) is None:
            cost = self._costs[units] = self._compared(units)
        return cost

    def _compared(self, units: tuple[int, ...]) -> Cost:
        size, rank, priority = self._units.size, self._units.rank, self._units.priority
        pods: dict[int, int] = {}
        for unit in sorted(units, key=lambda unit: -priority[unit]):
            pods[int(priority[unit])] = pods.get(int(priority[unit]), 0) + int(size[unit])
        kinds = tuple((int(rank[unit]), int(size[unit])) for unit in sorted(units, key=lambda unit: int(self._units.positions[unit])))
        return sum(self._violations.get(unit, 0) for unit in units), tuple(pods.items()), kinds


class RankedNodes:
    """Ranks of nodes while one group is placed; *pods* is the number of pods on each node before, shape (nodes,)."""

    def __init__(self, ranks: NodeRanks, pods: Ints) -> None:
        self._ranks, self._before = ranks, pods

    def cheapest(self, pods: Ints, nodes: Nodes) -> Bools:
        """Return which of *nodes* cost the least; *pods* is the number of pods on each node now, shape (all nodes,)."""
        return self._ranks.cheapest(np.flatnonzero(pods > self._before).tolist(), nodes)
