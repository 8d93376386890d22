"""Placements: nested sets of nodes that a group can be confined to.

The root placement is all nodes.  A topology key divides a placement into domains, one for each value of that node label among
its own nodes; nodes without the label are in none (KEP-5732, Candidate Placement Generation).  Within its parent, a domain is
identified by its value alone: rack-1 of zone-1 and rack-1 of zone-2 differ only because their parents differ.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes, NodeTable


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

    __slots__ = ("_capacities", "capacities", "domains", "first", "members", "rows")

    def __init__(self, domains: tuple[Placement, ...], first: int, allocatable: Ints) -> None:
        self.domains = domains
        self.first = first
        self.rows = {domain.value: row for row, domain in enumerate(domains)}
        self.capacities: Ints = np.array([allocatable[:2, domain.nodes].sum(axis=1) for domain in domains], dtype=np.int64).reshape(-1, 2).T
        self._capacities: list[tuple[int, int]] = [(cpu, memory) for cpu, memory in self.capacities.T.tolist()]
        self.members: Nodes = np.full((len(domains), max((len(domain) for domain in domains), default=0)), -1, dtype=np.int64)
        for row, domain in enumerate(domains):
            self.members[row, : len(domain)] = domain.nodes

    def capacity(self, row: int) -> tuple[int, int]:
        """Return allocatable millicores and bytes of one domain."""
        return self._capacities[row]


class Topology:
    """All placements of a snapshot, created on first use."""

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes
        self.root = Placement(0, "", "", nodes.everything)
        self.count = 1
        self._placements_of_node: list[list[int]] = [[0] for _ in range(len(nodes))]

    def divide(self, parent: Placement, key: str) -> Division:
        """Return the domains of *key* inside *parent*; none if no node of it has the label."""
        if (division := parent.divisions.get(key)) is None:
            division = parent.divisions[key] = self._divide(parent, key)
        return division

    def add(self, key: str, value: str, nodes: Nodes) -> Placement:
        """Add a placement of *nodes* (ascending)."""
        placement = Placement(self.count, key, value, nodes)
        self.count += 1
        for node in nodes.tolist():
            self._placements_of_node[node].append(placement.serial)
        return placement

    def placements_containing(self, nodes: list[int]) -> set[int]:
        """Return the serials of all placements that contain one of *nodes*."""
        placements = self._placements_of_node
        if len(nodes) == 1:
            return set(placements[nodes[0]])
        return set().union(*[placements[node] for node in nodes])

    def _divide(self, parent: Placement, key: str) -> Division:
        column = self.nodes.column(key)
        ids = column.ids[parent.nodes]
        by_value = np.argsort(ids, kind="stable")
        ordered = ids[by_value]
        first = self.count
        domains = []
        values, begins = np.unique(ordered, return_index=True)
        ends = np.append(begins, len(ordered))[1:]
        for value, begin, end in zip(values.tolist(), begins.tolist(), ends.tolist(), strict=True):
            if value >= 0:
                domains.append(self.add(key, column.values[value], parent.nodes[by_value[begin:end]]))
        return Division(tuple(domains), first, self.nodes.allocatable)
