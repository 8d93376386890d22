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
    """A note about a node; *kind* is a state, or ``closed``."""

    kind: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Shelf:
    """A node; its pods have a name, a state and requests."""

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
    """Capacity for the pods of a root that is not placed, and whether it is enough."""

    text: str
    enough: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Plot:
    """An area.

    Attributes:
        number: identifier for links.
        title: its name.
        size: number of nodes.
        totals: free amount of each resource.
        capacities: number of pods that fit in it, for each root that is not placed.
        placed_groups: groups placed in it, shortened, with their number of pods.
        parts: the areas inside it.
        shelves: its nodes one by one; empty if they are drawn as cells.
        cells: its nodes in one picture; None if they are drawn as shelves.

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
        levels: names of its levels, widest first.
        resources: resources shown, the scarcest first.
        kinds: kinds in the legend.
        as_shelves: True if nodes are drawn one by one.

    """

    plot: Plot
    levels: tuple[str, ...]
    resources: tuple[str, ...]
    kinds: tuple[str, ...]
    as_shelves: bool
