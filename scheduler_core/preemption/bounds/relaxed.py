"""Least cost of a root in one domain, if a unit on several nodes can be paid in part on each node.

Groups move down the areas.  A group that gets its domain is replaced: a PodGroup by pods, a composite by as many children as it lacks.
The load of an area is divided among the inner areas at least cost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.bounds.cost_table import INFINITE, PLACE_STEPS, POSITIONS_A_STEP, Grid, divide
from scheduler_core.preemption.bounds.domain_cost import DomainCost, UnitSet
from scheduler_core.preemption.bounds.group_opening import Opening
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.group_domains import DomainArea
from scheduler_core.preemption.plans.kinds import Kinds, Load, Pods
from scheduler_core.preemption.plans.required_pods import RequiredPods

_LOAD_STEPS = 8
"""Steps for a load in an area."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _LeastCost:
    """Least cost of a load in an area.

    Attributes:
        cost: INFINITE if it is not below the limit.
        limit: limit of the search.
        parts: the load of each inner area.
        pods: the pods in the area as a whole; empty if the load is divided.

    """

    cost: int
    limit: int
    parts: tuple[tuple[DomainArea, Load], ...] = ()
    pods: Pods = ()


class Relaxation:
    """Least cost of *root* in *area*, for given evicted and kept units."""

    def __init__(self, root: RequiredPods, kinds: Kinds, area: DomainArea, domain_cost: DomainCost, effort: Effort) -> None:
        self._load = kinds.load([root])
        self._kinds = kinds
        self._groups = len(kinds.groups)
        self._area = area
        self._domain_cost = domain_cost
        self._effort = effort
        self._opening = Opening(kinds, effort)
        self._grids: dict[Load, Grid] = {}
        self._cache: dict[tuple[int, UnitSet, UnitSet], dict[Load, _LeastCost]] = {}
        self._begin(frozenset(), frozenset(), INFINITE)

    def bound(self, evicted: UnitSet, kept: UnitSet) -> int:
        """Return a lower bound: the cost if pods can be anywhere in the domain; 0 if the table would be too large.

        Raises:
            EffortSpentError: the effort is spent.

        """
        self._begin(evicted, kept, INFINITE)
        return self._anywhere(self._area, self._load)

    def least(self, evicted: UnitSet, kept: UnitSet, limit: int) -> tuple[int, dict[int, set[int]]] | None:
        """Return the least cost below *limit*, and the nodes on which each unit is used; None if there is no such cost.

        Units of *evicted* cost nothing.

        Raises:
            TooLargeError: a grid would be too large.
            EffortSpentError: the effort is spent.

        """
        self._begin(evicted, kept, limit)
        cost = self._cost(self._area, self._load)
        if cost >= limit:
            return None
        used: dict[int, set[int]] = {}
        for area, pods in self._traced(self._area, self._load):
            state = self._state(area)
            for node, choice, way in self._domain_cost.table(area, *state).trace(pods):
                for unit in self._domain_cost.victims(node, choice.units[way], *state):
                    used.setdefault(unit, set()).add(node)
        return cost, used

    def _begin(self, evicted: UnitSet, kept: UnitSet, limit: int) -> None:
        self._evicted, self._kept, self._limit = evicted, kept, limit
        self._states: dict[int, tuple[UnitSet, UnitSet]] = {}
        self._current: dict[int, dict[Load, _LeastCost]] = {}
        self._part_costs: dict[tuple[int, Load], Ints] = {}

    def _state(self, area: DomainArea) -> tuple[UnitSet, UnitSet]:
        """Return the evicted and kept units of *area*."""
        if (state := self._states.get(area.number)) is None:
            units = self._domain_cost.units_of(area)
            state = self._states[area.number] = self._evicted & units, self._kept & units
        return state

    def _cost(self, area: DomainArea, load: Load) -> int:
        """Return the least cost of *load* in *area*; INFINITE if it is not below the limit."""
        costs = self._current.get(area.number)
        if costs is None:
            costs = self._current[area.number] = self._cache.setdefault((area.number, *self._state(area)), {})
        result = costs.get(load)
        if result is None or (result.cost >= INFINITE and result.limit < self._limit):
            self._effort.spend(_LOAD_STEPS)
            result = costs[load] = self._compute(area, load)
        return result.cost

    def _compute(self, area: DomainArea, load: Load) -> _LeastCost:
        if self._anywhere(area, load) >= self._limit:
            return _LeastCost(INFINITE, self._limit)
        best = _LeastCost(INFINITE, self._limit)
        for each in self._opening.opened(area, load):
            if any(each[: self._groups]):
                result = self._divided(area, each)
            else:
                pods = self._kinds.pods_in(each)
                result = _LeastCost(self._domain_cost.table(area, *self._state(area)).cost_of(pods), self._limit, pods=pods)
            if result.cost < min(best.cost, self._limit):
                best = result
        return best

    def _anywhere(self, area: DomainArea, load: Load) -> int:
        """Return the cost of *load* in *area* if its pods can be anywhere there; 0 if the table would be too large."""
        if not self._domain_cost.is_small(area):
            return 0
        return self._domain_cost.table(area, *self._state(area)).cost_of(self._kinds.least(load))

    def _divided(self, area: DomainArea, load: Load) -> _LeastCost:
        """Return the least cost of *load*, with a group that needs an inner area, divided among the areas inside *area*."""
        if not area.inner:
            return _LeastCost(INFINITE, self._limit)
        grid, inner = self._grid(load), self._inner(area, load)
        cost, parts = divide(grid, [self._costs(each, load, grid) for each in inner], self._effort)
        if cost >= self._limit:
            return _LeastCost(INFINITE, self._limit)
        shares = zip(inner, grid.counts(np.array(parts)), strict=True)
        return _LeastCost(cost, self._limit, tuple((each, part) for each, part in shares if any(part)))

    def _inner(self, area: DomainArea, load: Load) -> list[DomainArea]:
        """Return the areas inside *area*, and its other nodes if *load* has pods without a domain."""
        rest = area.rest if any(self._kinds.pods_in(load)) else None
        return area.inner if rest is None else [*area.inner, rest]

    def _costs(self, area: DomainArea, load: Load, grid: Grid) -> Ints:
        """Return the cost of each part of *load* in *area*; INFINITE if it is not below the limit."""
        key = (area.number, load)
        if (costs := self._part_costs.get(key)) is None:
            own = None if area.inner else self._opening.own(area, load)
            costs = self._costs_of_parts(area, load, grid) if own is None else self._costs_of_pods(area, own, grid)
            costs = self._part_costs[key] = np.where(costs < self._limit, costs, INFINITE)
        return costs

    def _costs_of_pods(self, area: DomainArea, own: Load, grid: Grid) -> Ints:
        """Return the cost of each part of *own* in *area*, its groups replaced by pods; by positions of *grid*, INFINITE elsewhere."""
        pods, begins = self._opening.rows(own, self._grid(own))
        self._effort.spend(PLACE_STEPS + (len(pods) + grid.size) // POSITIONS_A_STEP)
        costs: Ints = np.full(grid.size, INFINITE, dtype=np.int64)
        costs[grid.up_to(own)] = np.minimum.reduceat(self._domain_cost.table(area, *self._state(area)).costs_of(pods), begins)
        return costs

    def _grid(self, load: Load) -> Grid:
        if (grid := self._grids.get(load)) is None:
            grid = self._grids[load] = Grid(load)
        return grid

    def _costs_of_parts(self, area: DomainArea, load: Load, grid: Grid) -> Ints:
        """Return the cost of each part of *load* in *area*, one part after the other."""
        part_costs = {self._kinds.nothing: 0}
        for column, count in enumerate(load):
            for part in tuple(part_costs) if count else ():
                for added in range(1, count + 1):
                    larger = (*part[:column], added, *part[column + 1 :])
                    self._effort.spend()
                    # Costs never fall as the load grows.
                    if (cost := self._cost(area, larger)) >= self._limit:
                        break
                    part_costs[larger] = cost
        costs: Ints = np.full(grid.size, INFINITE, dtype=np.int64)
        costs[[grid.position(part) for part in part_costs]] = list(part_costs.values())
        return costs

    def _traced(self, area: DomainArea, load: Load) -> Iterator[tuple[DomainArea, Pods]]:
        """Yield the areas that hold pods, with the number of pods of each shape."""
        result = self._current[area.number][load]
        if result.pods:
            yield area, result.pods
        for inner, part in result.parts:
            self._cost(inner, part)
            yield from self._traced(inner, part)
