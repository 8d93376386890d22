"""How few units must leave at least: bounds from what a root needs and what is free, nothing being placed.

Every bound is a relaxation, so no plan can do with less: as if the pods could be cut in pieces, as if the units of a node gave
back the most in every resource at once, and as if a unit on several nodes cost only its share on each.
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
from scheduler_core.preemption.units.units import Units

Floats = npt.NDArray[np.float64]
NEVER = 2**31
"""More units than there are: however many leave, it is not enough."""
_ROUNDING = 1e-6
_Numbers = TypeVar("_Numbers", Ints, Floats)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class GroupDemand:
    """What of a group must be placed at least, in every plan."""

    counts: tuple[tuple[PodShape, int], ...]
    """So many pods of each shape, all that is below included."""
    amounts: tuple[tuple[int, int], ...]
    """(row, amount): so much altogether."""
    key: str
    children: tuple[GroupDemand, ...] = ()
    """Those whose minimum is not met."""
    missing: int = 0
    """How many of these must be placed."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Pods of one shape, by node.

    Attributes:
        now: shape (nodes,): how many fit as things stand.
        gain: shape (nodes,): how many more at most.
        ratio: shape (nodes,): how many more for each unit at most.

    """

    now: Ints
    gain: Ints
    ratio: Floats


class Shortage:
    """The units that may leave, with what they would give back where.

    Attributes:
        node: shape (pairs,): by node, and there by unit.
        unit: shape (pairs,).
        need: shape (resources, pairs): what the unit takes on the node.
        free: shape (resources, nodes): what is left; below 0 where a node has more than it can hold.

    """

    def __init__(self, state: PlacementState, units: Units, pods: Ints, amounts: Ints, released: Ints) -> None:
        """*pods*: indices of those that may leave; *amounts*: what each takes; *released*: of those that leave anyway."""
        self._state = state
        ledger = state.ledger
        self.free: Ints = state.nodes.allocatable - ledger.used - ledger.held
        if len(released):
            np.add.at(self.free.T, units.nodes[released], amounts[:, released].T)
        keys, at = np.unique(units.nodes[pods] * max(len(units), 1) + units.unit_of[pods], return_inverse=True)
        self.node: Ints = keys // max(len(units), 1)
        self.unit: Ints = keys % max(len(units), 1)
        self.need: Ints = np.zeros((len(amounts), len(keys)), dtype=np.int64)
        np.add.at(self.need.T, at, amounts[:, pods].T)
        self._begins = np.flatnonzero(np.diff(self.node, prepend=-1)) if len(self.node) else np.zeros(0, dtype=np.int64)
        self._widths = np.diff(self._begins, append=len(self.node))
        self._touched = np.bincount(self.unit, minlength=len(units))
        self._slots: dict[int, Slots] = {}

    def at_least(self, demand: GroupDemand, placement: Placement) -> int:
        """Fewest units that must leave so that *demand* can be met inside *placement*; NEVER where it cannot."""
        inside: Bools = np.zeros(len(self._state.nodes), dtype=bool)
        inside[placement.nodes] = True
        bounds = [0, *(self._for_slots(shape, count, placement) for shape, count in demand.counts)]
        bounds += [self._for_amount(row, amount, inside) for row, amount in demand.amounts]
        if demand.missing and max(bounds) < NEVER and (demand.missing > 1 or any(child.key for child in demand.children)):
            below = sorted(self._in_some_domain(child, placement) for child in demand.children)
            bounds.append(below[demand.missing - 1] if len(below) >= demand.missing else NEVER)
        return max(bounds)

    def slots(self, shape: PodShape) -> Slots:
        """How many pods of *shape* fit on each node, and how many more could."""
        if (found := self._slots.get(shape.serial)) is None:
            found = self._slots[shape.serial] = self._count(shape)
        return found

    def pairs_of(self, nodes: Ints) -> Ints:
        """The pairs on *nodes*, ascending."""
        inside: Bools = np.zeros(len(self._state.nodes), dtype=bool)
        inside[nodes] = True
        return np.flatnonzero(inside[self.node])

    def units_on(self, nodes: Ints) -> Ints:
        """The units on *nodes*, ascending."""
        found: Ints = np.unique(self.unit[self.pairs_of(nodes)])
        return found

    def _in_some_domain(self, demand: GroupDemand, placement: Placement) -> int:
        if not demand.key:
            return self.at_least(demand, placement)
        domains = self._state.topology.divide(placement, demand.key).domains
        return min((self.at_least(demand, domain) for domain in domains), default=NEVER)

    def _for_slots(self, shape: PodShape, count: int, placement: Placement) -> int:
        slots = self.slots(shape)
        short = count - int(slots.now[placement.nodes].sum())
        if short <= 0:
            return 0
        gain, ratio = slots.gain[placement.nodes], slots.ratio[placement.nodes]
        order = np.argsort(-ratio, kind="stable")
        order = order[gain[order] > 0]
        after = np.cumsum(gain[order])
        if not len(order) or after[-1] < short:
            return NEVER
        taken = np.clip(short - (after - gain[order]), 0, gain[order])
        return math.ceil(float((taken / ratio[order]).sum()) - _ROUNDING)

    def _for_amount(self, row: int, amount: int, inside: Bools) -> int:
        short = amount - int(np.maximum(self.free[row, inside], 0).sum())
        if short <= 0:
            return 0
        here = inside[self.node]
        given = np.bincount(self.unit[here], weights=self.need[row, here].astype(float))
        total = np.cumsum(np.sort(given)[::-1])
        # Sums of floats: a shortage that is met but for rounding is met.
        enough = int(np.searchsorted(total, short * (1 - 1e-12))) + 1
        return enough if enough <= len(total) else NEVER

    def _count(self, shape: PodShape) -> Slots:
        static = self._state.profile.compile(shape)
        now = np.maximum((self.free[static.rows] // static.amounts).min(axis=0), 0)
        able: Bools = np.ones(len(now), dtype=bool) if static.mask is None else static.mask
        now = np.where(able, now, 0)
        gain: Ints = np.zeros(len(now), dtype=np.int64)
        ratio: Floats = np.zeros(len(now))
        if len(self.node):
            most = self._most(static.rows, static.amounts) - now[self.node]
            most = np.where(able[self.node], np.maximum(most, 0), 0)
            share = 1 / self._touched[self.unit]
            cost = self._summed(share[np.lexsort((share, self.node))])
            where = self.node[self._begins]
            gain[where] = np.maximum.reduceat(most, self._begins)
            ratio[where] = np.maximum.reduceat(most / cost, self._begins)
        return Slots(now, gain, ratio)

    def _most(self, rows: Ints, amounts: Ints) -> Ints:
        """Shape (pairs,): how many pods a node could hold at most once so many units have left as stand up to here."""
        most: Ints = np.full(len(self.node), NEVER, dtype=np.int64)
        for row, amount in zip(rows.tolist(), amounts[:, 0].tolist(), strict=True):
            given = self.need[row][np.lexsort((-self.need[row], self.node))]
            most = np.minimum(most, (self.free[row, self.node] + self._summed(given)) // amount)
        return most

    def _summed(self, values: _Numbers) -> _Numbers:
        """Running sums that begin anew on each node."""
        total: _Numbers = np.cumsum(values, dtype=values.dtype)
        before = total[self._begins] - values[self._begins]
        since: _Numbers = total - np.repeat(before, self._widths)
        return since
