"""Placements: nested sets of nodes that a group can be confined to.

The root placement is all nodes.  A topology key divides a placement into domains, one for each value of that node label among
its own nodes; nodes without the label are in none (KEP-5732, Candidate Placement Generation).  Within its parent, a domain is
identified by its value alone: rack-1 of zone-1 and rack-1 of zone-2 differ only because their parents differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model.nodes import Ints, Nodes, NodeTable

_FEW = 3
"""Number of placements below which each is summed alone."""


class Placement:
    """A set of nodes.

    Attributes:
        serial: its number in the Topology, and in the ledger's array of versions.
        key: topology key of the domain; empty for the root and for generated placements.
        value: value of that label.
        nodes: indices, ascending.

    """

    __slots__ = ("divisions", "key", "nodes", "serial", "value")

    def __init__(self, serial: int, key: str, value: str, nodes: Nodes) -> None:
        self.serial = serial
        self.key = key
        self.value = value
        self.nodes = nodes
        self.divisions: dict[str, Division] = {}

    def __len__(self) -> int:
        return len(self.nodes)


class Division:
    """The domains of one key inside one placement, sorted by value.

    Attributes:
        domains: the placements; their serials are consecutive, the first is ``first``.
        rows: position of each value.
        members: shape (domains, largest domain): node indices padded with -1, for operations on all domains at once.
        capacities: shape (2, domains): allocatable millicores and bytes.

    """

    __slots__ = ("_capacities", "_patterns", "capacities", "domains", "first", "members", "rows")

    def __init__(self, domains: tuple[Placement, ...], first: int, allocatable: Ints) -> None:
        self.domains = domains
        self.first = first
        self.rows = {domain.value: row for row, domain in enumerate(domains)}
        sizes = np.array([len(domain) for domain in domains], dtype=np.int64)
        self.members: Nodes = np.full((len(domains), sizes.max(initial=0)), -1, dtype=np.int64)
        self.capacities = sums_over(allocatable[:2], [domain.nodes for domain in domains])
        if domains:
            nodes, begins = np.concatenate([domain.nodes for domain in domains]), sizes.cumsum() - sizes
            self.members[np.repeat(np.arange(len(domains)), sizes), np.arange(len(nodes)) - np.repeat(begins, sizes)] = nodes
        self._patterns: dict[str, list[bytes]] = {}
        self._capacities: list[tuple[int, int]] = [(cpu, memory) for cpu, memory in self.capacities.T.tolist()]

    def capacity(self, row: int) -> tuple[int, int]:
        """Return allocatable millicores and bytes of one domain."""
        return self._capacities[row]

    def patterns(self, key: str, ids: NDArray[np.int32]) -> list[bytes]:
        """Return for each domain a text that is equal for domains in which the nodes at the same positions share a value of *key*.

        *ids* are the values of the nodes, shape (all nodes,), -1 for none.
        """
        if (found := self._patterns.get(key)) is None:
            found = self._patterns[key] = []
            for domain in self.domains:
                first: dict[int, int] = {-1: -1}
                numbers = [first.setdefault(number, position) for position, number in enumerate(ids[domain.nodes].tolist())]
                found.append(np.array(numbers, dtype=np.int32).tobytes())
        return found


def sums_over(values: Ints, parts: Sequence[Nodes]) -> Ints:
    """Return the sums of *values*, shape (..., all nodes), over the nodes of each of *parts*; shape (..., parts)."""
    if len(parts) < _FEW:
        return np.array([values[..., nodes].sum(axis=-1) for nodes in parts], dtype=np.int64).reshape(-1, *values.shape[:-1]).T
    ends = np.cumsum([0, *map(len, parts)])
    running: Ints = np.zeros((*values.shape[:-1], ends[-1] + 1), dtype=np.int64)
    values[..., np.concatenate(parts)].cumsum(axis=-1, out=running[..., 1:])
    sums: Ints = np.diff(running[..., ends])
    return sums


class Topology:
    """All placements of a snapshot, created on first use."""

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes
        self.root = Placement(0, "", "", nodes.everything)
        self.count = 1
        self._first_divisions: dict[str, list[int]] = {}
        """By key: for each node, the serial of its domain in the first division by this key; 0 if none."""
        self._others: dict[int, list[int]] = {}
        """Other placements by node."""

    def divide(self, parent: Placement, key: str) -> Division:
        """Return the domains of *key* inside *parent*; none if no node of it has the label."""
        if (division := parent.divisions.get(key)) is None:
            division = parent.divisions[key] = self._divide(parent, key)
        return division

    def add(self, key: str, value: str, nodes: Nodes) -> Placement:
        """Add a placement of *nodes* (ascending)."""
        placement = self._new(key, value, nodes)
        self._add_to_nodes(placement)
        return placement

    def _new(self, key: str, value: str, nodes: Nodes) -> Placement:
        placement = Placement(self.count, key, value, nodes)
        self.count += 1
        return placement

    def _add_to_nodes(self, placement: Placement) -> None:
        for node in placement.nodes.tolist():
            self._others.setdefault(node, []).append(placement.serial)

    def placements_containing(self, nodes: list[int]) -> set[int]:
        """Return the serials of all placements that contain one of *nodes*."""
        if not nodes:
            return set()
        serials = {0}
        for domain_of in self._first_divisions.values():
            serials.update([domain_of[node] for node in nodes])
        if self._others:
            serials.update(*[self._others.get(node, ()) for node in nodes])
        return serials

    def _divide(self, parent: Placement, key: str) -> Division:
        column = self.nodes.column(key)
        ids = column.ids[parent.nodes]
        by_value = np.argsort(ids, kind="stable")
        ordered = ids[by_value]
        first = self.count
        domains: list[Placement] = []
        begins = np.flatnonzero(np.diff(ordered, prepend=-2))
        ends = np.append(begins, len(ordered))[1:]
        for value, begin, end in zip(ordered[begins].tolist(), begins.tolist(), ends.tolist(), strict=True):
            if value >= 0:
                domains.append(self._new(key, column.values[value], parent.nodes[by_value[begin:end]]))
        if key not in self._first_divisions:
            serials: Ints = np.zeros(len(self.nodes), dtype=np.int64)
            for domain in domains:
                serials[domain.nodes] = domain.serial
            self._first_divisions[key] = serials.tolist()
        else:
            for domain in domains:
                self._add_to_nodes(domain)
        return Division(tuple(domains), first, self.nodes.allocatable)
