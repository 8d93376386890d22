"""One pod on every node by itself: does it fit once all lower units are gone, and who comes back beside it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.node_ports import PORTS, conflict
from scheduler_core.plugins.noderesources import resource_reason
from scheduler_core.preemption.units.units import Units
from scheduler_core.preemption.units.units_by_node import UnitsByNode
from scheduler_core.preemption.victims.reprieve import Surroundings

NO_VICTIMS = "No preemption victims found for incoming pod"
RELATIONS = "node(s) didn't satisfy the pod's relations to other pods"


class DryRun:
    """A pod tried on nodes, each for itself.

    Attributes:
        nodes: where it fits once all lower units are gone, ascending.
        evicted: shape (pairs,): units that cannot stay on a node of ``nodes`` beside the pod.
        reasons: why not, for all other nodes that were tried; as kube-scheduler words it.

    """

    def __init__(self, pod: PodRecord, nodes: Nodes, units: Units, pairs: UnitsByNode, ledger: Ledger) -> None:
        self.evicted: Bools = np.zeros(len(pairs.unit), dtype=bool)
        self.reasons: Counter[str] = Counter()
        self._pod = pod
        self._units = units
        self._pairs = pairs
        self._ledger = ledger
        self._rows: Ints = np.array([row for row, _ in pod.shape.requests], dtype=np.int64)
        self._barred: Bools | None = pairs.clashes(pod.shape.ports) if pod.shape.ports else None
        touched = pairs.starts[nodes + 1] > pairs.starts[nodes]
        self.reasons[NO_VICTIMS] = int((~touched).sum())
        self.nodes, self._left = self._fitting(nodes[touched])

    def give_back(self) -> None:
        """Let units come back in order, on all nodes at once: first the first unit of each node, then the second, and so on."""
        pairs, left = self._pairs, self._left
        first = pairs.starts[self.nodes]
        count = pairs.starts[self.nodes + 1] - first
        for turn in range(int(count.max(initial=0))):
            at = np.flatnonzero(count > turn)
            pair = first[at] + turn
            need = pairs.need[self._rows[:, None], pair]
            stays = (need <= left[:, at]).all(axis=0)
            if self._barred is not None:
                stays &= ~self._barred[pair]
            left[:, at] -= need * stays
            self.evicted[pair[~stays]] = True

    def give_back_related(self, surroundings: Surroundings) -> None:
        """The same, node after node, where it matters who else runs; nodes where the pod may not stand at all are dropped."""
        able = [self._give_back_on(position, int(node), surroundings) for position, node in enumerate(self.nodes.tolist())]
        self.reasons[RELATIONS] = able.count(False)
        self.nodes = self.nodes[np.array(able, dtype=bool)]

    def _give_back_on(self, position: int, node: int, surroundings: Surroundings) -> bool:
        proposed = [(self._pod, node)]
        away = {pair: self._units.unit(int(self._pairs.unit[pair])).pods for pair in self._pairs.touching(node)}
        for pods in away.values():
            surroundings.move(pods, away=True)
        able = surroundings.passes_filters(proposed)
        if able:
            left = self._left[:, position]
            for pair, pods in list(away.items()):
                need = self._pairs.need[self._rows, pair]
                if (need <= left).all() and not (self._barred is not None and self._barred[pair]):
                    surroundings.move(pods, away=False)
                    if surroundings.passes_filters(proposed):
                        left -= need
                        del away[pair]
                        continue
                    surroundings.move(pods, away=True)
                self.evicted[pair] = True
        for pods in away.values():
            surroundings.move(pods, away=False)
        return able

    def _fitting(self, nodes: Nodes) -> tuple[Nodes, Ints]:
        """Those of *nodes* where the pod fits without the lower units, and what is free there beside it, by resource requested."""
        ledger, table, rows = self._ledger, self._ledger.topology.nodes, self._rows
        here = rows[:, None], nodes
        amounts = np.array([[amount] for _, amount in self._pod.shape.requests], dtype=np.int64)
        left = table.allocatable[here] - ledger.used[here] - ledger.held[here] + self._pairs.freed[here] - amounts
        fits = (left >= 0).all(axis=0)
        open_ports = self._open_ports(nodes)
        self.reasons[PORTS] = int((~open_ports).sum())
        for row, short in zip(rows.tolist(), left < 0, strict=True):
            self.reasons[resource_reason(table, row)] = int((short & open_ports).sum())
        fits &= open_ports
        return nodes[fits], left[:, fits]

    def _open_ports(self, nodes: Nodes) -> Bools:
        """Where the host's ports that the pod wants are free once the lower units are gone."""
        wanted = self._pod.shape.ports
        found: Bools = np.ones(len(nodes), dtype=bool)
        if wanted:
            for position, node in enumerate(nodes.tolist()):
                taken = Counter(self._ledger.ports.get(node, {}))
                for pair in self._pairs.touching(node):
                    for pod in self._units.unit(int(self._pairs.unit[pair])).pods:
                        if pod.node == node:
                            taken.subtract(pod.shape.ports)
                found[position] = not conflict(wanted, [port for port, count in taken.items() if count > 0])
        return found
