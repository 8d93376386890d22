"""Units and their nodes as arrays, for the dry run of a single pod on every node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import Port
from scheduler_core.plugins.node_ports import conflict
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import PotentialVictims, Units


class UnitsByNode:
    """Pairs of a potential victim and a node with pods of it; ordered by node, then by the order of reprieve.

    Attributes:
        unit: shape (pairs,).
        starts: shape (nodes + 1,): index of the first pair of each node, and the number of pairs.
        amounts: shape (resources, pairs): resources that the unit uses on the node.
        freed: shape (resources, nodes): resources that all these units use on the node.
        violations: shape (pairs,): pods of the unit, on any node, whose eviction breaks a budget if only the units on this node
            are evicted.

    """

    def __init__(self, units: Units, potential: PotentialVictims, budgets: DisruptionBudgets, amounts: Ints, nodes: int) -> None:
        self._units = units
        self._potential = potential
        pair_keys = units.nodes[potential.pods] * len(units) + units.unit_of[potential.pods]
        keys, self._pair_of = np.unique(pair_keys, return_inverse=True)
        self._number_pairs(keys // max(len(units), 1), keys % max(len(units), 1), budgets, nodes)
        self.amounts: Ints = np.zeros((len(amounts), len(keys)), dtype=np.int64)
        for row, each in enumerate(self.amounts):
            np.add.at(each, self._pair_of, amounts[row, potential.pods])
        self.freed: Ints = np.zeros((len(amounts), nodes), dtype=np.int64)
        for row, each in enumerate(self.freed):
            np.add.at(each, units.nodes[potential.pods], amounts[row, potential.pods])

    def pairs_on(self, node: int) -> range:
        """Return the pairs of *node*."""
        return range(int(self.starts[node]), int(self.starts[node + 1]))

    def port_conflicts(self, ports: Sequence[Port]) -> Bools:
        """Return the pairs whose unit uses one of the host *ports* on the node, as a mask; shape (pairs,)."""
        mask: Bools = np.zeros(len(self.unit), dtype=bool)
        for index, pair in zip(self._potential.pods.tolist(), self._pair_of.tolist(), strict=True):
            taken = self._units.pods[index].shape.ports
            mask[pair] |= bool(taken) and conflict(ports, taken)
        return mask

    def _number_pairs(self, node: Nodes, unit: Ints, budgets: DisruptionBudgets, nodes: int) -> None:
        """Number the pairs: by node, units that break a budget first, then by importance."""
        positions = self._units.positions[unit]
        violations = self._count_violations(node, unit, np.lexsort((positions, node)), budgets)
        order = np.lexsort((positions, violations == 0, node))
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        self._pair_of = number[self._pair_of]
        self.unit = unit[order]
        self.violations = violations[order]
        self.starts: Ints = np.searchsorted(node[order], np.arange(nodes + 1))

    def _count_violations(self, node: Nodes, unit: Ints, order: Ints, budgets: DisruptionBudgets) -> Ints:
        violations: Ints = np.zeros(len(unit), dtype=np.int64)
        protected = budgets.protected_pods(self._units, self._potential)
        order = order[np.isin(unit[order], list(protected))]
        _, begins = np.unique(node[order], return_index=True)
        for pairs in np.split(order, begins[1:]):
            violations[pairs] = budgets.violations(protected[number] for number in unit[pairs].tolist())
        return violations
