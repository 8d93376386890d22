"""Sets of nodes by number: all of them, the domains of keys in these, and what several come to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.nodes import Nodes, NodeTable


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A set of nodes, as an array and as a set."""

    nodes: Nodes
    members: frozenset[int]


class Places:
    """Those that have been asked for; number 0 is all nodes, and of equal sets there is one."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._places: list[Place] = []
        self._by_nodes: dict[bytes, int] = {}
        self._divided: dict[tuple[int, str], dict[str, int]] = {}
        self._inside: dict[tuple[int, int], bool] = {}
        self.number(table.everything)

    def nodes(self, place: int) -> Nodes:
        """Its nodes, ascending."""
        return self._places[place].nodes

    def number(self, nodes: Nodes) -> int:
        """The number of a set of nodes."""
        at = nodes.tobytes()
        if at not in self._by_nodes:
            self._by_nodes[at] = len(self._places)
            self._places.append(Place(nodes, frozenset(nodes.tolist())))
        return self._by_nodes[at]

    def union(self, places: Iterable[int]) -> int:
        """All nodes of *places*."""
        several = sorted(set(places))
        return several[0] if len(several) == 1 else self.number(np.unique(np.concatenate([self._places[each].nodes for each in several])))

    def inside(self, one: int, other: int) -> bool:
        """Whether a place is part of another."""
        if one == other:
            return True
        if (found := self._inside.get((one, other))) is None:
            found = self._inside[one, other] = self._places[one].members <= self._places[other].members
        return found

    def divided(self, place: int, key: str) -> dict[str, int]:
        """The places of the values of *key* in a place; itself, by an empty value, where there is no key."""
        if not key:
            return {"": place}
        if (found := self._divided.get((place, key))) is None:
            column, nodes = self._table.column(key), self._places[place].nodes
            ids = column.ids[nodes]
            found = {column.values[value]: self.number(nodes[ids == value]) for value in np.unique(ids[ids >= 0]).tolist()}
            self._divided[place, key] = found
        return found
