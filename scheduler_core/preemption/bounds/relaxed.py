"""The least that a root costs in one domain, where a unit on several nodes is paid node by node.

Groups go down the areas: one that finds its domain is replaced by what it needs there, a PodGroup by pods, a composite by as many
children as it lacks.  What is to be in an area is divided among the areas inside it in every way, each part being looked at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.bounds.cost_table import ENDLESS, PLACE, POSITIONS_A_STEP, Grid, divide
from scheduler_core.preemption.bounds.domain_cost import Chosen, DomainCost
from scheduler_core.preemption.bounds.opening import Opening
from scheduler_core.preemption.plans.areas import DomainArea
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.kinds import Kinds, Load, Pods
from scheduler_core.preemption.plans.required_pods import RequiredPods

_LOOK = 8
"""Steps that a load in an area takes."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Least:
    """The least cost of a load in an area.

    Attributes:
        cost: ENDLESS if it is not below the limit.
        limit: up to which it was looked for.
        parts: what of it goes to which area inside; or the pods that go to the area as a whole.

    """

    cost: int
    limit: int
    parts: tuple[tuple[DomainArea, Load], ...] = ()
    pods: Pods = ()


class Relaxed:
    """The least cost of *root* in *area*, given who leaves and who stays."""

    def __init__(self, root: RequiredPods, kinds: Kinds, area: DomainArea, scope: DomainCost, effort: Effort) -> None:
        self._load = kinds.load([root])
        self._kinds = kinds
        self._groups = len(kinds.groups)
        self._area = area
        self._scope = scope
        self._effort = effort
        self._opening = Opening(kinds, effort)
        self._grids: dict[Load, Grid] = {}
        self._known: dict[tuple[int, Chosen, Chosen], dict[Load, _Least]] = {}
        self._begin(frozenset(), frozenset(), ENDLESS)

    def bound(self, leaving: Chosen, staying: Chosen) -> int:
        """What the root costs at least, as if its pods could be anywhere in the domain; 0 where that is too much work.

        Raises:
            EffortSpentError: the effort is spent.

        """
        self._begin(leaving, staying, ENDLESS)
        return self._anywhere(self._area, self._load)

    def least(self, leaving: Chosen, staying: Chosen, limit: int) -> tuple[int, dict[int, set[int]]] | None:
        """The least cost below *limit*, and for each unit that is made use of the nodes where it is; None if there is none.

        *leaving* cost nothing.

        Raises:
            TooLargeError: there are too many numbers of pods or groups.
            EffortSpentError: the effort is spent.

        """
        self._begin(leaving, staying, limit)
        cost = self._cost(self._area, self._load)
        if cost >= limit:
            return None
        used: dict[int, set[int]] = {}
        for area, pods in self._traced(self._area, self._load):
            state = self._state(area)
            for node, choice, way in self._scope.table(area, *state).trace(pods):
                for unit in self._scope.leavers(node, choice.units[way], *state):
                    used.setdefault(unit, set()).add(node)
        return cost, used

    def _begin(self, leaving: Chosen, staying: Chosen, limit: int) -> None:
        self._leaving, self._staying, self._limit = leaving, staying, limit
        self._states: dict[int, tuple[Chosen, Chosen]] = {}
        self._here: dict[int, dict[Load, _Least]] = {}
        self._costs_known: dict[tuple[int, Load], Ints] = {}

    def _state(self, area: DomainArea) -> tuple[Chosen, Chosen]:
        """Who of the units of *area* leaves and stays."""
        if (found := self._states.get(area.number)) is None:
            units = self._scope.units_of(area)
            found = self._states[area.number] = self._leaving & units, self._staying & units
        return found

    def _cost(self, area: DomainArea, load: Load) -> int:
        """The least cost of having *load* in *area*; ENDLESS if it is not below the limit."""
        here = self._here.get(area.number)
        if here is None:
            here = self._here[area.number] = self._known.setdefault((area.number, *self._state(area)), {})
        found = here.get(load)
        if found is None or (found.cost >= ENDLESS and found.limit < self._limit):
            self._effort.spend(_LOOK)
            found = here[load] = self._look(area, load)
        return found.cost

    def _look(self, area: DomainArea, load: Load) -> _Least:
        if self._anywhere(area, load) >= self._limit:
            return _Least(ENDLESS, self._limit)
        best = _Least(ENDLESS, self._limit)
        for each in self._opening.opened(area, load):
            if any(each[: self._groups]):
                found = self._divided(area, each)
            else:
                pods = self._kinds.pods_of(each)
                found = _Least(self._scope.table(area, *self._state(area)).at(pods), self._limit, pods=pods)
            if found.cost < min(best.cost, self._limit):
                best = found
        return best

    def _anywhere(self, area: DomainArea, load: Load) -> int:
        """The cost of *load* in *area* as if its pods could be anywhere there; 0 where that is too much work."""
        if not self._scope.cheap(area):
            return 0
        return self._scope.table(area, *self._state(area)).at(self._kinds.least(load))

    def _divided(self, area: DomainArea, load: Load) -> _Least:
        """*load*, of which some group must go further down, among the areas inside *area*."""
        if not area.inner:
            return _Least(ENDLESS, self._limit)
        grid, inner = self._grid(load), self._inner(area, load)
        cost, parts = divide(grid, [self._costs(each, load, grid) for each in inner], self._effort)
        if cost >= self._limit:
            return _Least(ENDLESS, self._limit)
        several = zip(inner, grid.counts(np.array(parts)), strict=True)
        return _Least(cost, self._limit, tuple((each, part) for each, part in several if any(part)))

    def _inner(self, area: DomainArea, load: Load) -> list[DomainArea]:
        """The areas inside *area*; and its other nodes where *load* has pods that may be there."""
        rest = area.rest if any(self._kinds.pods_of(load)) else None
        return area.inner if rest is None else [*area.inner, rest]

    def _costs(self, area: DomainArea, load: Load, grid: Grid) -> Ints:
        """What each part of *load* costs in *area*; ENDLESS where it is not below the limit."""
        at = (area.number, load)
        if (found := self._costs_known.get(at)) is None:
            own = None if area.inner else self._opening.own(area, load)
            found = self._costs_of_parts(area, load, grid) if own is None else self._costs_of_pods(area, own, grid)
            found = self._costs_known[at] = np.where(found < self._limit, found, ENDLESS)
        return found

    def _costs_of_pods(self, area: DomainArea, own: Load, grid: Grid) -> Ints:
        """What each part of *own* costs in *area*, where its groups become pods, by positions of *grid*; ENDLESS elsewhere."""
        pods, begins = self._opening.rows(own, self._grid(own))
        self._effort.spend(PLACE + (len(pods) + grid.size) // POSITIONS_A_STEP)
        costs: Ints = np.full(grid.size, ENDLESS, dtype=np.int64)
        costs[grid.up_to(own)] = np.minimum.reduceat(self._scope.table(area, *self._state(area)).at_each(pods), begins)
        return costs

    def _grid(self, load: Load) -> Grid:
        if (found := self._grids.get(load)) is None:
            found = self._grids[load] = Grid(load)
        return found

    def _costs_of_parts(self, area: DomainArea, load: Load, grid: Grid) -> Ints:
        """What each part of *load* costs in *area*, one looked at after the other."""
        found = {self._kinds.nothing: 0}
        for column, count in enumerate(load):
            for part in tuple(found) if count else ():
                for more in range(1, count + 1):
                    larger = (*part[:column], more, *part[column + 1 :])
                    self._effort.spend()
                    # With more in it an area only costs more.
                    if (cost := self._cost(area, larger)) >= self._limit:
                        break
                    found[larger] = cost
        costs: Ints = np.full(grid.size, ENDLESS, dtype=np.int64)
        costs[[grid.position(part) for part in found]] = list(found.values())
        return costs

    def _traced(self, area: DomainArea, load: Load) -> Iterator[tuple[DomainArea, Pods]]:
        """The areas that have pods, and how many of each shape."""
        found = self._here[area.number][load]
        if found.pods:
            yield area, found.pods
        for inner, part in found.parts:
            self._cost(inner, part)
            yield from self._traced(inner, part)
