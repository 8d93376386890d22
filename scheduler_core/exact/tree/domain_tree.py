"""Nested domains as a tree: a placement, the domains of the widest key in it, and so on to the narrowest key.

Cells are numbered; cell 0 is the placement.  Each domain that a group can get inside a cell is a cell, or has the same nodes as that
cell.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_core.exact.tree.measures import Amounts, Measures
from scheduler_core.model.nodes import Ints, Nodes, NodeTable

Structure = tuple[int, bytes, tuple["Structure", ...]]
"""Level of a cell, its free amounts, and the sorted structures of the cells inside it."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One cell.

    Attributes:
        level: 0 for the placement, then the index of the key from wide to narrow.
        parent: the next wider cell; cell 0 is its own parent.
        above: all cells that contain the cell, from itself to cell 0.
        free: free amounts by measure.
        nodes: indices, ascending.

    """

    level: int
    parent: int
    above: tuple[int, ...]
    free: Amounts
    nodes: Nodes


class DomainTree:
    """Cells of *keys*, from wide to narrow, in the nodes of one placement."""

    def __init__(self, nodes: Nodes, keys: Sequence[str], table: NodeTable, measures: Measures) -> None:
        self._table = table
        self._measures = measures
        self._levels = {key: level for level, key in enumerate(keys, start=1)}
        self._keys = ("", *keys)
        whole = tuple(measures.free[:, nodes].sum(axis=1).tolist())
        self.cells = [Cell(0, 0, (0,), whole, nodes)]
        owners: Ints = np.zeros(len(nodes), dtype=np.int64)
        for level, key in enumerate(keys, start=1):
            owners = self._divide(level, key, owners)
        self._below: list[list[int]] = [[] for _ in self.cells]
        for number, cell in enumerate(self.cells[1:], start=1):
            self._below[cell.parent].append(number)
        self._narrowest = owners
        self._inside: dict[tuple[int, int], tuple[int, ...]] = {}
        self._classes: dict[int, int] = {}
        self._structures: dict[int, Structure] = {}
        self._numbers: dict[Structure, int] = {}

    def level(self, key: str) -> int:
        """Return the level of the domains of *key*; 0 for an empty key."""
        return self._levels[key] if key else 0

    def inside(self, cell: int, key: str) -> tuple[int, ...]:
        """Return the domains of *key* in *cell*, in the order of their names; *cell* itself if *key* does not divide it."""
        level = self.level(key)
        if level <= self.cells[cell].level:
            return (cell,)
        if (cells := self._inside.get((cell, level))) is None:
            cells = self._inside[cell, level] = tuple(sorted(self._cells_at_level(cell, level)))
        return cells

    def holding(self, cell: int, key: str, nodes: Iterable[int]) -> tuple[int, ...]:
        """Return the cells of ``inside`` whose label all *nodes* have; none if the labels of *nodes* differ or are missing."""
        ids = self._table.column(key).ids
        values = {int(ids[node]) for node in nodes}
        if len(values) > 1 or -1 in values:
            return ()
        return tuple(each for each in self.inside(cell, key) if int(ids[self.cells[each].nodes[0]]) in values)

    def cells_containing(self, nodes: Iterable[int]) -> frozenset[int]:
        """Return the cells that contain one of *nodes*."""
        inside = np.isin(self.cells[0].nodes, np.fromiter(nodes, dtype=np.int64))
        owners = set(self._narrowest[inside].tolist())
        return frozenset(each for owner in owners for each in self.cells[owner].above)

    def value(self, cell: int, key: str) -> str:
        """Return the value of the label *key* that all nodes of *cell* have."""
        column = self._table.column(key)
        return column.values[int(column.ids[self.cells[cell].nodes[0]])]

    def symmetry_class(self, cell: int) -> int:
        """Return a number that is equal for cells of equal structure."""
        if (number := self._classes.get(cell)) is None:
            number = self._classes[cell] = self._numbers.setdefault(self._structure(cell), len(self._numbers))
        return number

    def _structure(self, cell: int) -> Structure:
        if (structure := self._structures.get(cell)) is None:
            each = self.cells[cell]
            # For a single shape only the number of slots matters.
            amounts = repr(each.free).encode() if self._measures.single else _sorted_columns(self._measures.free[:, each.nodes])
            below = sorted(self._structure(number) for number in self._below[cell])
            structure = self._structures[cell] = each.level, amounts, tuple(below)
        return structure

    def _cells_at_level(self, cell: int, level: int) -> list[int]:
        if self.cells[cell].level == level:
            return [cell]
        return [number for each in self._below[cell] for number in self._cells_at_level(each, level)]

    def _divide(self, level: int, key: str, owners: Ints) -> Ints:
        """Add the cells of the next level; return the cell of each node, the wider one if the node lacks the label."""
        nodes = self.cells[0].nodes
        ids = self._table.column(key).ids[nodes]
        order = np.argsort(ids, kind="stable")
        order = order[int((ids < 0).sum()) :]
        if not len(order):
            return owners
        begins = np.flatnonzero(np.diff(ids[order], prepend=-1))
        free = np.add.reduceat(self._measures.free[:, nodes[order]], begins, axis=1).T.tolist()
        owners = owners.copy()
        for begin, end, amounts in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], free, strict=True):
            members = order[begin:end]
            parent = int(owners[members[0]])
            number = len(self.cells)
            self.cells.append(Cell(level, parent, (number, *self.cells[parent].above), tuple(amounts), nodes[members]))
            owners[members] = number
        return owners


def _sorted_columns(columns: Ints) -> bytes:
    return columns[:, np.lexsort(columns)].tobytes()


def nested(keys: Iterable[str], nodes: Nodes, table: NodeTable) -> tuple[str, ...] | None:
    """Return *keys* from wide to narrow if their domains in *nodes* are nested; else None."""
    columns = {key: table.column(key).ids[nodes] for key in keys}
    counts = {key: (-int((ids >= 0).sum()), len(np.unique(ids)), key) for key, ids in columns.items()}
    ordered = tuple(sorted(counts, key=counts.__getitem__))
    for wide, narrow in itertools.pairwise(ordered):
        labelled = columns[narrow] >= 0
        inner, outer = columns[narrow][labelled], columns[wide][labelled]
        if (outer < 0).any() or len(np.unique(inner)) != len(np.unique(inner.astype(np.int64) * (len(table) + 1) + outer)):
            return None
    return ordered
