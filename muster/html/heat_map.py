"""Heat map of a page: a tile for each node, grouped by domain, coloured by the used share of a resource.

The tiles flow like words, so that the map fits its width.  The size of a tile is chosen for several widths of the window such that
the whole map fits on one screen.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from muster.html.placed_pods import FinalPlacement, State
from muster.html.topology_areas import Area
from scheduler_core.model.nodes import Ints

NO_RESOURCE, FULL, EMPTY = "n", "f", "a"
"""Levels of a tile: a node without the resource, nothing free, nothing used; ``b`` to ``e`` are quarters between them."""
_QUARTERS = "bcde"
RESOURCES = "rstu"
"""First letter of the level of each resource: ``rc`` is a node with 25 to 50 % of the first resource used."""
CLOSED, WITHOUT = "closed", "without"
_MARKS = ((State.VICTIM, "leaves"), (State.NOMINATED, "comes"), (State.PLACED, "new"))
MOST_GROUPS, MOST_LABELS = 400, 120
"""Limits of groups of tiles (with more, they are of a wider level), and of groups with a label."""
SCREENS = ((0, 326, 500), (600, 560, 500), (900, 840, 500), (1200, 800, 500), (1600, 1200, 620), (1900, 1390, 720))
"""Least width of the window, and width and height that the map can have there, in pixels."""
INDEX = (1200, 310)
"""Least width of the window with the index beside the map, and the width that the map has in addition without an index."""
_LARGEST_TILE, _LEAST_TILE = 26, 2
_SHAPES = (2, 1, 4)
"""Ratios of width and height of a group, in the order of preference."""
_WORTH = 0.7
"""Groups have labels, or gaps, if the tiles are then not smaller than this part."""
_WIDE_SHARE, _WIDE = 8, 100
"""A group with an eighth of the nodes, and at least so many, has the full width."""
_LABEL, _LEAST_LABELLED, _GAP, _NARROW_GAP, _FRAME = 17, 64, 8, 4, 8
"""Pixels, as in the stylesheet: height of a label, least width of a group with one, gap between groups with and without label, frame."""
_LEVELS = 8
"""Limit of levels that are drawn."""


@dataclasses.dataclass(frozen=True, slots=True)
class HeatArea:
    """A group of tiles, or groups inside a domain.

    Attributes:
        title: name of the domain.
        number: number of its area on the page.
        labelled: True if the title is shown.
        wide: True if a row has as many tiles as fit.
        tiles: CSS classes of each node; empty if there are parts.
        parts: the groups inside it.

    """

    title: str
    number: int
    labelled: bool
    wide: bool
    tiles: tuple[str, ...]
    parts: tuple[HeatArea, ...]

    @property
    def has_groups(self) -> bool:
        """Return whether all parts are groups of tiles."""
        return bool(self.parts) and not any(part.parts for part in self.parts)

    def walk(self) -> Iterator[HeatArea]:
        """Yield the area and all inside it, parents first."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclasses.dataclass(frozen=True, slots=True)
class HeatMap:
    """The map: its groups, the stylesheet of their sizes, and the marks that are used."""

    whole: HeatArea
    style: str
    marks: tuple[str, ...]


def heat_map(final: FinalPlacement, whole: Area, rows: Sequence[int], *, indexed: bool) -> HeatMap:
    """Return the map of the nodes of *whole*; *rows* are the resources that can be selected, four at most.

    *indexed*: the page has an index beside the map.
    """
    levels = [_levels(final, row) for row in rows]
    marks = _marks(final)
    classes = [
        " ".join([*(f"{letter}{level[node]}" for letter, level in zip(RESOURCES, levels, strict=False)), *each])
        for node, each in enumerate(marks)
    ]
    depth = _depth(whole)
    drawn = _drawn(whole, depth, classes, len(whole.nodes), labels=_count(whole, depth) <= MOST_LABELS)
    used = {mark for each in marks for mark in each} | ({WITHOUT} if any(NO_RESOURCE in level for level in levels) else set())
    return HeatMap(
        drawn, _style(drawn, indexed=indexed), tuple(mark for mark in (*(name for _, name in _MARKS), CLOSED, WITHOUT) if mark in used)
    )


def _marks(final: FinalPlacement) -> list[list[str]]:
    """Return the marks of each node: states of its pods, and whether it is closed."""
    marks: list[list[str]] = [[] for _ in range(len(final.nodes))]
    for node, seats in final.seats.items():
        states = {state for state, _ in seats}
        marks[node] += [name for state, name in _MARKS if state in states]
    for node in np.flatnonzero(final.closed).tolist():
        marks[node].append(CLOSED)
    return marks


