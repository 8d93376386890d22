"""Candidate nodes of a domain: how many pods they can hold, and which units are in the way."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.state import PlacementState
from scheduler_core.preemption.bounds.cost_table import Counts
from scheduler_core.preemption.bounds.node_fillings import Amounts
from scheduler_core.preemption.bounds.shortage import Shortage


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CandidateNode:
    """A node that could hold some pod.

    Attributes:
        most: upper bound of pods of each shape.
        rows: indices, among the requested resources, of those that can be short.
        free: free amounts of these resources.
        units: units in the way: number, share of the cost, and amounts that they give back; the cheapest first.
        alone: True if none of them is in the way on another node.
        rank: rank of the first of them.

    """

    most: Counts
    rows: tuple[int, ...]
    free: Amounts
    units: tuple[tuple[int, int, Amounts], ...]
    alone: bool
    rank: int


class UnitCosts:
    """Cost of units: *weights* by unit.

    Of units with equal cost, those with the lowest of *ranks* are evicted first.
    """

    def __init__(self, weights: Mapping[int, int], ranks: Mapping[int, int]) -> None:
        self.weights = weights
        self.ranks = ranks

    def shares(self, units: Sequence[int], nodes: Sequence[int]) -> dict[tuple[int, int], int]:
        """Return the cost of each of *units* divided among its *nodes*, by unit and node."""
        nodes_of: dict[int, list[int]] = {}
        for unit, node in zip(units, nodes, strict=True):
            nodes_of.setdefault(unit, []).append(node)
        shares = {}
        for unit, several in nodes_of.items():
            share, rest = divmod(self.weights[unit], len(several))
            for number, node in enumerate(several):
                shares[unit, node] = share if number else share + rest
        return shares


class ShapeRequests:
    """Requests of pods of *shapes*.

    Attributes:
        rows: requested resources.
        amounts: shape (shapes, rows).

    """

    def __init__(self, state: PlacementState, shapes: Sequence[PodShape]) -> None:
        self._state = state
        self._shapes = shapes
        self.rows: Ints = np.unique([row for shape in shapes for row, _ in shape.requests])
        self.amounts: Ints = np.array([[dict(shape.requests).get(row, 0) for row in self.rows.tolist()] for shape in shapes])

    def slots(self, free: Ints, nodes: Nodes, most: Counts) -> Ints:
        """Return how many pods of each shape fit in *free*, shape (rows, nodes), at most *most* of it; shape (shapes, nodes)."""
        rows = []
        for shape, amounts, limit in zip(self._shapes, self.amounts, most, strict=True):
            requested = amounts > 0
            slots = np.minimum((free[requested] // amounts[requested, None]).min(axis=0), limit)
            mask = self._state.profile.compile(shape).mask
            rows.append(slots if mask is None else np.where(mask[nodes], slots, 0))
        return np.array(rows)


def candidate_nodes(
    requests: ShapeRequests, shortage: Shortage, nodes: Nodes, most: Counts, unit_costs: UnitCosts
) -> tuple[dict[int, CandidateNode], dict[tuple[int, int], int]]:
    """Return the nodes that could hold pods, and the share of each unit's cost on each node where it is in the way.

    Args:
        requests: of the pods.
        shortage: units that can be evicted.
        nodes: ascending.
        most: largest number of pods of each shape.
        unit_costs: of the units.

    """
    pairs = shortage.pairs_on(nodes)
    position = np.searchsorted(nodes, shortage.node[pairs])
    given_back = shortage.amounts[requests.rows[:, None], pairs]
    free = shortage.free[requests.rows[:, None], nodes]
    free_after = free.copy()
    np.add.at(free_after.T, position, given_back.T)
    slots = requests.slots(np.maximum(free_after, 0), nodes, most)
    # A resource is relevant on a node only if it can be short there.
    short: Bools = requests.amounts.T @ slots > free
    usable: Bools = np.array(slots.any(axis=0))
    relevant = (short[:, position] & (given_back > 0)).any(axis=0) & usable[position]
    units, pair_nodes = shortage.unit[pairs[relevant]].tolist(), nodes[position[relevant]].tolist()
    shares = unit_costs.shares(units, pair_nodes)
    units_on: dict[int, list[tuple[int, int, int, Amounts]]] = {}
    for unit, node, each in zip(units, pair_nodes, given_back[:, relevant].T.tolist(), strict=True):
        units_on.setdefault(node, []).append((shares[unit, node], unit_costs.ranks[unit], unit, tuple(each)))
    alone = set(np.flatnonzero(np.bincount(units) == 1).tolist()) if units else set()
    columns = zip(nodes.tolist(), slots.T.tolist(), free.T.tolist(), short.T.tolist(), strict=True)
    candidates = {
        node: _candidate_node(each, free_amounts, is_short, sorted(units_on.get(node, ())), alone)
        for node, each, free_amounts, is_short in columns
        if any(each)
    }
    return candidates, shares


def _candidate_node(
    most: list[int], free: list[int], short: list[bool], units: list[tuple[int, int, int, Amounts]], alone: set[int]
) -> CandidateNode:
    rows = tuple(itertools.compress(range(len(short)), short))
    return CandidateNode(
        tuple(most),
        rows,
        tuple(free[row] for row in rows),
        tuple((unit, share, tuple(each[row] for row in rows)) for share, _, unit, each in units),
        all(unit in alone for _, _, unit, _ in units),
        min((rank for _, rank, _, _ in units), default=-1),
    )
