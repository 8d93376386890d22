"""Dry run of preemption for one pod on every node: remove all lower units, then reprieve units while the pod fits."""

from __future__ import annotations

from collections import Counter

import numpy as np

from scheduler_core.causes.filter_reasons import FilterReason, RelationsUnmet
from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.node_ports import PORTS, conflict
from scheduler_core.plugins.noderesources import resource_reason
from scheduler_core.preemption.units.preemption_units import Units
from scheduler_core.preemption.units.units_by_node import UnitsByNode
from scheduler_core.preemption.victims.reprieve import PodRelations

NO_VICTIMS = "No preemption victims found for incoming pod"


class DryRun:
    """A pod on several nodes, each independent of the others.

    Attributes:
        nodes: nodes where the pod fits without the lower units, ascending.
        evicted: shape (pairs,): True for units that are not reprieved on a node of ``nodes``.
        reasons: number of the other nodes, by kube-scheduler's reason.

    """

    def __init__(self, pod: PodRecord, nodes: Nodes, units: Units, pairs: UnitsByNode, ledger: Ledger) -> None:
        self.evicted: Bools = np.zeros(len(pairs.unit), dtype=bool)
        self.reasons: Counter[FilterReason] = Counter()
        self._pod = pod
        self._units = units
        self._pairs = pairs
        self._ledger = ledger
        self._rows: Ints = np.array([row for row, _ in pod.shape.requests], dtype=np.int64)
        self._port_conflicts: Bools | None = pairs.port_conflicts(pod.shape.ports) if pod.shape.ports else None
        touched = pairs.starts[nodes + 1] > pairs.starts[nodes]
        self.reasons[NO_VICTIMS] = int((~touched).sum())
        self.nodes, self._left = self._feasible_nodes(nodes[touched])

    def reprieve(self) -> None:
        """Reprieve units in order, on all nodes at once: the first unit of each node, then the second, and so on."""
        pairs, left = self._pairs, self._left
        first = pairs.starts[self.nodes]
        count = pairs.starts[self.nodes + 1] - first
        for step in range(int(count.max(initial=0))):
            positions = np.flatnonzero(count > step)
            pair = first[positions] + step
            need = pairs.amounts[self._rows[:, None], pair]
            reprieved = (need <= left[:, positions]).all(axis=0)
            if self._port_conflicts is not None:
                reprieved &= ~self._port_conflicts[pair]
            left[:, positions] -= need * reprieved
            self.evicted[pair[~reprieved]] = True

    def reprieve_with_relations(self, relations: PodRelations) -> None:
        """Do the same node by node, with relations between pods; nodes where these refuse the pod are dropped."""
        fits = [self._reprieve_on(position, int(node), relations) for position, node in enumerate(self.nodes.tolist())]
        self.reasons[RelationsUnmet()] = fits.count(False)
        self.nodes = self.nodes[np.array(fits, dtype=bool)]

    def _reprieve_on(self, position: int, node: int, relations: PodRelations) -> bool:
        proposed = [(self._pod, node)]
        removed = {pair: self._units.unit(int(self._pairs.unit[pair])).pods for pair in self._pairs.pairs_on(node)}
        for pods in removed.values():
            relations.move(pods, away=True)
        fits = relations.passes_filters(proposed)
        if fits:
            left = self._left[:, position]
            for pair, pods in list(removed.items()):
                need = self._pairs.amounts[self._rows, pair]
                if (need <= left).all() and not (self._port_conflicts is not None and self._port_conflicts[pair]):
                    relations.move(pods, away=False)
                    if relations.passes_filters(proposed):
                        left -= need
                        del removed[pair]
                        continue
                    relations.move(pods, away=True)
                self.evicted[pair] = True
        for pods in removed.values():
            relations.move(pods, away=False)
        return fits

    def _feasible_nodes(self, nodes: Nodes) -> tuple[Nodes, Ints]:
        """Return the nodes where the pod fits without the lower units, and the free amounts there, by requested resource."""
        ledger, table, rows = self._ledger, self._ledger.topology.nodes, self._rows
        index = rows[:, None], nodes
        amounts = np.array([[amount] for _, amount in self._pod.shape.requests], dtype=np.int64)
        left = table.allocatable[index] - ledger.used[index] - ledger.held[index] + self._pairs.freed[index] - amounts
        fits = (left >= 0).all(axis=0)
        open_ports = self._free_ports(nodes)
        self.reasons[PORTS] = int((~open_ports).sum())
        for row, short in zip(rows.tolist(), left < 0, strict=True):
            self.reasons[resource_reason(table, row)] = int((short & open_ports).sum())
        fits &= open_ports
        return nodes[fits], left[:, fits]

    def _free_ports(self, nodes: Nodes) -> Bools:
        """Return the nodes where the pod's host ports are free without the lower units, as a mask; shape (nodes,)."""
        wanted = self._pod.shape.ports
        mask: Bools = np.ones(len(nodes), dtype=bool)
        if wanted:
            for position, node in enumerate(nodes.tolist()):
                taken = Counter(self._ledger.ports.get(node, {}))
                for pair in self._pairs.pairs_on(node):
                    for pod in self._units.unit(int(self._pairs.unit[pair])).pods:
                        if pod.node == node:
                            taken.subtract(pod.shape.ports)
                mask[position] = not conflict(wanted, [port for port, count in taken.items() if count > 0])
        return mask
