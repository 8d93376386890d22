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
MOST_GROUPS, MOST_LABELS, _NARROW_LABELS = 400, 120, 12
"""Limits of groups of tiles (with more, they are of a wider level), and of groups with a label: on any screen, and on the narrowest."""
SCREENS = ((0, 326, 400), (600, 560, 440), (900, 840, 460), (1200, 800, 440), (1600, 1200, 560), (1900, 1390, 620))
"""Least width of the window, and width and height that the map can have there, in pixels."""
_LEVELS = 8
"""Limit of levels that are drawn."""
_LARGEST_TILE, _LEAST_TILE = 26, 2
_WIDE_SHARE, _WIDE = 8, 100
"""A group with an eighth of the nodes, and at least so many, has the full width."""
_LABEL, _LEAST_LABELLED, _GAP, _FRAME = 17, 64, 8, 8
"""Pixels, as in the stylesheet: height of a label, least width of a group with one, gap between groups, frame around groups."""


@dataclasses.dataclass(frozen=True, slots=True)
class HeatArea:
    """A group of tiles, or groups inside a domain.

    Attributes:
        title: name of the domain.
        number: number of its area on the page.
        labelled: True if the title is shown.
        columns: tiles in a row; 0: as many as fit.
        tiles: CSS classes of each node; empty if there are parts.
        parts: the groups inside it.

    """

    title: str
    number: int
    labelled: bool
    columns: int
    tiles: tuple[str, ...]
    parts: tuple[HeatArea, ...]

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


def heat_map(final: FinalPlacement, whole: Area, rows: Sequence[int]) -> HeatMap:
    """Return the map of the nodes of *whole*; *rows* are the resources that can be selected, four at most."""
    levels = [_levels(final, row) for row in rows]
    marks = _marks(final)
    classes = [
        " ".join([*(f"{letter}{level[node]}" for letter, level in zip(RESOURCES, levels, strict=False)), *each])
        for node, each in enumerate(marks)
    ]
    depth = _depth(whole)
    drawn = _drawn(whole, depth, classes, len(whole.nodes), labels=_count(whole, depth) <= MOST_LABELS)
    used = {mark for each in marks for mark in each} | ({WITHOUT} if any(NO_RESOURCE in level for level in levels) else set())
    return HeatMap(drawn, _style(drawn), tuple(mark for mark in (*(name for _, name in _MARKS), CLOSED, WITHOUT) if mark in used))


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
        return HeatArea(area.title, area.number, titled and len(area.parts) <= MOST_LABELS, 0, (), parts)
    nodes = [node for part in area.walk() if not part.parts for node in part.nodes]
    wide = len(nodes) >= _WIDE and len(nodes) * _WIDE_SHARE >= total
    columns = 0 if wide or not titled else math.ceil(math.sqrt(2 * len(nodes)))
    return HeatArea(area.title, area.number, titled and labels, columns, tuple(classes[node] for node in nodes), ())


def _style(drawn: HeatArea) -> str:
    """Return the sizes of tiles for each screen, and the widths of the groups."""
    screens = _screens(drawn)
    rules = [f"@media (min-width:{least}px){{.heat{{--tile:{tile}px}}}}" for least, tile, _ in screens]
    if not screens[0][2]:
        rules.append(f"@media (max-width:{screens[1][0] - 1}px){{.heat .labelled{{min-width:0}}.heat .labelled>.dom-name{{display:none}}}}")
    columns = sorted({each.columns for each in drawn.walk() if each.columns})
    return "\n".join([*rules, *(f".heat .c{each}{{--columns:{each}}}" for each in columns)])


def _screens(drawn: HeatArea) -> list[tuple[int, int, bool]]:
    """Return least width of the window, largest tile with which the map fits, and whether groups have labels, for each screen."""
    groups = sum(not each.parts for each in drawn.walk())
    screens = []
    for least, width, height in SCREENS:
        labels = least > 0 or groups <= _NARROW_LABELS
        fitting = (tile for tile in range(_LARGEST_TILE, _LEAST_TILE, -1) if size(drawn, tile, width, labels=labels)[1] <= height)
        screens.append((least, next(fitting, _LEAST_TILE), labels))
    return screens


def size(area: HeatArea, tile: int, width: int, *, labels: bool) -> tuple[int, int]:
    """Return the width and height of an area in pixels, as the stylesheet lays it out; *labels*: of groups of tiles."""
    label = _LABEL if area.labelled and (labels or area.parts) else 0
    if not area.parts:
        fitting = max(1, width // tile)
        columns = min(area.columns or fitting, fitting)
        across = columns * tile if area.columns else width
        return max(across, min(_LEAST_LABELLED, width) if label else 0), -(-len(area.tiles) // columns) * tile + label
    frame = _FRAME if area.number else 0
    inner = width - 2 * frame
    left = top = line = widest = 0
    for across, down in (size(part, tile, inner, labels=labels) for part in area.parts):
        if left and left + _GAP + across > inner:
            left, top, line = 0, top + line + _GAP, 0
            widest = inner
        left += across + (_GAP if left else 0)
        line, widest = max(line, down), max(widest, left)
    return widest + 2 * frame, top + line + label + 2 * frame
