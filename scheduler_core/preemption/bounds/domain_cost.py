"""Least cost of pods in the areas of one domain; a unit on several nodes costs its share on each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.preemption.bounds.cost_table import LARGEST_GRID, POSITIONS_A_STEP, CostChoice, CostTable, Counts, Grid
from scheduler_core.preemption.bounds.node_cost import CandidateNode, ShapeRequests, UnitCosts, candidate_nodes
from scheduler_core.preemption.bounds.node_fillings import Amounts, ways
from scheduler_core.preemption.bounds.shortage import Shortage
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.group_domains import DomainArea

UnitSet = frozenset[int]
"""Numbers of units."""
_NODE_STEPS, _WAY_STEPS = 6, 3
"""Steps for a node, and for each of its ways."""
_SMALL = 300_000
"""Largest number of positions, over all nodes, for which a table is computed only for a bound."""


class DomainCost:
    """Cost tables of one domain.

    Attributes:
        all_ways_known: True if all ways of all nodes are known; else costs can be overestimated.

    """

    def __init__(
        self, requests: ShapeRequests, shortage: Shortage, nodes: Nodes, most: Counts, unit_costs: UnitCosts, effort: Effort
    ) -> None:
        """Prepare *nodes*; arguments as in ``node_cost.candidate_nodes``.

        Raises:
            EffortSpentError: the effort is spent.

        """
        effort.spend(100 + 12 * len(nodes))
        self._amounts = requests.amounts
        self._effort = effort
        self._limit = most
        self._candidates, self._shares = candidate_nodes(requests, shortage, nodes, most, unit_costs)
        self._choices: dict[object, CostChoice] = {}
        self._unchanged: dict[int, CostChoice] = {}
        self._grids: dict[Counts, Grid] = {}
        self._tables: dict[tuple[int, UnitSet, UnitSet], CostTable] = {}
        self._units: dict[int, UnitSet] = {}
        self._mosts: dict[int, Counts] = {}
        self.all_ways_known = True

    def share(self, unit: int, node: int) -> int:
        """Return the share of the cost of *unit* on *node*."""
        return self._shares[unit, node]

    def units_of(self, area: DomainArea) -> UnitSet:
        """Return the units that can be in the way in *area*."""
        if (units := self._units.get(area.number)) is None:
            units = self._units[area.number] = frozenset(
                unit for node in self._candidates_in(area) for unit, _, _ in self._candidates[node].units
            )
        return units

    def is_small(self, area: DomainArea) -> bool:
        """Return whether a table for *area* is small."""
        return math.prod(each + 1 for each in self._most(area)) <= min(LARGEST_GRID, _SMALL // max(1, len(area.nodes)))

    def table(self, area: DomainArea, evicted: UnitSet, kept: UnitSet) -> CostTable:
        """Return the costs in *area* if *evicted* units are gone at no cost and *kept* units stay; both subsets of ``units_of``.

        Raises:
            TooLargeError: the table would be too large.
            EffortSpentError: the effort is spent.

        """
        key = (area.number, evicted, kept)
        if (table := self._tables.get(key)) is None:
            table = self._tables[key] = self._table(area, evicted, kept)
        return table

    def victims(self, node: int, positions: Sequence[int], evicted: UnitSet, kept: UnitSet) -> list[int]:
        """Return the units at *positions* of a table's choice for *node*."""
        candidates = [unit for unit, _, _ in self._candidates[node].units if unit not in evicted and unit not in kept]
        return [candidates[position] for position in positions]

    def _candidates_in(self, area: DomainArea) -> list[int]:
        return [node for node in area.nodes.tolist() if node in self._candidates]

    def _most(self, area: DomainArea) -> Counts:
        """Return an upper bound of the pods of each shape that *area* holds."""
        if (most := self._mosts.get(area.number)) is None:
            node_limits = zip(*(self._candidates[node].most for node in self._candidates_in(area)), strict=True)
            most = self._mosts[area.number] = tuple(map(min, self._limit, map(sum, node_limits))) or (0,) * len(self._limit)
        return most

    def _table(self, area: DomainArea, evicted: UnitSet, kept: UnitSet) -> CostTable:
        most = self._most(area)
        if (grid := self._grids.get(most)) is None:
            grid = self._grids[most] = Grid(most)
        table = CostTable(grid)
        nodes = self._candidates_in(area)
        self._effort.spend(20 + 4 * len(nodes))
        nodes.sort(key=lambda node: self._candidates[node].rank)
        choices = {node: self._choice(node, evicted, kept) for node in nodes}
        for node in self._useful_nodes(choices, sum(most)):
            self._effort.spend(_NODE_STEPS + len(choices[node].counts) * (_WAY_STEPS + grid.size // POSITIONS_A_STEP))
            table.add(node, choices[node])
        return table

    def _useful_nodes(self, choices: Mapping[int, CostChoice], pods: int) -> list[int]:
        """Return the nodes to use for *pods* pods, without nodes for which as many others are no worse."""
        equal: dict[tuple[Counts, ...], list[int]] = {}
        kept = []
        for node, choice in choices.items():
            if self._candidates[node].alone:
                equal.setdefault(choice.counts, []).append(node)
            else:
                kept.append(node)
        for counts, nodes in equal.items():
            if any(map(any, counts)):
                kept += self._undominated_nodes([(node, choices[node].costs) for node in nodes], pods) if len(nodes) > pods else nodes
        return sorted(kept, key=lambda node: self._candidates[node].rank)

    def _undominated_nodes(self, nodes: Sequence[tuple[int, Ints]], pods: int) -> list[int]:
        """Return those of *nodes*, with the cost of each way, that fewer than *pods* others dominate."""
        costs = np.array([each for _, each in nodes])
        self._effort.spend(4 * len(nodes))
        kept: list[int] = []
        for number in np.argsort(costs.sum(axis=1), kind="stable").tolist():
            if len(kept) < pods or int((costs[kept] <= costs[number]).all(axis=1).sum()) < pods:
                kept.append(number)
        return [nodes[number][0] for number in kept]

    def _choice(self, node: int, evicted: UnitSet, kept: UnitSet) -> CostChoice:
        candidate = self._candidates[node]
        if not any(unit in evicted or unit in kept for unit, _, _ in candidate.units):
            if (choice := self._unchanged.get(node)) is None:
                choice = self._unchanged[node] = self._ways_of(candidate, candidate.free, candidate.units)
            return choice
        given_back = [need for unit, _, need in candidate.units if unit in evicted]
        free = tuple(have + sum(need[row] for need in given_back) for row, have in enumerate(candidate.free))
        return self._ways_of(candidate, free, [each for each in candidate.units if each[0] not in evicted and each[0] not in kept])

    def _ways_of(self, node: CandidateNode, free: Amounts, candidates: Sequence[tuple[int, int, Amounts]]) -> CostChoice:
        """Return the ways of *node* with the amounts *free* and the *candidates* to evict; cached for equal nodes."""
        key = (node.most, node.rows, free, tuple([each[1:] for each in candidates]))
        if (choice := self._choices.get(key)) is None:
            amounts = [tuple(each) for each in self._amounts[:, list(node.rows)].tolist()]
            node_ways, sets, all_known = ways(node.most, free, [need for _, _, need in candidates], amounts)
            self._effort.spend(20 + 5 * sets)
            self.all_ways_known &= all_known
            costs = [sum(candidates[position][1] for position in positions) for _, positions in node_ways]
            choice = self._choices[key] = _undominated([(cost, *way) for cost, way in zip(costs, node_ways, strict=True)])
        return choice


def _undominated(node_ways: Sequence[tuple[int, Counts, tuple[int, ...]]]) -> CostChoice:
    """Return the ways that no other dominates, from tuples of cost, counts and units; the cheapest first."""
    kept: list[tuple[int, Counts, tuple[int, ...]]] = []
    for each in sorted(node_ways, key=lambda each: (each[0], -sum(each[1]))):
        if not any(all(map(int.__le__, each[1], counts)) for _, counts, _ in kept):
            kept.append(each)
    costs = np.array([cost for cost, _, _ in kept], dtype=np.int64)
    return CostChoice(tuple(counts for _, counts, _ in kept), costs, tuple(units for _, _, units in kept))
