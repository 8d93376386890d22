"""Numbered sets of nodes: all nodes, domains inside other sets, and unions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.nodes import Nodes, NodeTable


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeSet:
    """A set of nodes, as an ascending array and as a set."""

    nodes: Nodes
    members: frozenset[int]


class NodeSets:
    """Sets of nodes by number; equal sets have one number, and 0 is the set of all nodes."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._sets: list[NodeSet] = []
        self._by_nodes: dict[bytes, int] = {}
        self._domains: dict[tuple[int, str], dict[str, int]] = {}
        self._inside: dict[tuple[int, int], bool] = {}
        self.number(table.everything)

    def nodes(self, node_set: int) -> Nodes:
        """Return the nodes of *node_set*, ascending."""
        return self._sets[node_set].nodes

    def number(self, nodes: Nodes) -> int:
        """Return the number of the set *nodes*."""
        key = nodes.tobytes()
        if key not in self._by_nodes:
            self._by_nodes[key] = len(self._sets)
            self._sets.append(NodeSet(nodes, frozenset(nodes.tolist())))
        return self._by_nodes[key]

    def union(self, node_sets: Iterable[int]) -> int:
        """Return the union of *node_sets*."""
        numbers = sorted(set(node_sets))
        return numbers[0] if len(numbers) == 1 else self.number(np.unique(np.concatenate([self._sets[each].nodes for each in numbers])))

    def inside(self, one: int, other: int) -> bool:
        """Return whether *one* is a subset of *other*."""
        if one == other:
            return True
        if (result := self._inside.get((one, other))) is None:
            result = self._inside[one, other] = self._sets[one].members <= self._sets[other].members
        return result

    def domains_of(self, node_set: int, key: str) -> dict[str, int]:
        """Return the domains of *key* inside *node_set* by label value; *node_set* itself under an empty value if *key* is empty."""
        if not key:
            return {"": node_set}
        if (domains := self._domains.get((node_set, key))) is None:
            column, nodes = self._table.column(key), self._sets[node_set].nodes
            ids = column.ids[nodes]
            domains = {column.values[value]: self.number(nodes[ids == value]) for value in np.unique(ids[ids >= 0]).tolist()}
            self._domains[node_set, key] = domains
        return domains
