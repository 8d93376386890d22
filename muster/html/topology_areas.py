"""Topology of a page: the node labels that are its levels, and their nested areas of nodes."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from muster.render.phrases import natural
from scheduler_core.diagnosis import phrases
from scheduler_core.model.nodes import NodeTable

KNOWN = (
    *("region", "zone", "datacenter", "room", "row", "block", "gce-topology-block", "network-node-layer-1"),
    *("subblock", "gce-topology-subblock", "network-node-layer-2", "rack", "network-node-layer-3"),
)
"""Last parts of label keys for the location of a machine, as clouds and operators name them."""
LEGACY = "failure-domain.beta.kubernetes.io/"
"""Prefix of the keys for zone and region before 1.17, which exist in addition to the new ones."""
HOSTNAME = "kubernetes.io/hostname"


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
        noun = phrases.level(self.key)
        if self.value is None:
            return f"without {noun}"
        # block-1 names its level, also with a key that ends in gce-topology-block.
        return self.value if self.value.startswith(noun.rpartition("-")[2]) else f"{noun} {self.value}"

    def walk(self) -> Iterator[Area]:
        """Yield the area and all areas inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()


def levels(nodes: NodeTable, requested: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of the levels, widest first: *requested*, and well-known keys that nest with them.

    Keys without nodes, keys that divide the nodes like another key, and keys with a value for each node are omitted.
    """
    selected: list[str] = []
    for key in sorted({key for key in requested if key and key != HOSTNAME and nodes.column(key).values}):
        if not any(_contains(nodes, other, key) and _contains(nodes, key, other) for other in selected):
            selected.append(key)
    for key in _known(nodes):
        apart = len(nodes.column(key).values) >= max(len(nodes), 2)
        if key not in selected and not apart and all(_goes_with(nodes, key, other) for other in selected):
            selected.append(key)
    ordered: list[str] = []
    for key in sorted(selected, key=lambda key: (_rank(key), len(nodes.column(key).values), key)):
        inner = (place for place, other in enumerate(ordered) if _contains(nodes, key, other))
        ordered.insert(next(inner, len(ordered)), key)
    return tuple(ordered)


def _known(nodes: NodeTable) -> list[str]:
    keys = {key for labels in nodes.labels for key in labels}
    return sorted((key for key in keys if _rank(key) < len(KNOWN) and not key.startswith(LEGACY)), key=lambda key: (_rank(key), key))


def _rank(key: str) -> int:
    """Return the rank of a topology key by its name, the widest level first; unknown names are last."""
    last = key.rpartition("/")[2]
    return KNOWN.index(last) if last in KNOWN else len(KNOWN)


def _goes_with(nodes: NodeTable, known: str, other: str) -> bool:
    """Return whether one level is inside the other; if the values do not show it, the names of the keys do."""
    within, around = _contains(nodes, other, known), _contains(nodes, known, other)
    return within != around or (not within and _rank(other) not in {_rank(known), len(KNOWN)})


def _contains(nodes: NodeTable, outer: str, inner: str) -> bool:
    """Return whether each domain of *inner* is in one domain of *outer*."""
    wide, narrow = nodes.column(outer), nodes.column(inner)
    labelled = narrow.ids >= 0
    around, within = wide.ids[labelled], narrow.ids[labelled]
    some_of = np.full(len(narrow.values), -1, dtype=np.int64)
    some_of[within] = around
    return bool((around >= 0).all() and (some_of[within] == around).all())


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
