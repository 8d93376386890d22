"""Parts of the map: nested areas, and nodes as shelves or as cells."""

from __future__ import annotations

import dataclasses

from muster.html.svg import Stroke


@dataclasses.dataclass(frozen=True, slots=True)
class Meter:
    """A resource of a node in a picture; *shape* is ``squares`` or ``bar``."""

    name: str
    resource: str
    shape: str
    width: int
    height: int
    strokes: tuple[Stroke, ...]
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """Something about a node, in words; *kind* is a state, or ``closed``."""

    kind: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Shelf:
    """A node by itself; its pods each by name, what it is to this simulation, and what it takes."""

    name: str
    meters: tuple[Meter, ...]
    notes: tuple[Note, ...]
    facts: tuple[tuple[str, str], ...]
    pods: tuple[tuple[str, str, str], ...]
    more: int


@dataclasses.dataclass(frozen=True, slots=True)
class MapLine:
    """A node in a table."""

    name: str
    amounts: tuple[str, ...]
    notes: tuple[Note, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Cells:
    """Nodes as cells: a picture for each resource, and a table with the same nodes in the same order."""

    columns: int
    width: int
    height: int
    pictures: tuple[tuple[Stroke, ...], ...]
    lines: tuple[MapLine, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class CapacityNote:
    """For how many pods of a root that is not placed there is room, and whether that is all it needs."""

    text: str
    enough: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Plot:
    """An area.

    Attributes:
        number: for links to it.
        title: what it is.
        size: how many nodes.
        totals: what is free, for each resource.
        capacities: number of pods that fit in it, for each root that is not placed.
        placed_groups: groups placed in it, shortened, with their number of pods.
        parts: the areas inside it.
        shelves: its nodes one by one, or
        cells: all in a picture.

    """

    number: int
    title: str
    size: str
    totals: tuple[str, ...]
    capacities: tuple[CapacityNote, ...]
    placed_groups: str
    parts: tuple[Plot, ...]
    shelves: tuple[Shelf, ...]
    cells: Cells | None


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """The map.

    Attributes:
        plot: the cluster.
        levels: what its levels are called, widest first.
        resources: what is shown, the scarcest first.
        kinds: what the legend explains.
        as_shelves: whether nodes are drawn one by one.

    """

    plot: Plot
    levels: tuple[str, ...]
    resources: tuple[str, ...]
    kinds: tuple[str, ...]
    as_shelves: bool
