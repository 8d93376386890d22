"""Heat map of a page: a tile for each node, grouped by domain, coloured by the used share of a resource.

Tiles and groups fill the width of the map.  The size of a tile is chosen for several widths of the window such that the whole map fits on
one screen if marks can then be seen.
"""

from __future__ import annotations

import dataclasses
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
SCREENS = ((0, 326, 500), (600, 520, 500), (900, 800, 500), (1200, 780, 500), (1600, 1170, 620), (1900, 1370, 720))
"""Least width of the window, and width and height that the map can have there without an index beside it, in pixels."""
INDEX = (1200, 310)
"""Least width of the window with the index beside the map, and the width that the map has in addition without an index."""
_LARGEST_TILE, VISIBLE_TILE, _LEAST_TILE = 40, 8, 2
"""Heights of a tile in pixels; the width is at least the same.  Marks can be seen on a visible one, for which the map can be higher."""
_HIGHEST = 2400
"""Limit of the height of a map with visible tiles, in pixels."""
_COLUMNS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 64, 100)
"""Numbers of tiles in a row of a group that are tried."""
_WORTH = 0.7
"""Groups have labels, or gaps, if the tiles are then not smaller than this part, and the map is not higher in the inverse."""
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
        tile: height of a tile in pixels, and its least width.
        columns: number of tiles in a row of a group.
        labels: True if groups of tiles have labels; domains around groups always have.
        gaps: True if there are gaps between groups of tiles; else the tiles of a domain follow each other.

    """

    tile: int
    columns: int = 1
    labels: bool = False
    gaps: bool = False

    @property
    def gap(self) -> int:
        """Return the gap between groups of tiles, in pixels."""
        return (_GAP if self.labels else _NARROW_GAP) if self.gaps else 0

    @property
    def cell(self) -> int:
        """Return the least width of a group, in pixels."""
        return max(self.columns * self.tile, _LEAST_LABELLED if self.labels else 0) if self.gaps else self.tile


def _style(drawn: HeatArea, *, indexed: bool) -> str:
    """Return the sizes of tiles and groups for each screen."""
    rules = []
    for (least, _, _), layout in zip(SCREENS, layouts(drawn, indexed=indexed), strict=True):
        text = f".heat{{--tile:{layout.tile}px}}"
        text += f".heat .groups{{gap:{layout.gap}px;grid-template-columns:repeat(auto-fit,minmax(min(100%,{layout.cell}px),1fr))}}"
        text += f".heat .labelled>.dom-name{{display:{'block' if layout.labels else 'none'}}}"
        text += f".heat .groups>.dom{{display:{'block' if layout.gaps else 'contents'}}}"
        text += f".heat .groups>.dom>.tiles{{display:{'grid' if layout.gaps else 'contents'}}}"
        text += f".heat .groups>.dom:not(.wide)>.tiles{{grid-template-columns:repeat({layout.columns},1fr)}}"
        rules.append(f"@media (min-width:{least}px){{{text}}}")
    return "\n".join(rules)


def layouts(drawn: HeatArea, *, indexed: bool) -> list[Layout]:
    """Return the layout for each screen; *indexed*: with the index beside the map."""
    return [_layout(drawn, width + (0 if indexed or least < INDEX[0] else INDEX[1]), most) for least, width, most in SCREENS]


def _layout(drawn: HeatArea, width: int, most: int) -> Layout:
    """Return the layout with labels, or at least with gaps, unless the map without them is much better."""
    kinds = (Layout(0, labels=True, gaps=True), Layout(0, gaps=True), Layout(0))
    found = [_largest(drawn, width, most, kind) for kind in kinds]
    tile, least = max(layout.tile for layout, _ in found), min(height for _, height in found)
    enough = (layout for layout, high in found if layout.tile >= _WORTH * tile and _WORTH * high <= max(least, _WORTH * most))
    return next(enough, found[-1][0])


def _largest(drawn: HeatArea, width: int, most: int, kind: Layout) -> tuple[Layout, int]:
    """Return the layout of a *kind* with the largest tiles, and its height, which is *most* if visible tiles allow that."""
    tiles = sum(len(each.tiles) for each in drawn.walk())
    for tile in range(_LARGEST_TILE, _LEAST_TILE, -1):
        limit = most if tile > VISIBLE_TILE else _HIGHEST
        # The tiles alone need this height.
        if tiles * tile * tile > width * limit:
            continue
        layout, high = _flattest(drawn, width, dataclasses.replace(kind, tile=tile))
        if high <= limit:
            return layout, high
    return _flattest(drawn, width, dataclasses.replace(kind, tile=_LEAST_TILE))


def _flattest(drawn: HeatArea, width: int, layout: Layout) -> tuple[Layout, int]:
    """Return *layout* with the number of columns with which the map is the least high, and that height; with fewer columns if equal."""
    largest = max((len(each.tiles) for each in drawn.walk() if not each.wide), default=1)
    fitting = [each for each in _COLUMNS if each == 1 or (layout.gaps and each * layout.tile <= width and each < 2 * largest)]
    tried = (dataclasses.replace(layout, columns=each) for each in fitting)
    return min(((each, height(drawn, each, width)) for each in tried), key=lambda found: (found[1], found[0].columns))


def height(area: HeatArea, layout: Layout, width: int) -> int:
    """Return the height of an area in pixels, as the stylesheet lays it out."""
    label = _LABEL if area.labelled and (layout.labels or area.parts) else 0
    if not area.parts:
        return label + _rows(len(area.tiles), width // layout.tile if area.wide else layout.columns) * layout.tile
    frame = _FRAME if area.number else 0
    inner = width - 2 * frame
    if not area.has_groups:
        parts = sum(height(part, layout, inner) for part in area.parts) + _GAP * (len(area.parts) - 1)
    elif layout.gaps:
        parts = _grid(area.parts, layout, inner)
    else:
        parts = _rows(sum(len(part.tiles) for part in area.parts), inner // layout.tile) * layout.tile
    return parts + label + 2 * frame


def _rows(tiles: int, columns: int) -> int:
    return -(-tiles // max(1, columns))


def _grid(groups: Sequence[HeatArea], layout: Layout, width: int) -> int:
    """Return the height of groups in columns of equal width; each row is as high as its highest group."""
    across = max(1, (width + layout.gap) // (layout.cell + layout.gap))
    rows: list[int] = []
    left = 0
    for group in groups:
        high = height(group, layout, width)
        if group.wide or not left:
            rows.append(high)
            left = 0 if group.wide else across - 1
        else:
            rows[-1], left = max(rows[-1], high), left - 1
    return sum(rows) + layout.gap * (len(rows) - 1)
