"""NodePorts: two pods on one node cannot use the same host port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Bools, Nodes
from scheduler_core.model.pods import PodShape, Port
from scheduler_core.plugins.base import ClusterEvent, Filters, LedgerPlugin

PORTS = "node(s) didn't have free ports for the requested pod ports"
_ANY = "0.0.0.0"  # noqa: S104 - core/v1 for "every address of the host", not a socket


class NodePorts(LedgerPlugin):
    """Host ports in use or reserved by the pods in the ledger, and by pods added since."""

    name = "NodePorts"
    events = frozenset({ClusterEvent.NODE, ClusterEvent.ROOM})

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._added: dict[int, Counter[Port]] = {}

    @classmethod
    def touches(cls, shape: PodShape) -> bool:
        """Return whether *shape* has a host port."""
        return bool(shape.ports)

    def filters(self, shape: PodShape, nodes: Nodes) -> Filters:
        """Return one filter if *shape* has a host port."""
        return [(PORTS, self.free(shape, nodes))] if shape.ports else []

    def free(self, shape: PodShape, nodes: Nodes) -> Bools:
        """Return the nodes where all host ports of *shape* are free; shape of *nodes*."""
        free: Bools = np.ones(len(nodes), dtype=bool)
        for taken in (self.ledger.ports, self._added):
            for position, node in enumerate(nodes.tolist()):
                if node in taken and conflict(shape.ports, taken[node]):
                    free[position] = False
        return free

    def add_pod(self, shape: PodShape, node: int) -> None:
        """Record the host ports of *shape* on *node*."""
        if shape.ports:
            self._added.setdefault(node, Counter()).update(shape.ports)


def conflict(wanted: Iterable[Port], taken: Iterable[Port]) -> bool:
    """Return whether a wanted port is taken: same protocol and number, on the same address or on all addresses."""
    return any(
        protocol == other[0] and port == other[2] and (address == other[1] or _ANY in (address, other[1]))
        for protocol, address, port in wanted
        for other in taken
    )
