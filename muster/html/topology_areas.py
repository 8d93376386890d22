"""Topology of a page: the nested areas of nodes, by the node labels that are the levels."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from muster.render.phrases import natural
from scheduler_core.model.names import Domain
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.topology_levels import levels
from scheduler_core.wording import nouns
from scheduler_core.wording.titles import domain_text


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Area:
    """Nodes of one domain.

    Attributes:
        number: its place among all areas of the page, the cluster first, parents before their parts.
        key: the topology key; empty for the whole cluster.
        value: the value of that label; None if the nodes lack it.
        nodes: indices in the natural order of their names, node-2 before node-10.
        parts: the areas inside it; none if it has only nodes.

    """

    number: int
    key: str
    value: str | None
    nodes: tuple[int, ...]
    parts: tuple[Area, ...]

    @property
    def title(self) -> str:
        """Return ``rack r1``, ``rack-1``, ``without rack``, ``all nodes``."""
        if not self.key:
            return "all nodes"
        return f"without {nouns.level(self.key)}" if self.value is None else domain_text(Domain(self.key, self.value))

    def walk(self) -> Iterator[Area]:
        """Yield the area and all areas inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()


def areas(nodes: NodeTable, keys: Sequence[str]) -> Area:
    """Return the whole cluster, divided by *keys*."""
    ordered = sorted(range(len(nodes)), key=lambda index: (natural(nodes.names[index]), nodes.names[index]))
    return _area(nodes, "", None, ordered, tuple(keys), itertools.count())


def _area(nodes: NodeTable, key: str, value: str | None, inside: list[int], keys: tuple[str, ...], numbers: Iterator[int]) -> Area:
    number = next(numbers)
    while keys:
        level, *rest = keys
        keys = tuple(rest)
        if divided := _divide(nodes, level, inside):
            parts = tuple(_area(nodes, level, each, members, keys, numbers) for each, members in divided)
            return Area(number, key, value, tuple(inside), parts)
    return Area(number, key, value, tuple(inside), ())


def _divide(nodes: NodeTable, key: str, inside: list[int]) -> list[tuple[str | None, list[int]]]:
    """Return the nodes by the value of a label, those without it last; nothing if none has it."""
    column = nodes.column(key)
    by_value: dict[int, list[int]] = {}
    for index in inside:
        by_value.setdefault(int(column.ids[index]), []).append(index)
    absent = by_value.pop(-1, None)
    if not by_value:
        return []
    named = sorted(((column.values[number], members) for number, members in by_value.items()), key=lambda each: (natural(each[0]), each[0]))
    return [*named, *([(None, absent)] if absent else [])]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class AreaMap:
    """A cluster and its areas.

    Attributes:
        nodes: the nodes.
        keys: the levels, widest first.
        whole: the area of all nodes.
        numbers: the number of each area by its nodes; of areas with the same nodes the innermost.

    """

    nodes: NodeTable
    keys: tuple[str, ...]
    whole: Area
    numbers: Mapping[bytes, int]

    @classmethod
    def from_nodes(cls, nodes: NodeTable, requested: Iterable[str]) -> AreaMap:
        """Return the areas of *nodes* by the topology keys *requested*."""
        keys = levels(nodes, requested)
        whole = areas(nodes, keys)
        return cls(nodes, keys, whole, {identity(each.nodes): each.number for each in whole.walk() if each.nodes})

    def find(self, key: str, value: str, names: Iterable[str]) -> int | None:
        """Return the number of the domain *value* of *key* with the first of the nodes *names*."""
        first = next((self.nodes.index[name] for name in names if name in self.nodes.index), None)
        for area in self.whole.walk():
            if area.key == key and area.value == value and (first is None or first in area.nodes):
                return area.number
        return None


def identity(nodes: Iterable[int]) -> bytes:
    """Return a key that identifies a set of nodes."""
    return np.array(sorted(nodes), dtype=np.int64).tobytes()
