"""Lower bounds that refute an agenda before any of its groups is placed.

A bound underestimates needs and overestimates capacity, so it never refutes a feasible agenda.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from scheduler_core.exact.needs import lacking, satisfied
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.demands import Demands
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Division, Placement, Topology
from scheduler_core.placement.placement_request import PlacementRequest

_MOST_TASKS = 64
"""Number of groups of an agenda that the bounds include."""


class Bounds:
    """Bounds on the groups of a tree, given the demands of the leaves placed so far."""

    def __init__(self, topology: Topology, capacity: Capacity, demands: Demands) -> None:
        self._topology = topology
        self._capacity = capacity
        self._demands = demands
        self._least: dict[int, Ints] = {}
        self._lacking: dict[int, int] = {}
        self._shapes: dict[int, PodShape | None] = {}
        self._rows: dict[tuple[int, int], int] = {}

    def may_fit(self, request: PlacementRequest, domain: Placement) -> bool:
        """Return whether the least need of *request* is free in *domain*, by sums."""
        if (shape := self._only_shape(request)) is not None:
            return self._capacity.slots_in(shape, domain) >= self.lacking(request)
        return bool((self.least(request) <= self._capacity.free_in(domain)).all())

    def refute(self, tasks: Iterable[tuple[PlacementRequest, Placement]]) -> bool:
        """Return whether *tasks*, an agenda, is infeasible; the placements of later tasks contain those of earlier ones."""
        keyed: dict[tuple[int, str], tuple[Placement, list[PlacementRequest]]] = {}
        needed: Ints | None = None
        last: Placement | None = None
        for number, (request, placement) in enumerate(tasks):
            if number >= _MOST_TASKS:
                break
            if last is not None and needed is not None and last is not placement and (needed > self._left(last)).any():
                return True
            least = self.least(request)
            needed = least if needed is None else needed + least
            last = placement
            if request.entity.key:
                keyed.setdefault((placement.serial, request.entity.key), (placement, []))[1].append(request)
        if last is not None and needed is not None and (needed > self._left(last)).any():
            return True
        return any(self._domains_exceeded(requests, placement, key) for (_, key), (placement, requests) in keyed.items())

    def lacking(self, request: PlacementRequest) -> int:
        """Return the least number of pods of *request* to place, from the cache if possible."""
        if (count := self._lacking.get(request.number)) is None:
            count = self._lacking[request.number] = lacking(request)
        return count

    def least(self, request: PlacementRequest) -> Ints:
        """Return the least need of *request* by resource; shape (rows,)."""
        if (amounts := self._least.get(request.number)) is None:
            amounts = self._least[request.number] = self._compute_least(request)
        return amounts

    def _compute_least(self, request: PlacementRequest) -> Ints:
        if satisfied(request):
            return self._capacity.nothing
        if request.leaf:
            amounts = [self._capacity.amounts(run.shape) for run in request.runs for _ in range(run.count)]
            missing = lacking(request)
        else:
            amounts = [self.least(child) for child in request.children if not satisfied(child)]
            missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
        if not amounts:
            return self._capacity.nothing
        least: Ints = np.sort(np.array(amounts), axis=0)[:missing].sum(axis=0)
        return least

    def _left(self, placement: Placement) -> Ints:
        """Return the free amounts of *placement* minus the demands inside it; shape (rows,)."""
        left = self._capacity.free_in(placement)
        for each in self._demands.placements():
            if self._demands.inside(each, placement):
                left = left - self._demanded(each)
        return left

    def _demanded(self, placement: Placement) -> Ints:
        amounts = [self._capacity.amounts(shape) * count for shape, count in self._demands.counts_within(placement)]
        return amounts[0] if len(amounts) == 1 else sum(amounts, self._capacity.nothing)

    def _domains_exceeded(self, requests: list[PlacementRequest], placement: Placement, key: str) -> bool:
        """Return whether the domains of *key* in *placement* cannot hold *requests*, each of which gets one domain."""
        division = self._topology.divide(placement, key)
        if not division.domains:
            return True
        inside = [(each, row) for each in self._demands.placements() if (row := self._row(each, division)) >= 0]
        free = self._capacity.free_by_domain(division)
        if inside:
            free = free.copy()
            for each, row in inside:
                free[:, row] -= self._demanded(each)
        needs = np.array([self.least(request) for request in requests]).T.tolist()
        if any(_exceeds_large_items(each, capacities) for each, capacities in zip(needs, free.tolist(), strict=True)):
            return True
        return any(
            self._slots_exceeded(shape, requests, division, inside)
            for shape in {self._only_shape(request) for request in requests}
            if shape
        )

    def _slots_exceeded(
        self, shape: PodShape, requests: list[PlacementRequest], division: Division, inside: list[tuple[Placement, int]]
    ) -> bool:
        """Return the same for those of *requests* whose pods all have *shape*."""
        needs = [self.lacking(request) for request in requests if self._only_shape(request) is shape]
        slots = self._capacity.slots_by_domain(division, shape)
        if inside:
            slots = slots.copy()
            for each, row in inside:
                slots[row] -= dict(self._demands.counts_within(each)).get(shape, 0)
        return _exceeds_large_items(needs, slots.tolist())

    def _row(self, placement: Placement, division: Division) -> int:
        """Return the row of the domain of *division* that contains *placement*; -1 if there is none."""
        cache_key = (placement.serial, division.first)
        if (result := self._rows.get(cache_key)) is None:
            key = division.domains[0].key
            column = self._topology.nodes.column(key)
            value = int(column.ids[placement.nodes[0]]) if len(placement) else -1
            row = division.rows.get(column.values[value], -1) if value >= 0 else -1
            result = self._rows[cache_key] = row if row >= 0 and self._demands.inside(placement, division.domains[row]) else -1
        return result

    def _only_shape(self, request: PlacementRequest) -> PodShape | None:
        if request.number not in self._shapes:
            shapes = {run.shape for leaf in request.leaves() for run in leaf.runs}
            self._shapes[request.number] = shapes.pop() if len(shapes) == 1 else None
        return self._shapes[request.number]


def _exceeds_large_items(needs: list[int], capacities: list[int]) -> bool:
    """Return whether undivided *needs* do not fit into *capacities*: for some size t, the needs of at least t.

    A capacity r holds at most r // t of them, and none if r is less than t.
    """
    for size in set(needs):
        if size:
            large = [need for need in needs if need >= size]
            usable = [capacity for capacity in capacities if capacity >= size]
            if sum(large) > sum(usable) or len(large) > sum(capacity // size for capacity in usable):
                return True
    return False
