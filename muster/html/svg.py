"""Shapes of a page: amounts in, path data of SVG out.

A picture has one path for each kind of shape, whatever the number of nodes, which keeps large pages small.  Colours and
patterns are in the stylesheet.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

from muster.html.failure_figure import Need
from muster.html.placed_pods import State
from scheduler_core.diagnosis.domain_amounts import NodeAmounts

GAUGE_WIDTH, GAUGE_HEIGHT = 600, 22
SQUARE, SQUARE_STEP = 12, 15
MOST_SQUARES = 16
"""Limit of devices of a node drawn one by one."""
BAR_WIDTH, BAR_HEIGHT, BAR_LINE = 120, 8, 4
_REACH = 9
"""Length of a line of demand beyond a gauge."""
_BLOCKS = 96
"""Limit of pods of a gauge drawn one by one."""
_LEAST_BLOCK = 5.0
_BEYOND = 3
"""Largest ratio of a scale to the demand."""
FREE, CLOSED, LINE = "free", "closed", "line"
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


def scale(needs: Iterable[Need], rows: Iterable[Sequence[NodeAmounts]]) -> int:
    """Return the scale of a gauge: the largest demand and the largest domain, but not much more than the demand."""
    need = max((each.amount for each in needs), default=0)
    largest = max((sum(one.fit + one.over + one.closed for one in row) for row in rows), default=0)
    return max(1, need, min(largest, _BEYOND * need))


def marks(needs: Iterable[Need], most: int) -> Stroke:
    """Draw a line for each need, from top to bottom."""
    places = sorted({_x(each.amount, most) for each in needs})
    return Stroke("mark", "".join(f"M{_number(min(x, GAUGE_WIDTH - 1.0))} -{_REACH}v{GAUGE_HEIGHT + 2 * _REACH}" for x in places))


def demand(need: Need, most: int) -> list[Stroke]:
    """Draw the demand: a block for each pod that needs the resource, or one for all of them."""
    one_by_one = 0 < len(need.by_pod) <= _BLOCKS and _x(need.by_pod[-1], most) >= _LEAST_BLOCK
    edges = itertools.accumulate(need.by_pod if one_by_one else (need.amount,), initial=0)
    return [Stroke("need", "".join(_block(left, right, most) for left, right in itertools.pairwise(edges)))]


def gauge(row: Sequence[NodeAmounts], unit: int, most: int, need: int) -> list[Stroke]:
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
    return "".join(_block(left, right, most) for left, right in itertools.pairwise(edges))


def _block(left: int, right: int, most: int) -> str:
    return _rectangle(_x(left, most) + 1, 2, _x(right, most) - 1, GAUGE_HEIGHT - 5)


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


def _strokes(kinds: Mapping[str, str]) -> list[Stroke]:
    return [Stroke(kind, d) for kind, d in kinds.items() if d]
