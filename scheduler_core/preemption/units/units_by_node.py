"""Units and the nodes they touch, in arrays: what one pod's preemption looks at, node by node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import Port
from scheduler_core.plugins.node_ports import conflict
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.units import Below, Units


class UnitsByNode:
    """Each unit of some priority or lower with each node that it touches; by node, and there in the order in which it may come back.

    Attributes:
        unit: shape (pairs,).
        starts: shape (nodes + 1,): where the pairs of each node begin, and the end.
        need: shape (resources, pairs): what the unit takes on the node.
        freed: shape (resources, nodes): what all of them take there.
        breaches: shape (pairs,): pods of the unit, on any node, whose eviction breaks a budget if only the units that
            touch this node leave.

    """

    def __init__(self, units: Units, below: Below, budgets: DisruptionBudgets, amounts: Ints, nodes: int) -> None:
        self._units = units
        self._below = below
        where = units.nodes[below.pods] * len(units) + units.unit_of[below.pods]
        keys, self._pair_of = np.unique(where, return_inverse=True)
        self._place(keys // max(len(units), 1), keys % max(len(units), 1), budgets, nodes)
        self.need: Ints = np.zeros((len(amounts), len(keys)), dtype=np.int64)
        for row, each in enumerate(self.need):
            np.add.at(each, self._pair_of, amounts[row, below.pods])
        self.freed: Ints = np.zeros((len(amounts), nodes), dtype=np.int64)
        for row, each in enumerate(self.freed):
            np.add.at(each, units.nodes[below.pods], amounts[row, below.pods])

    def touching(self, node: int) -> range:
        """The pairs of *node*."""
        return range(int(self.starts[node]), int(self.starts[node + 1]))

    def clashes(self, ports: Sequence[Port]) -> Bools:
        """Shape (pairs,): where a pod of the unit has one of *ports* on the node."""
        found: Bools = np.zeros(len(self.unit), dtype=bool)
        for index, pair in zip(self._below.pods.tolist(), self._pair_of.tolist(), strict=True):
            taken = self._units.pods[index].shape.ports
            found[pair] |= bool(taken) and conflict(ports, taken)
        return found

    def _place(self, node: Nodes, unit: Ints, budgets: DisruptionBudgets, nodes: int) -> None:
        """Number the pairs: by node, those that break a budget first, then by importance."""
        positions = self._units.positions[unit]
        breaches = self._breaches(node, unit, np.lexsort((positions, node)), budgets)
        order = np.lexsort((positions, breaches == 0, node))
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        self._pair_of = number[self._pair_of]
        self.unit = unit[order]
        self.breaches = breaches[order]
        self.starts: Ints = np.searchsorted(node[order], np.arange(nodes + 1))

    def _breaches(self, node: Nodes, unit: Ints, order: Ints, budgets: DisruptionBudgets) -> Ints:
        found: Ints = np.zeros(len(unit), dtype=np.int64)
        guarded = budgets.guarded(self._units, self._below)
        order = order[np.isin(unit[order], list(guarded))]
        _, begins = np.unique(node[order], return_index=True)
        for pairs in np.split(order, begins[1:]):
            found[pairs] = budgets.breaches(guarded[number] for number in unit[pairs].tolist())
        return found
