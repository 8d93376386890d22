"""What room for so many pods costs in the parts of one domain, a unit on several nodes costing its share on each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.preemption.bounds.cost_table import LARGEST, POSITIONS_A_STEP, Choice, Counts, Grid, Table
from scheduler_core.preemption.bounds.node_cost import Needs, NodeSpot, Prices, spots
from scheduler_core.preemption.bounds.shortage import Shortage
from scheduler_core.preemption.bounds.ways import Amounts, ways
from scheduler_core.preemption.plans.areas import DomainArea
from scheduler_core.preemption.plans.effort import Effort

Chosen = frozenset[int]
"""Units."""
_ADD, _WAY = 6, 3
"""Steps that a node takes, and a way to make room on it."""
_CHEAP = 300_000
"""Positions of all nodes together up to which a table is worth having for a bound alone."""


class DomainCost:
    """The tables of one domain.

    Attributes:
        whole: whether all ways to make room are known; else room may cost less than it is said to.

    """

    def __init__(self, needs: Needs, shortage: Shortage, nodes: Nodes, most: Counts, prices: Prices, effort: Effort) -> None:
        """Look at *nodes*; arguments are as those of ``node_cost``.

        Raises:
            EffortSpentError: the effort is spent.

        """
        effort.spend(100 + 12 * len(nodes))
        self._amounts = needs.amounts
        self._effort = effort
        self._limit = most
        self._spots, self._shares = spots(needs, shortage, nodes, most, prices)
        self._found: dict[object, Choice] = {}
        self._undisturbed: dict[int, Choice] = {}
        self._grids: dict[Counts, Grid] = {}
        self._tables: dict[tuple[int, Chosen, Chosen], Table] = {}
        self._units: dict[int, Chosen] = {}
        self._mosts: dict[int, Counts] = {}
        self.whole = True

    def share(self, unit: int, node: int) -> int:
        """What of the cost of *unit* is counted on *node*."""
        return self._shares[unit, node]

    def units_of(self, area: DomainArea) -> Chosen:
        """Who can be in the way in *area*."""
        if (found := self._units.get(area.number)) is None:
            found = self._units[area.number] = frozenset(unit for node in self._in(area) for unit, _, _ in self._spots[node].units)
        return found

    def cheap(self, area: DomainArea) -> bool:
        """Whether a table for *area* takes little."""
        return math.prod(each + 1 for each in self._most(area)) <= min(LARGEST, _CHEAP // max(1, len(area.nodes)))

    def table(self, area: DomainArea, leaving: Chosen, staying: Chosen) -> Table:
        """What room in *area* costs once *leaving*, who cost nothing, have left, while *staying* stay; both of ``units_of``.

        Raises:
            TooLargeError: it would be too large.
            EffortSpentError: the effort is spent.

        """
        at = (area.number, leaving, staying)
        if (found := self._tables.get(at)) is None:
            found = self._tables[at] = self._table(area, leaving, staying)
        return found

    def leavers(self, node: int, positions: Sequence[int], leaving: Chosen, staying: Chosen) -> list[int]:
        """The units at *positions*, as a table's choice for *node* has them."""
        able = [unit for unit, _, _ in self._spots[node].units if unit not in leaving and unit not in staying]
        return [able[position] for position in positions]

    def _in(self, area: DomainArea) -> list[int]:
        return [node for node in area.nodes.tolist() if node in self._spots]

    def _most(self, area: DomainArea) -> Counts:
        """How many pods of each shape *area* holds at most."""
        if (found := self._mosts.get(area.number)) is None:
            there = zip(*(self._spots[node].most for node in self._in(area)), strict=True)
            found = self._mosts[area.number] = tuple(map(min, self._limit, map(sum, there))) or (0,) * len(self._limit)
        return found

    def _table(self, area: DomainArea, leaving: Chosen, staying: Chosen) -> Table:
        most = self._most(area)
        if (grid := self._grids.get(most)) is None:
            grid = self._grids[most] = Grid(most)
        table = Table(grid)
        there = self._in(area)
        self._effort.spend(20 + 4 * len(there))
        there.sort(key=lambda node: self._spots[node].rank)
        choices = {node: self._choice(node, leaving, staying) for node in there}
        for node in self._needed(choices, sum(most)):
            self._effort.spend(_ADD + len(choices[node].counts) * (_WAY + grid.size // POSITIONS_A_STEP))
            table.add(node, choices[node])
        return table

    def _needed(self, choices: Mapping[int, Choice], pods: int) -> list[int]:
        """The nodes that are worth a look for so many pods: not those beside as many others that are no worse in any way."""
        alike: dict[tuple[Counts, ...], list[int]] = {}
        kept = []
        for node, choice in choices.items():
            if self._spots[node].alone:
                alike.setdefault(choice.counts, []).append(node)
            else:
                kept.append(node)
        for counts, nodes in alike.items():
            if any(map(any, counts)):
                kept += self._best([(node, choices[node].costs) for node in nodes], pods) if len(nodes) > pods else nodes
        return sorted(kept, key=lambda node: self._spots[node].rank)

    def _best(self, nodes: Sequence[tuple[int, Ints]], pods: int) -> list[int]:
        """Those of *nodes*, with what each way costs there, that fewer than so many others beat."""
        costs = np.array([each for _, each in nodes])
        self._effort.spend(4 * len(nodes))
        kept: list[int] = []
        for number in np.argsort(costs.sum(axis=1), kind="stable").tolist():
            if len(kept) < pods or int((costs[kept] <= costs[number]).all(axis=1).sum()) < pods:
                kept.append(number)
        return [nodes[number][0] for number in kept]

    def _choice(self, node: int, leaving: Chosen, staying: Chosen) -> Choice:
        spot = self._spots[node]
        if not any(unit in leaving or unit in staying for unit, _, _ in spot.units):
            if (found := self._undisturbed.get(node)) is None:
                found = self._undisturbed[node] = self._on(spot, spot.free, spot.units)
            return found
        gone = [need for unit, _, need in spot.units if unit in leaving]
        free = tuple(have + sum(need[row] for need in gone) for row, have in enumerate(spot.free))
        return self._on(spot, free, [each for each in spot.units if each[0] not in leaving and each[0] not in staying])

    def _on(self, spot: NodeSpot, free: Amounts, able: Sequence[tuple[int, int, Amounts]]) -> Choice:
        """What *spot* can have with *free* free and *able* on it; found once for nodes that are alike in this."""
        at = (spot.most, spot.rows, free, tuple([each[1:] for each in able]))
        if (choice := self._found.get(at)) is None:
            amounts = [tuple(each) for each in self._amounts[:, list(spot.rows)].tolist()]
            found, sets, whole = ways(spot.most, free, [need for _, _, need in able], amounts)
            self._effort.spend(20 + 5 * sets)
            self.whole &= whole
            costs = [sum(able[position][1] for position in positions) for _, positions in found]
            choice = self._found[at] = _unbeaten([(cost, *way) for cost, way in zip(costs, found, strict=True)])
        return choice


def _unbeaten(several: Sequence[tuple[int, Counts, tuple[int, ...]]]) -> Choice:
    """Costs, counts and units without those that others beat in every respect; the cheapest first."""
    kept: list[tuple[int, Counts, tuple[int, ...]]] = []
    for each in sorted(several, key=lambda each: (each[0], -sum(each[1]))):
        if not any(all(map(int.__le__, each[1], counts)) for _, counts, _ in kept):
            kept.append(each)
    costs = np.array([cost for cost, _, _ in kept], dtype=np.int64)
    return Choice(tuple(counts for _, counts, _ in kept), costs, tuple(units for _, _, units in kept))
