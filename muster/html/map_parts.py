"""Parts of the map: nested areas, and nodes as shelves or as lines."""

from __future__ import annotations

import dataclasses

from muster.html.heat_map import HeatMap
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
class Plot:
    """An area.

    Attributes:
        number: identifier for links.
        title: its name.
        size: number of nodes.
        totals: free amount of each resource.
        placed_groups: groups placed in it, shortened, with their number of pods.
        parts: the areas inside it.
        shelves: its nodes one by one, with pictures; empty if they are lines.
        lines: its nodes as lines of a table; empty if they are shelves.

    """

    number: int
    title: str
    size: str
    totals: tuple[str, ...]
    placed_groups: str
    parts: tuple[Plot, ...]
    shelves: tuple[Shelf, ...]
    lines: tuple[MapLine, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """The map.

    Attributes:
        plot: the cluster.
        levels: names of its levels, widest first.
        resources: resources shown, the scarcest first.
        kinds: kinds in the legend.
        as_shelves: True if nodes are drawn one by one.
        heat: the nodes as tiles.

    """

    plot: Plot
    levels: tuple[str, ...]
    resources: tuple[str, ...]
    kinds: tuple[str, ...]
    as_shelves: bool
    heat: HeatMap
