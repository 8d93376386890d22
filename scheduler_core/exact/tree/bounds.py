"""What refutes an agenda before anything of it is tried: sums of what it needs against what is free.

All bounds count less than what is needed, and more than what there is, so that what they refute has no solution.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from scheduler_core.exact.needs import lacking, leaves, satisfied
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.wishes import Wishes
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Division, Placement, Topology
from scheduler_core.placement.placement_request import PlacementRequest

_FAR = 64
"""Groups of an agenda that are looked at."""


class Bounds:
    """Bounds on a tree's groups beside the wishes of those that are placed."""

    def __init__(self, topology: Topology, capacity: Capacity, wishes: Wishes) -> None:
        self._topology = topology
        self._capacity = capacity
        self._wishes = wishes
        self._least: dict[int, Ints] = {}
        self._lacking: dict[int, int] = {}
        self._shapes: dict[int, PodShape | None] = {}
        self._rows: dict[tuple[int, int], int] = {}

    def room_for(self, request: PlacementRequest, domain: Placement) -> bool:
        """Whether the sums of what *request* needs are free in *domain*."""
        if (shape := self._only_shape(request)) is not None:
            return self._capacity.total(shape, domain) >= self.lacking(request)
        return bool((self.least(request) <= self._capacity.room(domain)).all())

    def refute(self, tasks: Iterable[tuple[PlacementRequest, Placement]]) -> bool:
        """Whether *tasks*, an agenda's, cannot be met: the placements of later ones contain those of earlier ones."""
        keyed: dict[tuple[int, str], tuple[Placement, list[PlacementRequest]]] = {}
        needed: Ints | None = None
        last: Placement | None = None
        for number, (request, placement) in enumerate(tasks):
            if number >= _FAR:
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
        return any(self._crowded(placement_requests, placement, key) for (_, key), (placement, placement_requests) in keyed.items())

    def lacking(self, request: PlacementRequest) -> int:
        """How many pods of *request* must be placed at least, worked out once."""
        if (found := self._lacking.get(request.number)) is None:
            found = self._lacking[request.number] = lacking(request)
        return found

    def least(self, request: PlacementRequest) -> Ints:
        """What *request* needs at least of each resource; shape (rows,)."""
        if (found := self._least.get(request.number)) is None:
            found = self._least[request.number] = self._work_out(request)
        return found

    def _work_out(self, request: PlacementRequest) -> Ints:
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
        found: Ints = np.sort(np.array(amounts), axis=0)[:missing].sum(axis=0)
        return found

    def _left(self, placement: Placement) -> Ints:
        """What is free in *placement* beside the wishes for parts of it."""
        left = self._capacity.room(placement)
        for each in self._wishes.placements():
            if self._wishes.inside(each, placement):
                left = left - self._wanted(each)
        return left

    def _wanted(self, placement: Placement) -> Ints:
        parts = [self._capacity.amounts(shape) * count for shape, count in self._wishes.counts_within(placement)]
        return parts[0] if len(parts) == 1 else sum(parts, self._capacity.nothing)

    def _crowded(self, placement_requests: list[PlacementRequest], placement: Placement, key: str) -> bool:
        """Whether *forms*, each of which takes one domain of *key* in *placement*, have no room in all of these."""
        division = self._topology.divide(placement, key)
        if not division.domains:
            return True
        inside = [(each, row) for each in self._wishes.placements() if (row := self._row(each, division)) >= 0]
        rooms = self._capacity.rooms(division)
        if inside:
            rooms = rooms.copy()
            for each, row in inside:
                rooms[:, row] -= self._wanted(each)
        needs = np.array([self.least(request) for request in placement_requests]).T.tolist()
        if any(_too_many(each, room) for each, room in zip(needs, rooms.tolist(), strict=True)):
            return True
        return any(
            self._crowded_by(shape, placement_requests, division, inside)
            for shape in {self._only_shape(request) for request in placement_requests}
            if shape
        )

    def _crowded_by(
        self, shape: PodShape, placement_requests: list[PlacementRequest], division: Division, inside: list[tuple[Placement, int]]
    ) -> bool:
        """The same for those of *forms* whose pods are all of one shape."""
        needs = [self.lacking(request) for request in placement_requests if self._only_shape(request) is shape]
        slots = self._capacity.totals(division, shape)
        if inside:
            slots = slots.copy()
            for each, row in inside:
                slots[row] -= dict(self._wishes.counts_within(each)).get(shape, 0)
        return _too_many(needs, slots.tolist())

    def _row(self, placement: Placement, division: Division) -> int:
        """The domain of *division* that contains *placement*; -1 if there is none."""
        at = (placement.serial, division.first)
        if (found := self._rows.get(at)) is None:
            key = division.domains[0].key
            column = self._topology.nodes.column(key)
            value = int(column.ids[placement.nodes[0]]) if len(placement) else -1
            row = division.rows.get(column.values[value], -1) if value >= 0 else -1
            found = self._rows[at] = row if row >= 0 and self._wishes.inside(placement, division.domains[row]) else -1
        return found

    def _only_shape(self, request: PlacementRequest) -> PodShape | None:
        if request.number not in self._shapes:
            shapes = {run.shape for leaf in leaves(request) for run in leaf.runs}
            self._shapes[request.number] = shapes.pop() if len(shapes) == 1 else None
        return self._shapes[request.number]


def _too_many(needs: list[int], rooms: list[int]) -> bool:
    """Whether *needs*, none of them divided, do not fit into *rooms*: by those that are at least so large, for every such size.

    Of needs of at least t a room r holds r // t at most, and none if it is less than t.
    """
    for size in set(needs):
        if size:
            large = [need for need in needs if need >= size]
            able = [room for room in rooms if room >= size]
            if sum(large) > sum(able) or len(large) > sum(room // size for room in able):
                return True
    return False
