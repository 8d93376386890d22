"""Figures of a root as a page shows them: a scale, the demand, the domains."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from muster.html.failure_figure import Figure, FigureRow, Need
from muster.html.sentences import amount_text, size_text
from muster.html.svg import Stroke, demand, gauge, marks, scale
from scheduler_core.causes.node_count import Amount
from scheduler_core.causes.node_states import NodeStateCause, UntoleratedTaint
from scheduler_core.wording import nouns
from scheduler_core.wording.domain_words import SEPARATE_TAINTS
from scheduler_core.wording.node_words import closed_nodes
from scheduler_core.wording.phrases import noun_of
from scheduler_core.wording.titles import taint_text
from validators.reports.counts import counted

KINDS = ("fit", "over", "closed", "short")
"""Kinds of strokes that a legend explains."""
_AMOUNTS = 3
"""Limit of different amounts of a group's pods that are stated."""
_TAINTS = 3
"""Limit of taints that are named."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gauge:
    """A line of a figure: title, area on the map, picture, text, and a note."""

    title: str
    area: int | None
    strokes: tuple[Stroke, ...]
    text: str
    note: str = ""
    enough: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """One figure; *rest* is about the domains that are not shown, *kinds* are explained in the legend."""

    caption: str
    needs: tuple[Gauge, ...]
    rows: tuple[Gauge, ...]
    rest: str
    kinds: tuple[str, ...]


def picture(figure: Figure, areas: Mapping[bytes, int]) -> Picture:
    """Return *figure* for the page; *areas* are the numbers of areas on the map, by their nodes."""
    most = scale(figure.needs, [row.segments for row in figure.rows])
    lines = marks(figure.needs, most)
    need = figure.needs[-1].amount
    rows = [_row(row, figure, areas, [*gauge(row.segments, figure.unit, most, need), lines]) for row in figure.rows]
    level, noun = figure.level or "cluster", noun_of(figure.resource, 0)
    others = counted(figure.others, f"more {level}")
    kinds = {stroke.kind for row in rows for stroke in row.strokes}
    return Picture(
        caption=f"{noun} free {nouns.preposition(level)} each {level}" if figure.level else f"{noun} free",
        needs=tuple(_need(each, figure, most) for each in figure.needs),
        rows=tuple(rows),
        rest=f"{others}, with at most the same capacity" if figure.others else "",
        kinds=tuple(kind for kind in KINDS if kind in kinds),
    )


def _need(need: Need, figure: Figure, most: int) -> Gauge:
    where = f"{nouns.preposition(figure.level)} one {figure.level}" if figure.level else "on one node" if need.pods == 1 else "in all"
    whole = amount_text(figure.resource, need.amount)
    text = f"{whole} for {counted(need.pods, 'pod')}"
    if figure.unit:
        text = f"{counted(need.pods, 'pod')} of {amount_text(figure.resource, figure.unit)}"
        text = text if need.pods == 1 else f"{text} = {size_text(figure.resource, need.amount)}"
    title = nouns.listed(need.names)
    note = f"{'each ' if len(need.names) > 1 else ''}{where}"
    by_amount = sorted(Counter(need.by_pod).items(), reverse=True)
    if not figure.unit and 0 < len(by_amount) <= _AMOUNTS:
        sizes = [f"{counted(number, 'pod')} of {size_text(figure.resource, amount)}" for amount, number in by_amount]
        others = need.pods - len(need.by_pod)
        note += f"; {', '.join(sizes)}"
        note += f", {counted(others, 'pod')} of none" if others else ""
    if figure.each and figure.each != (Amount(figure.resource, figure.unit),):
        note += f"; a pod takes {', '.join(amount_text(each.resource, each.amount) for each in figure.each)}"
    return Gauge(f"{title} {'needs' if len(need.names) == 1 else 'need'}", None, tuple(demand(need, most)), text, note=note)


def _row(row: FigureRow, figure: Figure, areas: Mapping[bytes, int], strokes: Sequence[Stroke]) -> Gauge:
    size = size_text(figure.resource, row.amounts.free)
    over = sum(segment.over for segment in row.segments)
    note = f"{size} free"
    if figure.unit and over >= figure.unit and row.amounts.free:
        part = "all of it" if over == row.amounts.free else f"{size_text(figure.resource, over)} of it"
        note += f", {part} in parts too small for a pod"
    if row.amounts.closed:
        note += f"; {size_text(figure.resource, row.amounts.closed)} more {_closed(row.amounts.why)}"
    if row.represented > 1:
        note = f"each: {note}"
    area, need = areas.get(row.amounts.nodes.tobytes()) if row.represented == 1 else None, figure.needs[0]
    if row.amounts.capacity is None:
        return Gauge(row.title, area, tuple(strokes), note, enough=not figure.fails and row.amounts.free >= need.amount)
    if len(figure.needs) > 1:
        return Gauge(row.title, area, tuple(strokes), f"capacity for {counted(row.amounts.capacity, 'pod')}", note=note)
    fitting = min(row.amounts.capacity, need.pods)
    text = f"capacity for {fitting:,} of {counted(need.pods, 'pod')}"
    return Gauge(row.title, area, tuple(strokes), text, note, fitting == need.pods)


def _closed(why: Sequence[NodeStateCause]) -> str:
    """Return the nodes that the pods cannot use: ``on 1 node, cordoned, 2 nodes with the taint a:NoSchedule``; many taints as one item."""
    if not why:
        return "where the pods cannot run"
    taints = [each for each in why if isinstance(each, UntoleratedTaint)]
    items = [closed_nodes(each) for each in why if len(taints) <= SEPARATE_TAINTS or each not in taints]
    if len(taints) > SEPARATE_TAINTS:
        nodes = sum(each.nodes.count for each in taints)
        items.append(f"{counted(nodes, 'node')} with the taints {nouns.listed([taint_text(each.taint) for each in taints], _TAINTS)}")
    return f"on {', '.join(items)}"
