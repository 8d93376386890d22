"""Pods one by one, each with every filter and score: for pods that are not equal, or whose node depends on other pods.

The order of work is kube-scheduler's: filter, score and normalise over the feasible nodes of the placement, take the best, of
equal ones the first by name.  A pod's nominated node is taken without scoring where it fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape, Port
from scheduler_core.placement.equal_pods_normalized import bonus_of
from scheduler_core.plugins.noderesources import Floats, ladder
from scheduler_core.plugins.pod_relations import PodRelations
from scheduler_core.plugins.static_filters import StaticFilters

INTER_POD_WEIGHT = 2
_ANY = "0.0.0.0"  # noqa: S104 - how core/v1 writes "every address of the host", not a socket


class PodByPod:
    """A placement while pods are put on it; the ledger is left as it is, the relations are told."""

    def __init__(self, fit: StaticFilters, ledger: Ledger, relations: PodRelations, room: Floats, nodes: Nodes) -> None:
        self._fit = fit
        self._ledger = ledger
        self._relations = relations
        self._nodes = nodes
        self._room = room[:, nodes]
        self._used = ledger.used[:, nodes]
        self._scored = ledger.scored[:, nodes]
        self._free = fit.nodes.allocatable[:, nodes] - self._used
        self._ports: dict[int, Counter[Port]] = {}

    def place(self, pod: PodRecord) -> int:
        """The node that *pod* gets (its index), which it then takes; -1 if there is none."""
        feasible = self.able(pod).nonzero()[0]
        if not len(feasible):
            return -1
        position = self._nominated(pod, feasible)
        if position < 0:
            position = int(feasible[self._scores(pod, feasible).argmax()])
        self._take(pod, position)
        return int(self._nodes[position])

    def able(self, pod: PodRecord) -> Bools:
        """Which nodes of the placement *pod* may have now."""
        static = self._fit.static(pod.shape)
        free = self._free[static.rows]
        if self._ledger.holding:
            free = free - self._ledger.held[static.rows][:, self._nodes]
        able: Bools = np.array((free >= static.amounts).all(axis=0))
        if static.mask is not None:
            able &= static.mask[self._nodes]
        if pod.shape.ports:
            able &= self.free_ports(pod.shape)
        if self._relations.touches(pod):
            if self._fit.refused(self._relations.unmodelled(pod)):
                able[:] = False
            for _, mask in self._relations.filter(pod, self._nodes):
                able &= mask
        return able

    def free_ports(self, shape: PodShape) -> Bools:
        """Where all ports of the host that *shape* wants are free."""
        free: Bools = np.ones(len(self._nodes), dtype=bool)
        for position, node in enumerate(self._nodes.tolist()):
            taken = [*self._ledger.ports.get(node, ()), *self._ports.get(node, ())]
            if taken and conflict(shape.ports, taken):
                free[position] = False
        return free

    def _nominated(self, pod: PodRecord, feasible: Ints) -> int:
        if pod.nominated < 0:
            return -1
        found = feasible[self._nodes[feasible] == pod.nominated]
        return int(found[0]) if len(found) else -1

    def _scores(self, pod: PodRecord, feasible: Ints) -> Ints:
        static, shape = self._fit.static(pod.shape), pod.shape
        scores = ladder(shape, self._room[:, feasible], self._scored[:, feasible], self._used[:2, feasible], 1)[:, 0]
        nodes = self._nodes[feasible]
        if not static.plain:
            scores = scores + bonus_of(static, nodes)
        if self._relations.touches(pod):
            scores = scores + INTER_POD_WEIGHT * self._relations.normalise(self._relations.score(pod, nodes))
        return scores

    def _take(self, pod: PodRecord, position: int) -> None:
        for row, amount in pod.shape.requests:
            self._used[row, position] += amount
            self._free[row, position] -= amount
        self._scored[:, position] += pod.shape.scored
        node = int(self._nodes[position])
        if pod.shape.ports:
            self._ports.setdefault(node, Counter()).update(pod.shape.ports)
        self._relations.assume(pod, node)


def conflict(wanted: Sequence[Port], taken: Sequence[Port]) -> bool:
    """Whether a port is wanted that is taken: the same protocol and number, on the same address or on all of them."""
    return any(
        protocol == other[0] and port == other[2] and (address == other[1] or _ANY in (address, other[1]))
        for protocol, address, port in wanted
        for other in taken
    )
