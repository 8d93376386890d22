"""Shapes of a page: amounts in, path data of SVG out.

A picture has one path for each kind of shape, whatever the number of nodes, which keeps large pages small.  Colours and
patterns are in the stylesheet.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

from muster.html.failure_figure import Need, Segment
from muster.html.placed_pods import State

GAUGE_WIDTH, GAUGE_HEIGHT = 600, 22
SQUARE, SQUARE_STEP = 12, 15
MOST_SQUARES = 16
"""Limit of devices of a node drawn one by one."""
BAR_WIDTH, BAR_HEIGHT, BAR_LINE = 120, 8, 4
CELL_WIDTH, CELL_HEIGHT, CELL_STEP_X, CELL_STEP_Y = 11, 15, 14, 18
_REACH = 9
"""Length of a line of demand beyond a gauge."""
_BLOCKS = 96
"""Limit of pods of a gauge drawn one by one."""
_LEAST_BLOCK = 5.0
_BEYOND = 3
"""Largest ratio of a scale to the demand."""
FREE, CLOSED, NONE, LINE = "free", "closed", "none", "line"
_ORDER = (State.RUNNING, State.VICTIM, State.PLACED)


@dataclasses.dataclass(frozen=True, slots=True)
class Stroke:
    """All shapes of one kind in a picture; *d* is the path data."""

    kind: str
    d: str


@dataclasses.dataclass(frozen=True, slots=True)
class Amounts:
    """A resource on a node: its whole amount, and the amount used by each state."""

    whole: int
    taken: Mapping[State, int]
    closed: bool = False

    @property
    def free(self) -> int:
        """Return the free amount."""
        return max(0, self.whole - sum(self.taken.get(state, 0) for state in _ORDER))


def scale(needs: Iterable[Need], rows: Iterable[Sequence[Segment]]) -> int:
    """Return the scale of a gauge: the largest demand and the largest domain, but not much more than the demand."""
    need = max((each.amount for each in needs), default=0)
    largest = max((sum(one.fit + one.over + one.closed for one in row) for row in rows), default=0)
    return max(1, need, min(largest, _BEYOND * need))


def marks(needs: Iterable[Need], most: int) -> Stroke:
    """Draw a line for each need, from top to bottom."""
    places = sorted({_x(each.amount, most) for each in needs})
    return Stroke("mark", "".join(f"M{_number(min(x, GAUGE_WIDTH - 1.0))} -{_REACH}v{GAUGE_HEIGHT + 2 * _REACH}" for x in places))


def demand(need: Need, unit: int, most: int) -> list[Stroke]:
    """Draw the demand: a block for each pod, or one for all of them."""
    return [Stroke("need", _blocks(0, need.amount, unit, most))]


def gauge(row: Sequence[Segment], unit: int, most: int, need: int) -> list[Stroke]:
    """Draw the free capacity of a domain by node: usable, remainder, not usable; below it a line for each node.

    If it is less than *need*, the missing amount is drawn too.
    """
    at = sum(segment.fit + segment.over + segment.closed for segment in row)
    kinds = {"short": _blocks(at, need - at, 0, most) if at < need else "", "fit": "", "over": "", CLOSED: "", "node": ""}
    at = 0
    for segment in row:
        begin = at
        for kind, amount in (("fit", segment.fit), ("over", segment.over), (CLOSED, segment.closed)):
            kinds[kind] += _blocks(at, amount, unit if kind == "fit" else 0, most)
            at += amount
        if len(row) > 1:
            kinds["node"] += _rectangle(_x(begin, most) + 1, GAUGE_HEIGHT - 3, _x(at, most) - 1, GAUGE_HEIGHT - 1)
    if at > most:
        kinds["beyond"] = f"M{GAUGE_WIDTH - 12} 5l6 6-6 6m6-12l6 6-6 6"
    return _strokes(kinds)


def _blocks(begin: int, amount: int, unit: int, most: int) -> str:
    """Return a block for each unit if it is visible, else one for all."""
    one_by_one = unit and amount // unit <= _BLOCKS and _x(unit, most) >= _LEAST_BLOCK
    edges = range(begin, begin + amount + 1, unit) if one_by_one else (begin, begin + amount)
    return "".join(_rectangle(_x(left, most) + 1, 2, _x(right, most) - 1, GAUGE_HEIGHT - 5) for left, right in itertools.pairwise(edges))


def _x(amount: int, most: int) -> float:
    return GAUGE_WIDTH * amount / most


def _rectangle(left: float, top: float, right: float, bottom: float) -> str:
    right = min(right, GAUGE_WIDTH)
    if right - left <= 0.05:
        return ""
    return f"M{_number(left)} {_number(top)}H{_number(right)}V{_number(bottom)}H{_number(left)}z"


def _number(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def squares(amounts: Amounts) -> list[Stroke]:
    """Draw a square for each device of a node: running, victims, placed, free; nominations are rings."""
    kinds: dict[str, str] = {}
    states = [state.value for state in _ORDER for _ in range(amounts.taken.get(state, 0))][: amounts.whole]
    states += [CLOSED if amounts.closed else FREE] * (amounts.whole - len(states))
    for place, kind in enumerate(states):
        left = place * SQUARE_STEP + 1
        kinds[kind] = kinds.get(kind, "") + f"M{left} 1h{SQUARE}v{SQUARE}h-{SQUARE}z"
    for place in _promised(states, amounts):
        left, radius = place * SQUARE_STEP + 4, 3
        ring = f"M{left} {SQUARE // 2 + 1}a{radius} {radius} 0 1 1 {2 * radius} 0a{radius} {radius} 0 1 1-{2 * radius} 0z"
        kinds[State.NOMINATED.value] = kinds.get(State.NOMINATED.value, "") + ring
    return _strokes(kinds)


def _promised(states: Sequence[str], amounts: Amounts) -> list[int]:
    """Return the squares of nominated pods: free ones first, then those of victims."""
    places = [place for place, kind in enumerate(states) if kind in {FREE, CLOSED}]
    places += [place for place, kind in enumerate(states) if kind == State.VICTIM.value]
    return sorted(places[: amounts.taken.get(State.NOMINATED, 0)])


def bar(amounts: Amounts) -> list[Stroke]:
    """Draw one bar for a node; nominations are a line below its end."""
    kinds = {CLOSED if amounts.closed else FREE: f"M.5 .5h{BAR_WIDTH - 1}v{BAR_HEIGHT - 1}h-{BAR_WIDTH - 1}z"}
    at = 0
    for state in _ORDER:
        begin, at = at, min(at + amounts.taken.get(state, 0), amounts.whole)
        left, right = BAR_WIDTH * begin / max(1, amounts.whole), BAR_WIDTH * at / max(1, amounts.whole)
        kinds[state.value] = _rectangle(left, 0, right, BAR_HEIGHT)
    if promised := min(amounts.taken.get(State.NOMINATED, 0), amounts.whole):
        width = BAR_WIDTH * promised / amounts.whole
        kinds[LINE] = f"M{_number(BAR_WIDTH - width)} {BAR_HEIGHT + BAR_LINE // 2}H{BAR_WIDTH}"
    return _strokes(kinds)


def cells(nodes: Sequence[Amounts], columns: int) -> list[Stroke]:
    """Draw a cell for each node, filled from below by usage; a cross if it is closed, a dash without the resource."""
    kinds: dict[str, list[str]] = {kind: [] for kind in (FREE, *(state.value for state in _ORDER), State.NOMINATED.value, CLOSED, NONE)}
    for place, amounts in enumerate(nodes):
        left, top = place % columns * CELL_STEP_X + 1, place // columns * CELL_STEP_Y + 1
        if not amounts.whole:
            kinds[NONE].append(f"M{left + 2} {top + CELL_HEIGHT // 2}h{CELL_WIDTH - 4}")
            continue
        kinds[FREE].append(f"M{left} {top}h{CELL_WIDTH}v{CELL_HEIGHT}h-{CELL_WIDTH}z")
        for state, bottom, height in _levels(amounts):
            kinds[state.value].append(f"M{left} {top + bottom}h{CELL_WIDTH}v-{height}h-{CELL_WIDTH}z")
        if amounts.taken.get(State.NOMINATED, 0):
            kinds[State.NOMINATED.value].append(f"M{left + 3} {top + 7}a2.5 2.5 0 1 1 5 0a2.5 2.5 0 1 1-5 0z")
        if amounts.closed:
            kinds[CLOSED].append(f"M{left + 2} {top + 4}l7 7m0-7l-7 7")
    return _strokes({kind: "".join(parts) for kind, parts in kinds.items()})


def _levels(amounts: Amounts) -> Iterable[tuple[State, int, int]]:
    """Yield state, lower edge and height; a cell is full only if nothing is free."""
    at, below = 0, 0
    for state in _ORDER:
        at = min(at + amounts.taken.get(state, 0), amounts.whole)
        above = CELL_HEIGHT - amounts_over(CELL_HEIGHT, amounts.whole - at, amounts.whole)
        if above > below:
            yield state, CELL_HEIGHT - below, above - below
        below = above


def amounts_over(height: int, part: int, whole: int) -> int:
    """Return *part* of *whole* in units of *height*, at least 1 if *part* is not 0."""
    return max(height * part // whole, min(part, 1))


def _strokes(kinds: Mapping[str, str]) -> list[Stroke]:
    return [Stroke(kind, d) for kind, d in kinds.items() if d]
