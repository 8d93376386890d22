"""Nodes of a placement with their use, and their codes.

The code of a node, a position, orders nodes by all scores but topology spread, then by position: the smallest is the best.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.placement.equal_pods_normalized import bonus_of
from scheduler_core.placement.placement_request import Run
from scheduler_core.plugins.base import Floats
from scheduler_core.plugins.profile import ShapeProfile

_TOP = 2**32
"""Above the sum of all scores of a node."""
_FEW = 512
"""Number of codes up to which sorting all of them is fastest."""


@dataclasses.dataclass(slots=True, eq=False)
class NodesInUse:
    """Nodes of a placement with their use; shapes as for ``equal_pods.fill``."""

    nodes: Nodes
    slots: Ints
    capacity: Floats
    scored: Ints
    used: Ints
    whole: bool

    def part(self, positions: Ints) -> NodesInUse:
        """Return a copy of the nodes at *positions*."""
        capacity, scored, used = (
            self.capacity.take(positions, axis=1),
            self.scored.take(positions, axis=1),
            self.used.take(positions, axis=1),
        )
        return NodesInUse(self.nodes[positions], self.slots[positions], capacity, scored, used, self.whole)

    def with_pods(self, run: Run, profile: ShapeProfile, picks: Nodes) -> NodesInUse:
        """Return the nodes with pods of *run* at the positions *picks*."""
        several, times = np.unique(picks, return_counts=True)
        copy = dataclasses.replace(self, slots=self.slots.copy(), scored=self.scored.copy(), used=self.used.copy())
        copy.slots[several] -= times
        copy.used[:, several] += profile.local.asked * times
        copy.scored[:, several] += np.array(run.shape.scored, dtype=np.int64)[:, None] * times
        return copy


class NodeCodes:
    """Codes of the nodes *at* a placement, for equal pods with *profile*.

    Attributes:
        at: the nodes, which must not change.
        size: number of nodes; the position of a node is its code modulo this number.
        everything: all positions.

    """

    def __init__(self, profile: ShapeProfile, at: NodesInUse) -> None:
        self.at = at
        self.size = size = len(at.nodes)
        self.everything = np.arange(size)
        self._local = profile.local
        self._base = self.everything + _TOP * size
        if profile.bonus is not None or profile.scores:
            self._base -= bonus_of(profile, at.nodes) * size

    def for_pods(self, nodes: Ints, depth: int) -> Ints:
        """Return the codes of *nodes* (positions) for the first pods on each, shape (nodes, depth)."""
        at, base = self.at, self._base
        if nodes is not self.everything:
            at, base = at.part(nodes), base[nodes]
        steps = self._local.ladder(at.capacity, at.scored, at.used, depth, whole=at.whole)
        steps *= -self.size
        steps += base[:, None]
        return steps


def smallest(codes: Ints, count: int) -> Ints:
    """Return the positions of the *count* smallest, in order."""
    if len(codes) <= max(count, _FEW):
        return codes.argsort()[:count]
    chosen = codes.argpartition(count - 1)[:count]
    return chosen[codes[chosen].argsort()]
