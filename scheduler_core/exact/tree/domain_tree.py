"""Domains that lie one inside the other, as a tree: a placement, the domains of the widest key in it, and so on down.

Cells are numbered, 0 is the placement itself.  Every domain that a group of the tree can have in a domain of another is a cell, or
the same nodes as that other domain.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_core.exact.tree.measures import Amounts, Measures
from scheduler_core.model.nodes import Ints, Nodes, NodeTable

Structure = tuple[int, bytes, tuple["Structure", ...]]
"""The level of a cell, what is free in it, and the structures of the cells in it, sorted."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One of them.

    Attributes:
        level: 0 for the whole placement, then by the keys from wide to narrow.
        parent: the next wider cell; of the whole itself.
        above: all cells that contain it, itself first, the whole last.
        room: what is free in it, by measure.
        nodes: indices, ascending.

    """

    level: int
    parent: int
    above: tuple[int, ...]
    room: Amounts
    nodes: Nodes


class DomainTree:
    """The cells of *keys*, from wide to narrow, in the nodes of one placement."""

    def __init__(self, nodes: Nodes, keys: Sequence[str], table: NodeTable, measures: Measures) -> None:
        self._table = table
        self._measures = measures
        self._levels = {key: level for level, key in enumerate(keys, start=1)}
        self._keys = ("", *keys)
        whole = tuple(measures.everywhere[:, nodes].sum(axis=1).tolist())
        self.cells = [Cell(0, 0, (0,), whole, nodes)]
        owners: Ints = np.zeros(len(nodes), dtype=np.int64)
        for level, key in enumerate(keys, start=1):
            owners = self._divide(level, key, owners)
        self._below: list[list[int]] = [[] for _ in self.cells]
        for number, cell in enumerate(self.cells[1:], start=1):
            self._below[cell.parent].append(number)
        self._narrowest = owners
        self._inside: dict[tuple[int, int], tuple[int, ...]] = {}
        self._looks: dict[int, int] = {}
        self._structures: dict[int, Structure] = {}
        self._numbers: dict[Structure, int] = {}

    def level(self, key: str) -> int:
        """The level of the domains of *key*; 0 where there is none."""
        return self._levels[key] if key else 0

    def inside(self, cell: int, key: str) -> tuple[int, ...]:
        """The domains of *key* in *cell*, by name; *cell* itself where *key* does not divide it."""
        level = self.level(key)
        if level <= self.cells[cell].level:
            return (cell,)
        if (found := self._inside.get((cell, level))) is None:
            found = self._inside[cell, level] = tuple(sorted(self._at(cell, level)))
        return found

    def holding(self, cell: int, key: str, nodes: Iterable[int]) -> tuple[int, ...]:
        """Of ``inside`` the one whose label all *nodes* have, wherever they are; none if they have several, or none."""
        ids = self._table.column(key).ids
        values = {int(ids[node]) for node in nodes}
        if len(values) > 1 or -1 in values:
            return ()
        return tuple(each for each in self.inside(cell, key) if int(ids[self.cells[each].nodes[0]]) in values)

    def cells_containing(self, nodes: Iterable[int]) -> frozenset[int]:
        """The cells that contain one of *nodes*."""
        there = np.isin(self.cells[0].nodes, np.fromiter(nodes, dtype=np.int64))
        owners = set(self._narrowest[there].tolist())
        return frozenset(each for owner in owners for each in self.cells[owner].above)

    def value(self, cell: int, key: str) -> str:
        """The value of the label *key* that all nodes of *cell* have."""
        column = self._table.column(key)
        return column.values[int(column.ids[self.cells[cell].nodes[0]])]

    def symmetry_class(self, cell: int) -> int:
        """Equal for cells that differ in names only."""
        if (found := self._looks.get(cell)) is None:
            found = self._looks[cell] = self._numbers.setdefault(self._structure(cell), len(self._numbers))
        return found

    def _structure(self, cell: int) -> Structure:
        if (found := self._structures.get(cell)) is None:
            each = self.cells[cell]
            # Of pods of one shape only the number matters.
            free = repr(each.room).encode() if self._measures.single else _sorted(self._measures.everywhere[:, each.nodes])
            below = sorted(self._structure(number) for number in self._below[cell])
            found = self._structures[cell] = each.level, free, tuple(below)
        return found

    def _at(self, cell: int, level: int) -> list[int]:
        if self.cells[cell].level == level:
            return [cell]
        return [found for each in self._below[cell] for found in self._at(each, level)]

    def _divide(self, level: int, key: str, owners: Ints) -> Ints:
        """Cells of the next level; returns the number of each node's cell, that of the wider one where it has no such label."""
        nodes = self.cells[0].nodes
        ids = self._table.column(key).ids[nodes]
        order = np.argsort(ids, kind="stable")
        order = order[int((ids < 0).sum()) :]
        if not len(order):
            return owners
        begins = np.flatnonzero(np.diff(ids[order], prepend=-1))
        rooms = np.add.reduceat(self._measures.everywhere[:, nodes[order]], begins, axis=1).T.tolist()
        owners = owners.copy()
        for begin, end, room in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], rooms, strict=True):
            members = order[begin:end]
            parent = int(owners[members[0]])
            number = len(self.cells)
            self.cells.append(Cell(level, parent, (number, *self.cells[parent].above), tuple(room), nodes[members]))
            owners[members] = number
        return owners


def _sorted(columns: Ints) -> bytes:
    return columns[:, np.lexsort(columns)].tobytes()


def nested(keys: Iterable[str], nodes: Nodes, table: NodeTable) -> tuple[str, ...] | None:
    """*keys* from wide to narrow, each of their domains in *nodes* inside one of the next wider; None if they are not so."""
    columns = {key: table.column(key).ids[nodes] for key in keys}
    counts = {key: (-int((ids >= 0).sum()), len(np.unique(ids)), key) for key, ids in columns.items()}
    found = tuple(sorted(counts, key=counts.__getitem__))
    for wide, narrow in itertools.pairwise(found):
        there = columns[narrow] >= 0
        inner, outer = columns[narrow][there], columns[wide][there]
        if (outer < 0).any() or len(np.unique(inner)) != len(np.unique(inner.astype(np.int64) * (len(table) + 1) + outer)):
            return None
    return found
