"""How much of each shape fits where, before anything of the tree is placed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.exact.packing.packing import EqualPods, Packed, pack
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.topology import Division, Placement
from scheduler_core.placement.state import PlacementState

Wish = tuple[PodShape, Placement, int]
"""So many pods of a shape within a placement."""
Assigned = dict[tuple[int, int], Nodes]
"""Nodes, one a pod, by the serials of shape and placement."""


class Capacity:
    """Free room of a site, and whether wishes can be met in it together.

    With *members* it is what would be free if only they ran.
    """

    def __init__(
        self, state: PlacementState, shapes: Sequence[PodShape], budget: StepBudget, members: Sequence[PodRecord] | None = None
    ) -> None:
        self._state = state
        self._budget = budget
        self.rows = np.array(sorted({row for shape in shapes for row, _ in shape.requests}), dtype=np.int64)
        taken = state.ledger.used[self.rows] + state.ledger.held[self.rows] if members is None else self._taken(members)
        self.free: Ints = np.maximum(state.nodes.allocatable[self.rows] - taken, 0)
        self._amounts = {shape.serial: self._of(shape) for shape in shapes}
        self._shapes = shapes
        self.nothing: Ints = np.zeros(len(self.rows), dtype=np.int64)
        self._columns: Ints | None = None
        self._room: dict[int, Ints] = {}
        self._rooms: dict[int, Ints] = {}
        self._totals: dict[tuple[int, int], Ints] = {}
        self._by_shape: dict[int, Ints] = {}
        self._slots: dict[tuple[int, int], Ints] = {}
        self._sums: dict[tuple[int, int], int] = {}
        self._masks: dict[int, int] = {}
        self._packed: dict[tuple[frozenset[tuple[int, int, int]], bool], Assigned | None] = {}

    def slots(self, shape: PodShape, placement: Placement) -> Ints:
        """How many pods of *shape* each node of *placement* holds; shape (nodes of it,)."""
        at = (shape.serial, placement.serial)
        if (found := self._slots.get(at)) is None:
            found = self._slots[at] = self.everywhere(shape)[placement.nodes]
        return found

    def total(self, shape: PodShape, placement: Placement) -> int:
        """How many pods of *shape* fit in *placement*."""
        at = (shape.serial, placement.serial)
        if (found := self._sums.get(at)) is None:
            found = self._sums[at] = int(self.slots(shape, placement).sum())
        return found

    def fits(self, wishes: Sequence[Wish], *, thorough: bool = True) -> bool:
        """Whether *wishes* can be met together; if not *thorough*, whether that is found soon.

        Raises:
            StepsSpentError: the budget is spent before that is known.

        """
        return self._together(wishes, thorough=thorough) is not None

    def assignment(self, wishes: Sequence[Wish]) -> Assigned:
        """Nodes, one a pod, for each shape and placement (by serial), where ``fits``."""
        found = self._together(wishes, thorough=True)
        if found is None:
            raise ValueError("these wishes cannot be met together")
        return found

    def profile(self, placement: Placement) -> bytes:
        """The free room of the nodes of *placement*, and how many pods of each shape they hold, whatever the order of the nodes."""
        if self._columns is None:
            self._columns = np.concatenate((self.free, *(self.everywhere(shape)[None, :] for shape in self._shapes)))
        columns = self._columns[:, placement.nodes]
        return columns.tobytes() if len(placement) == 1 else columns[:, np.lexsort(columns)].tobytes()

    def amounts(self, shape: PodShape) -> Ints:
        """What a pod of *shape* takes; shape (rows,)."""
        return self._amounts[shape.serial]

    def room(self, placement: Placement) -> Ints:
        """What is free in *placement*; shape (rows,)."""
        if (found := self._room.get(placement.serial)) is None:
            found = self._room[placement.serial] = self.free[:, placement.nodes].sum(axis=1)
        return found

    def rooms(self, division: Division) -> Ints:
        """What is free in each domain; shape (rows, domains)."""
        if (found := self._rooms.get(division.first)) is None:
            found = self._rooms[division.first] = _by_domain(self.free, division)
        return found

    def totals(self, division: Division, shape: PodShape) -> Ints:
        """How many pods of *shape* each domain holds; shape (domains,)."""
        at = (division.first, shape.serial)
        if (found := self._totals.get(at)) is None:
            found = self._totals[at] = _by_domain(self.everywhere(shape)[None, :], division)[0]
        return found

    def _together(self, wishes: Sequence[Wish], *, thorough: bool) -> Assigned | None:
        counts: dict[tuple[int, int], int] = {}
        by_key: dict[tuple[int, int], Wish] = {}
        for wish in wishes:
            at = (wish[0].serial, wish[1].serial)
            counts[at] = counts.get(at, 0) + wish[2]
            by_key[at] = wish
        found: Assigned = {}
        for part in self._apart([(by_key[at][0], by_key[at][1], counts[at]) for at in sorted(counts)]):
            key = frozenset((shape.serial, placement.serial, count) for shape, placement, count in part)
            asked = key, thorough or len(part) == 1
            if asked not in self._packed:
                self._packed[asked] = self._pack(part, thorough=asked[1])
            if (packed := self._packed[asked]) is None:
                return None
            # What was found is as good for whoever asks thoroughly.
            self._packed[key, True] = packed
            found |= packed
        return found

    def _apart(self, wishes: Sequence[Wish]) -> list[list[Wish]]:
        """Wishes that share no node, not by way of others either, do not concern one another."""
        parts: list[tuple[int, list[Wish]]] = []
        for wish in wishes:
            mask, joined = self._mask(wish[1]), [wish]
            apart = []
            for other, members in parts:
                if other & mask:
                    mask |= other
                    joined = [*members, *joined]
                else:
                    apart.append((other, members))
            parts = [*apart, (mask, joined)]
        return [members for _, members in parts]

    def _mask(self, placement: Placement) -> int:
        """The nodes of *placement* as bits."""
        if (found := self._masks.get(placement.serial)) is None:
            there: Bools = np.zeros(len(self._state.nodes), dtype=bool)
            there[placement.nodes] = True
            found = self._masks[placement.serial] = int.from_bytes(np.packbits(there).tobytes())
        return found

    def _pack(self, wishes: Sequence[Wish], *, thorough: bool) -> Assigned | None:
        there: Bools = np.zeros(len(self._state.nodes), dtype=bool)
        for _, placement, _ in wishes:
            there[placement.nodes] = True
        nodes = there.nonzero()[0]
        demands = []
        for shape, placement, count in wishes:
            slots = np.zeros(len(nodes), dtype=np.int64)
            slots[np.searchsorted(nodes, placement.nodes)] = self.slots(shape, placement)
            demands.append(EqualPods(self._amounts[shape.serial], count, slots))
        packed: Packed | None = pack(self.free[:, nodes], demands, self._budget, thorough=thorough)
        if packed is None:
            return None
        return {
            (shape.serial, placement.serial): np.repeat(nodes, taken) for (shape, placement, _), taken in zip(wishes, packed, strict=True)
        }

    def _taken(self, members: Sequence[PodRecord]) -> Ints:
        taken: Ints = np.zeros((len(self.rows), len(self._state.nodes)), dtype=np.int64)
        for pod in members:
            taken[:, pod.node] += self._of(pod.shape)
        return taken

    def _of(self, shape: PodShape) -> Ints:
        requests = dict(shape.requests)
        return np.array([requests.get(row, 0) for row in self.rows.tolist()], dtype=np.int64)

    def everywhere(self, shape: PodShape) -> Ints:
        """How many pods of *shape* each node holds by itself; shape (nodes,)."""
        if (found := self._by_shape.get(shape.serial)) is None:
            amounts = self._amounts[shape.serial]
            needed = amounts > 0
            found = (self.free[needed] // amounts[needed][:, None]).min(axis=0)
            mask = self._state.profile.compile(shape).mask
            if mask is not None:
                found = np.where(mask, found, 0)
            self._by_shape[shape.serial] = found
        return found


def _by_domain(amounts: Ints, division: Division) -> Ints:
    """*amounts*, shape (rows, nodes), summed over the nodes of each domain."""
    nodes = np.concatenate([domain.nodes for domain in division.domains])
    begins = np.cumsum([0, *(len(domain) for domain in division.domains[:-1])])
    found: Ints = np.add.reduceat(amounts[:, nodes], begins, axis=1)
    return found
