"""The nodes of a domain with what of them matters: how many pods they could hold, and who is in the way."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.state import PlacementState
from scheduler_core.preemption.bounds.cost_table import Counts
from scheduler_core.preemption.bounds.shortage import Shortage
from scheduler_core.preemption.bounds.ways import Amounts


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeSpot:
    """A node that could hold some pod.

    Attributes:
        most: pods of each shape that it holds at most.
        rows: positions of the resources that can be short, among those that pods request.
        free: of these.
        units: those that give back some of it, with their share of the cost and what they give back; the cheapest first.
        alone: whether none of them is in the way on another node.
        rank: that of the first of them.

    """

    most: Counts
    rows: tuple[int, ...]
    free: Amounts
    units: tuple[tuple[int, int, Amounts], ...]
    alone: bool
    rank: int


class Prices:
    """What units cost.

    *weights* by unit; of units that cost the same those of the lowest of *ranks* leave first.
    """

    def __init__(self, weights: Mapping[int, int], ranks: Mapping[int, int]) -> None:
        self.weights = weights
        self.ranks = ranks

    def shares(self, units: Sequence[int], nodes: Sequence[int]) -> dict[tuple[int, int], int]:
        """The cost of each of *units* divided among its nodes."""
        on: dict[int, list[int]] = {}
        for unit, node in zip(units, nodes, strict=True):
            on.setdefault(unit, []).append(node)
        found = {}
        for unit, several in on.items():
            share, rest = divmod(self.weights[unit], len(several))
            for number, node in enumerate(several):
                found[unit, node] = share if number else share + rest
        return found


class Needs:
    """What pods of *shapes* request.

    Attributes:
        rows: the resources.
        amounts: shape (shapes, rows).

    """

    def __init__(self, state: PlacementState, shapes: Sequence[PodShape]) -> None:
        self._state = state
        self._shapes = shapes
        self.rows: Ints = np.unique([row for shape in shapes for row, _ in shape.requests])
        self.amounts: Ints = np.array([[dict(shape.requests).get(row, 0) for row in self.rows.tolist()] for shape in shapes])

    def slots(self, room: Ints, nodes: Nodes, most: Counts) -> Ints:
        """Shape (shapes, nodes): how many pods of each fit in *room*, shape (rows, nodes), no more than *most* of it."""
        found = []
        for shape, amounts, limit in zip(self._shapes, self.amounts, most, strict=True):
            asked = amounts > 0
            slots = np.minimum((room[asked] // amounts[asked, None]).min(axis=0), limit)
            mask = self._state.profile.compile(shape).mask
            found.append(slots if mask is None else np.where(mask[nodes], slots, 0))
        return np.array(found)


def spots(
    needs: Needs, shortage: Shortage, nodes: Nodes, most: Counts, prices: Prices
) -> tuple[dict[int, NodeSpot], dict[tuple[int, int], int]]:
    """Those of *nodes* that could hold pods, and the share of each unit's cost on each node where it is in the way.

    Args:
        needs: of the pods.
        shortage: the units that may leave.
        nodes: ascending.
        most: pods of each shape that are wanted at most.
        prices: of the units.

    """
    pairs = shortage.pairs_of(nodes)
    at = np.searchsorted(nodes, shortage.node[pairs])
    need = shortage.need[needs.rows[:, None], pairs]
    free = shortage.free[needs.rows[:, None], nodes]
    room = free.copy()
    np.add.at(room.T, at, need.T)
    slots = needs.slots(np.maximum(room, 0), nodes, most)
    # A resource of which there is enough for all that a node could hold is no matter there.
    short: Bools = needs.amounts.T @ slots > free
    able: Bools = np.array(slots.any(axis=0))
    matters = (short[:, at] & (need > 0)).any(axis=0) & able[at]
    units, there = shortage.unit[pairs[matters]].tolist(), nodes[at[matters]].tolist()
    shares = prices.shares(units, there)
    on: dict[int, list[tuple[int, int, int, Amounts]]] = {}
    for unit, node, each in zip(units, there, need[:, matters].T.tolist(), strict=True):
        on.setdefault(node, []).append((shares[unit, node], prices.ranks[unit], unit, tuple(each)))
    alone = set(np.flatnonzero(np.bincount(units) == 1).tolist()) if units else set()
    columns = zip(nodes.tolist(), slots.T.tolist(), free.T.tolist(), short.T.tolist(), strict=True)
    found = {node: _spot(each, here, lacking, sorted(on.get(node, ())), alone) for node, each, here, lacking in columns if any(each)}
    return found, shares


def _spot(most: list[int], free: list[int], short: list[bool], units: list[tuple[int, int, int, Amounts]], alone: set[int]) -> NodeSpot:
    rows = tuple(itertools.compress(range(len(short)), short))
    return NodeSpot(
        tuple(most),
        rows,
        tuple(free[row] for row in rows),
        tuple((unit, share, tuple(each[row] for row in rows)) for share, _, unit, each in units),
        all(unit in alone for _, _, unit, _ in units),
        min((rank for _, rank, _, _ in units), default=-1),
    )
