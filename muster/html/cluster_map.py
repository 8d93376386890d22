"""The map of a page: nested areas, and their nodes with the resources used.

A heat map has a tile for each node.  Below it, each area has its nodes: if they are few, each is a shelf with its name, a picture of
each resource, and its pods; if they are many, they are lines of a table.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from muster.html import svg
from muster.html.heat_map import heat_map
from muster.html.map_parts import Chart, MapLine, Meter, Note, Plot, Shelf
from muster.html.page_data import Case
from muster.html.placed_pods import FinalPlacement, State, resources
from muster.html.sentences import amount_text, of_whole, short, size_text, tallied
from muster.html.svg import MOST_SQUARES, Amounts
from muster.html.topology_areas import Area
from scheduler_core.model.resource_values import Resource
from scheduler_core.wording import nouns
from validators.reports.counts import counted

SHELVES, FULL_SHELVES = 240, 96
"""Limits of nodes drawn as shelves, and as shelves with more than one picture."""
BARS, SHOWN = 3, 4
"""Limits of resources drawn on a shelf, and on the map."""
PODS_SHOWN, NAMED = 60, 3
_AMOUNTS_IN_UNITS = frozenset({"cpu", "memory", "ephemeral-storage"})
_HARD = frozenset({"NoSchedule", "NoExecute"})
_WORDS = {State.PLACED: "placed", State.VICTIM: "would be evicted", State.NOMINATED: "nominated"}
_KINDS = (*(state.value for state in State), svg.LINE, svg.FREE, svg.CLOSED)


def chart(case: Case) -> Chart:
    """Return the map."""
    final = case.final
    placed = [final.pods[pod] for decision in case.placed for pod in decision.assignments if pod in final.pods]
    rows = resources(final, placed)
    surveyor = _Surveyor(final, rows, {row: final.nodes.resource(row) for row in rows})
    plot = surveyor.plot(case.area_map.whole)
    return Chart(
        plot=plot,
        levels=tuple(map(nouns.level, case.area_map.keys)),
        resources=surveyor.names,
        kinds=tuple(kind for kind in _KINDS if kind in set(_kinds(plot))),
        as_shelves=surveyor.as_shelves,
        heat=heat_map(final, case.area_map.whole, surveyor.rows[:SHOWN], indexed=len(case.placed) + len(case.unplaced) > 1),
    )


def _kinds(plot: Plot) -> Iterator[str]:
    for part in plot.parts:
        yield from _kinds(part)
    for shelf in plot.shelves:
        yield from (stroke.kind for meter in shelf.meters for stroke in meter.strokes)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Surveyor:
    """Builder of the map; *rows* are those of the resources, the scarcest first, and *by_row* the resources."""

    final: FinalPlacement
    rows: tuple[int, ...]
    by_row: Mapping[int, Resource]

    @property
    def as_shelves(self) -> bool:
        return len(self.final.nodes) <= SHELVES

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.final.nodes.resources[row] for row in self.rows[:SHOWN])

    def plot(self, area: Area) -> Plot:
        last = not area.parts
        return Plot(
            number=area.number,
            title=area.title,
            size=counted(len(area.nodes), "node"),
            totals=tuple(self._total(row, area) for row in self.rows[:SHOWN]),
            placed_groups=tallied(self._by_group(area.nodes, State.PLACED), NAMED) if last else "",
            parts=tuple(self.plot(part) for part in area.parts),
            shelves=tuple(self._shelf(node) for node in area.nodes) if last and self.as_shelves else (),
            lines=tuple(self._line(node) for node in area.nodes) if last and not self.as_shelves else (),
        )

    def _total(self, row: int, area: Area) -> str:
        nodes, name = list(area.nodes), self.final.nodes.resources[row]
        whole = int(self.final.nodes.allocatable[row, nodes].sum())
        free = self.final.free[row, nodes]
        shut = int(free[self.final.closed[nodes]].sum())
        text = f"{of_whole(name, int(free.sum()), whole)} {name} free"
        return f"{text}, {size_text(name, shut)} of that closed" if shut else text

    def _by_group(self, nodes: Iterable[int], state: State) -> Counter[str]:
        """Count the pods of a state by group; pods without a group by their own name."""
        return Counter(pod.group or pod.name for node in nodes for each, pod in self.final.seats.get(node, ()) if each is state)

    def _amounts(self, node: int, row: int) -> Amounts:
        taken = {state: amount for state, used in self.final.used.items() if (amount := int(used[row, node]))}
        return Amounts(int(self.final.nodes.allocatable[row, node]), taken, bool(self.final.closed[node]))

    def _shelf(self, node: int) -> Shelf:
        nodes, seats = self.final.nodes, self.final.seats.get(node, [])
        bars = BARS if len(nodes) <= FULL_SHELVES else 1
        rows = [row for row in self.rows if nodes.allocatable[row, node]]
        return Shelf(
            name=nodes.names[node],
            meters=tuple(self._meter(node, row) for row in rows[:bars]),
            notes=tuple(self._notes(node)),
            facts=tuple(self._facts(node, rows)),
            pods=tuple((pod.key, _WORDS.get(state, "running"), self._takes(pod.shape.requests)) for state, pod in seats[:PODS_SHOWN]),
            more=max(0, len(seats) - PODS_SHOWN),
        )

    def _takes(self, requests: Sequence[tuple[int, int]]) -> str:
        amounts = dict(requests)
        return ", ".join(amount_text(resource, amounts[row]) for row, resource in self.by_row.items() if row in amounts)

    def _meter(self, node: int, row: int) -> Meter:
        nodes, amounts = self.final.nodes, self._amounts(node, row)
        name = nodes.resources[row]
        one_by_one = name not in _AMOUNTS_IN_UNITS and amounts.whole <= MOST_SQUARES
        return Meter(
            name=short(name, nodes.resources),
            resource=name,
            shape="squares" if one_by_one else "bar",
            width=svg.SQUARE_STEP * amounts.whole if one_by_one else svg.BAR_WIDTH,
            height=svg.SQUARE + 2 if one_by_one else svg.BAR_HEIGHT + svg.BAR_LINE,
            strokes=tuple(svg.squares(amounts) if one_by_one else svg.bar(amounts)),
            text=of_whole(name, amounts.free, amounts.whole),
        )

    def _notes(self, node: int) -> Iterator[Note]:
        for state, word in _WORDS.items():
            if groups := self._by_group([node], state):
                yield Note(state.value, f"{word}: {tallied(groups, NAMED)}")
        if self.final.closed[node]:
            yield Note(svg.CLOSED, f"closed to pending pods: {self._closed(node)}")

    def _closed(self, node: int) -> str:
        other = "not selected by them, or without devices for them" if self.final.nodes.device_reach else "not selected by them"
        return "cordoned" if self.final.nodes.unschedulable[node] else self._taints(node, _HARD) or other

    def _taints(self, node: int, effects: Iterable[str] | None = None) -> str:
        taints = [each for each in self.final.nodes.taints[node] if effects is None or each.effect in effects]
        return ", ".join(f"{each.key}{f'={each.value}' if each.value else ''}:{each.effect}" for each in taints)

    def _facts(self, node: int, rows: Sequence[int]) -> Iterator[tuple[str, str]]:
        nodes = self.final.nodes
        for row in rows:
            amounts = self._amounts(node, row)
            yield nodes.resources[row], f"{of_whole(nodes.resources[row], amounts.free, amounts.whole)} free"
        if taints := self._taints(node):
            yield "taints", taints
        if nodes.unschedulable[node]:
            yield "cordoned", "yes"

    def _line(self, node: int) -> MapLine:
        nodes = self.final.nodes
        amounts = [(nodes.resources[row], self._amounts(node, row)) for row in self.rows[:SHOWN]]
        texts = tuple(of_whole(name, each.free, each.whole) if each.whole else "none" for name, each in amounts)
        return MapLine(nodes.names[node], texts, tuple(self._notes(node)))
