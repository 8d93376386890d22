"""Lower bounds on the number of units to evict, from the needs of a root and the free amounts, without a placement.

Each bound is a relaxation: pods can be split, each resource gets back its own best units of a node, and a unit on several nodes counts
in part on each.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.state import PlacementState
from scheduler_core.preemption.units.preemption_units import Units

Floats = npt.NDArray[np.float64]
IMPOSSIBLE = 2**31
"""Bound of an infeasible demand: more units than exist."""
_ROUNDING = 1e-6
_Numbers = TypeVar("_Numbers", Ints, Floats)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class GroupDemand:
    """Least amounts of a group that every plan must place."""

    counts: tuple[tuple[PodShape, int], ...]
    """Number of pods of each shape, descendants included."""
    amounts: tuple[tuple[int, int], ...]
    """(row, amount) of each resource, descendants included."""
    key: str
    children: tuple[GroupDemand, ...] = ()
    """Children whose minimum is not met."""
    missing: int = 0
    """Number of these children to place."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Pods of one shape, by node.

    Attributes:
        now: shape (nodes,): number that fits at present.
        gain: shape (nodes,): upper bound of further pods.
        ratio: shape (nodes,): upper bound of further pods for each unit.

    """

    now: Ints
    gain: Ints
    ratio: Floats


class Shortage:
    """Units that can be evicted, and the resources that they give back by node.

    Attributes:
        node: shape (pairs,): node of each pair of a node and a unit; ordered by node, then by unit.
        unit: shape (pairs,).
        amounts: shape (resources, pairs): resources that the unit uses on the node.
        free: shape (resources, nodes): free amounts; below 0 on an overcommitted node.

    """

    def __init__(self, state: PlacementState, units: Units, pods: Ints, amounts: Ints, released: Ints) -> None:
        """Take indices of *pods* that can be evicted, the requests of each pod as *amounts*, and pods *released* in any case."""
        self._state = state
        ledger = state.ledger
        self.free: Ints = state.nodes.allocatable - ledger.used - ledger.held
        if len(released):
            np.add.at(self.free.T, units.nodes[released], amounts[:, released].T)
        keys, pair_of = np.unique(units.nodes[pods] * max(len(units), 1) + units.unit_of[pods], return_inverse=True)
        self.node: Ints = keys // max(len(units), 1)
        self.unit: Ints = keys % max(len(units), 1)
        self.amounts: Ints = np.zeros((len(amounts), len(keys)), dtype=np.int64)
        np.add.at(self.amounts.T, pair_of, amounts[:, pods].T)
        self._begins = np.flatnonzero(np.diff(self.node, prepend=-1)) if len(self.node) else np.zeros(0, dtype=np.int64)
        self._widths = np.diff(self._begins, append=len(self.node))
        self._touched = np.bincount(self.unit, minlength=len(units))
        self._slots: dict[int, Slots] = {}

    def least_units(self, demand: GroupDemand, placement: Placement) -> int:
        """Return the least number of units to evict so that *demand* can fit inside *placement*; IMPOSSIBLE if none suffices."""
        inside: Bools = np.zeros(len(self._state.nodes), dtype=bool)
        inside[placement.nodes] = True
        bounds = [0, *(self._slot_bound(shape, count, placement) for shape, count in demand.counts)]
        bounds += [self._amount_bound(row, amount, inside) for row, amount in demand.amounts]
        if demand.missing and max(bounds) < IMPOSSIBLE and (demand.missing > 1 or any(child.key for child in demand.children)):
            child_bounds = sorted(self._best_domain_bound(child, placement) for child in demand.children)
            bounds.append(child_bounds[demand.missing - 1] if len(child_bounds) >= demand.missing else IMPOSSIBLE)
        return max(bounds)

    def slots(self, shape: PodShape) -> Slots:
        """Return how many pods of *shape* fit on each node, and how many more can fit."""
        if (slots := self._slots.get(shape.serial)) is None:
            slots = self._slots[shape.serial] = self._count_slots(shape)
        return slots

    def pairs_on(self, nodes: Ints) -> Ints:
        """Return the pairs on *nodes*, ascending."""
        inside: Bools = np.zeros(len(self._state.nodes), dtype=bool)
        inside[nodes] = True
        return np.flatnonzero(inside[self.node])

    def units_on(self, nodes: Ints) -> Ints:
        """Return the units on *nodes*, ascending."""
        units: Ints = np.unique(self.unit[self.pairs_on(nodes)])
        return units

    def _best_domain_bound(self, demand: GroupDemand, placement: Placement) -> int:
        if not demand.key:
            return self.least_units(demand, placement)
        domains = self._state.topology.divide(placement, demand.key).domains
        return min((self.least_units(demand, domain) for domain in domains), default=IMPOSSIBLE)

    def _slot_bound(self, shape: PodShape, count: int, placement: Placement) -> int:
        slots = self.slots(shape)
        short = count - int(slots.now[placement.nodes].sum())
        if short <= 0:
            return 0
        gain, ratio = slots.gain[placement.nodes], slots.ratio[placement.nodes]
        order = np.argsort(-ratio, kind="stable")
        order = order[gain[order] > 0]
        after = np.cumsum(gain[order])
        if not len(order) or after[-1] < short:
            return IMPOSSIBLE
        taken = np.clip(short - (after - gain[order]), 0, gain[order])
        return math.ceil(float((taken / ratio[order]).sum()) - _ROUNDING)

    def _amount_bound(self, row: int, amount: int, inside: Bools) -> int:
        short = amount - int(np.maximum(self.free[row, inside], 0).sum())
        if short <= 0:
            return 0
        on_placement = inside[self.node]
        given = np.bincount(self.unit[on_placement], weights=self.amounts[row, on_placement].astype(float))
        total = np.cumsum(np.sort(given)[::-1])
        # These are sums of floats, so a shortage within rounding is met.
        enough = int(np.searchsorted(total, short * (1 - 1e-12))) + 1
        return enough if enough <= len(total) else IMPOSSIBLE

    def _count_slots(self, shape: PodShape) -> Slots:
        static = self._state.profile.compile(shape)
        now = np.maximum((self.free[static.rows] // static.amounts).min(axis=0), 0)
        eligible: Bools = np.ones(len(now), dtype=bool) if static.mask is None else static.mask
        now = np.where(eligible, now, 0)
        gain: Ints = np.zeros(len(now), dtype=np.int64)
        ratio: Floats = np.zeros(len(now))
        if len(self.node):
            most = self._most_pods(static.rows, static.amounts) - now[self.node]
            most = np.where(eligible[self.node], np.maximum(most, 0), 0)
            share = 1 / self._touched[self.unit]
            cost = self._running_sums(share[np.lexsort((share, self.node))])
            nodes = self.node[self._begins]
            gain[nodes] = np.maximum.reduceat(most, self._begins)
            ratio[nodes] = np.maximum.reduceat(most / cost, self._begins)
        return Slots(now, gain, ratio)

    def _most_pods(self, rows: Ints, amounts: Ints) -> Ints:
        """Return how many pods a node can hold after the eviction of as many units as it has pairs up to this one; shape (pairs,)."""
        most: Ints = np.full(len(self.node), IMPOSSIBLE, dtype=np.int64)
        for row, amount in zip(rows.tolist(), amounts[:, 0].tolist(), strict=True):
            given = self.amounts[row][np.lexsort((-self.amounts[row], self.node))]
            most = np.minimum(most, (self.free[row, self.node] + self._running_sums(given)) // amount)
        return most

    def _running_sums(self, values: _Numbers) -> _Numbers:
        """Return running sums that restart on each node."""
        total: _Numbers = np.cumsum(values, dtype=values.dtype)
        before = total[self._begins] - values[self._begins]
        since: _Numbers = total - np.repeat(before, self._widths)
        return since