def _levels(final: FinalPlacement, row: int) -> list[str]:
    """Return the level of each node for one resource."""
    whole: Ints = final.nodes.allocatable[row]
    free: Ints = final.free[row]
    quarter = np.minimum(4 * (whole - free) // np.maximum(whole, 1), 3)
    return [
        NO_RESOURCE if not total else FULL if not left else EMPTY if left == total else _QUARTERS[part]
        for total, left, part in zip(whole.tolist(), free.tolist(), quarter.tolist(), strict=True)
    ]


def _count(area: Area, depth: int) -> int:
    """Return the number of groups if *depth* levels are divided."""
    return sum(_count(part, depth - 1) for part in area.parts) if depth and area.parts else 1


def _depth(whole: Area) -> int:
    """Return the largest number of levels with which the groups are not too many."""
    return max(depth for depth in range(_LEVELS + 1) if depth == 0 or _count(whole, depth) <= MOST_GROUPS)


def _drawn(area: Area, depth: int, classes: Sequence[str], total: int, *, labels: bool) -> HeatArea:
    titled = bool(area.key)
    if depth and area.parts:
        parts = tuple(_drawn(part, depth - 1, classes, total, labels=labels) for part in area.parts)
        return HeatArea(area.title, area.number, titled and len(area.parts) <= MOST_LABELS, wide=False, tiles=(), parts=parts)
    nodes = [node for part in area.walk() if not part.parts for node in part.nodes]
    wide = len(nodes) >= _WIDE and len(nodes) * _WIDE_SHARE >= total
    return HeatArea(area.title, area.number, titled and labels, wide or not titled, tuple(classes[node] for node in nodes), ())


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of the map on one screen.

    Attributes:
        tile: width and height of a tile in pixels.
        shape: ratio of width and height of a group of tiles.
        labels: True if groups of tiles have labels; domains around groups always have.
        gaps: True if there are gaps between groups of tiles; else the tiles of a domain follow each other.

    """

    tile: int
    shape: int = _SHAPES[0]
    labels: bool = False
    gaps: bool = False

    @property
    def gap(self) -> int:
        """Return the gap between groups of tiles, in pixels."""
        return (_GAP if self.labels else _NARROW_GAP) if self.gaps else 0

    def columns(self, tiles: int) -> int:
        """Return the number of tiles in a row of a group."""
        return math.ceil(math.sqrt(self.shape * tiles))


def _style(drawn: HeatArea, *, indexed: bool) -> str:
    """Return the sizes of tiles, and the widths of groups, for each screen."""
    sizes = sorted({len(each.tiles) for each in drawn.walk() if each.tiles and not each.wide})
    rules = []
    for (least, _, _), layout in zip(SCREENS, layouts(drawn, indexed=indexed), strict=True):
        text = f".heat{{--tile:{layout.tile}px}}"
        text += "".join(f".heat .c{tiles}{{--columns:{layout.columns(tiles)}}}" for tiles in sizes)
        width, display = (f"max({_LEAST_LABELLED}px,var(--across))", "block") if layout.labels else ("var(--across)", "none")
        text += f".heat .labelled{{width:{width}}}.heat .labelled>.dom-name{{display:{display}}}"
        text += f".heat .groups{{gap:{layout.gap}px}}.heat .groups>.dom{{display:{'block' if layout.gaps else 'contents'}}}"
        text += f".heat .groups>.dom>.tiles{{display:{'flex' if layout.gaps else 'contents'}}}"
        rules.append(f"@media (min-width:{least}px){{{text}}}")
    return "\n".join(rules)


def layouts(drawn: HeatArea, *, indexed: bool) -> list[Layout]:
    """Return the layout for each screen: the largest tiles with which the map fits; *indexed*: with the index beside it."""
    chosen = []
    for least, width, height in SCREENS:
        across = width + (0 if indexed or least < INDEX[0] else INDEX[1])
        kinds = [Layout(0, labels=True, gaps=True), Layout(0, gaps=True), Layout(0)]
        fitting = [layout for kind in kinds if (layout := _largest(drawn, across, height, kind))]
        best = max((layout.tile for layout in fitting), default=0)
        chosen.append(next((layout for layout in fitting if layout.tile >= _WORTH * best), Layout(_LEAST_TILE)))
    return chosen


def _largest(drawn: HeatArea, width: int, height: int, kind: Layout) -> Layout | None:
    """Return the layout of a *kind* with the largest tiles; None if the map does not fit."""
    tiles = range(_LARGEST_TILE, _LEAST_TILE - 1, -1)
    choices = (dataclasses.replace(kind, tile=tile, shape=shape) for tile in tiles for shape in _SHAPES)
    return next((layout for layout in choices if size(drawn, layout, width)[1] <= height), None)


def size(area: HeatArea, layout: Layout, width: int) -> tuple[int, int]:
    """Return the width and height of an area in pixels, as the stylesheet lays it out."""
    label = _LABEL if area.labelled and (layout.labels or area.parts) else 0
    if not area.parts:
        tile, count = layout.tile, len(area.tiles)
        across = width if area.wide else min(width, max(layout.columns(count) * tile, _LEAST_LABELLED if label else 0))
        return across, -(-count // max(1, across // tile)) * tile + label
    frame = _FRAME if area.number else 0
    inner = width - 2 * frame
    gap = layout.gap if area.has_groups else _GAP
    if area.has_groups and not layout.gaps:
        count = sum(len(part.tiles) for part in area.parts)
        fitting = max(1, inner // layout.tile)
        return min(fitting, count) * layout.tile + 2 * frame, -(-count // fitting) * layout.tile + label + 2 * frame
    left = top = line = widest = 0
    for across, down in (size(part, layout, inner) for part in area.parts):
        if left and left + gap + across > inner:
            left, top, line = 0, top + line + gap, 0
            widest = inner
        left += across + (gap if left else 0)
        line, widest = max(line, down), max(widest, left)
    return widest + 2 * frame, top + line + label + 2 * frame
