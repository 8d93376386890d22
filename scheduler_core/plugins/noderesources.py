"""NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation, fused.

Both scores look at cpu and memory with weight 1, in Go's integer arithmetic.  The arithmetic here is float64 and gives the same
integers: a quotient of whole numbers x/y below 2**53 rounds to the next whole number only if it is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import CPU, MEMORY, PODS, Ints, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.volumes import BIND_CONFLICT
from scheduler_core.plugins.base import ClusterEvent, Floats, NodeLocalPlugin
from scheduler_core.plugins.node_volume_limits import MAX_VOLUMES

LARGEST = 2**53 // 100
"""Amounts up to here (90 TB of memory on one node) are scored exactly."""
TOO_MANY_PODS = "Too many pods"


class NodeResources(NodeLocalPlugin):
    """Requests of pods of one shape against the allocatable resources of nodes."""

    name = "NodeResourcesFit"
    weight = 1
    events = frozenset({ClusterEvent.NODE, ClusterEvent.ROOM})

    def __init__(self, shape: PodShape) -> None:
        self.rows: Ints = np.array([row for row, _ in shape.requests], dtype=np.int64)
        self.amounts: Ints = np.array([[amount] for _, amount in shape.requests], dtype=np.int64)
        requests = dict(shape.requests)
        self._requests = shape.requests
        self._scored = shape.scored
        self._asked = requests.get(CPU, 0), requests.get(MEMORY, 0)
        self._counts: Floats = np.array(shape.scored, dtype=np.float64)[:, None, None]
        self._takes: Floats = np.array(self._asked, dtype=np.float64)[:, None, None]

    def ladder(self, room: Floats, scored: Ints, used: Ints, depth: int, *, whole: bool = False) -> Ints:
        """Return the sum of LeastAllocated and BalancedAllocation; see the base class."""
        whole = whole or bool(room.all())
        room = room[:, :, None]
        least = _least(room, scored[:, :, None] + self._counts * np.arange(1, depth + 1), whole=whole)
        if any(self._asked):
            # BalancedAllocation skips a pod that requests neither.
            least += _balance(room, used[:, :, None] + self._takes * np.arange(depth + 1), whole=whole)
        return least.astype(np.int64)

    def score(self, room: Sequence[float], scored: Sequence[int], used: Sequence[int]) -> int:
        """Return the same as ``ladder`` for one pod on one node."""
        left = [
            math.floor(max(size - (have + more), 0.0) * 100.0 / size) for size, have, more in zip(room, scored, self._scored, strict=True)
        ]
        score = math.floor((left[0] + left[1]) * 0.5)
        if any(self._asked):
            before = _evenness(room, used, (0, 0))
            score += math.floor((_evenness(room, used, self._asked) - before + 50.0) * 0.5) + 50
        return score

    def holds(self, free: Sequence[int]) -> bool:
        """Return whether *free*, by row, is enough for one more pod."""
        return all(free[row] >= amount for row, amount in self._requests)

    def charge(self, free: list[int], scored: list[int], used: list[int]) -> None:
        """Record one more pod on the node."""
        for row, amount in self._requests:
            free[row] -= amount
        cpu, memory = self._asked
        used[0] += cpu
        used[1] += memory
        cpu, memory = self._scored
        scored[0] += cpu
        scored[1] += memory


def resource_reason(nodes: NodeTable, row: int) -> str:
    """Return the reason of kube-scheduler's filter for a shortage of *row*: NodeResourcesFit, NodeVolumeLimits or VolumeBinding."""
    if row in nodes.limit_rows:
        return MAX_VOLUMES
    if row in nodes.volume_rows:
        return BIND_CONFLICT
    return TOO_MANY_PODS if row == PODS else f"Insufficient {nodes.resources[row]}"


def _least(room: Floats, taken: Floats, *, whole: bool) -> Floats:
    """Return LeastAllocated: the mean free share in percent, over the resources that the node has."""
    if not whole:
        return _least_of_some(room, taken)
    left = room - taken
    np.maximum(left, 0.0, out=left)
    left *= 100.0
    left /= room
    np.floor(left, out=left)
    both: Floats = left[0] + left[1]
    both *= 0.5
    return np.floor(both, out=both)


def _least_of_some(room: Floats, taken: Floats) -> Floats:
    some = room > 0
    left = np.floor(np.maximum(room - taken, 0.0) * 100.0 / np.where(some, room, 1.0))
    mean: Floats = np.floor(np.where(some, left, 0.0).sum(axis=0) / np.maximum(some.sum(axis=0), 1))
    return mean


def _balance(room: Floats, used: Floats, *, whole: bool) -> Floats:
    """Return BalancedAllocation: the gain in evenness of cpu and memory use by each further pod."""
    share = used / (room if whole else np.where(room > 0, room, 1.0))
    np.minimum(share, 1.0, out=share)
    balance: Floats = share[0] - share[1]
    balance *= 0.5
    np.abs(balance, out=balance)
    balance = np.floor((1.0 - balance) * 100.0)
    if not whole:
        # A node with one of the two resources is even.
        balance = np.where((room > 0).all(axis=0), balance, 100.0)
    score: Floats = balance[:, 1:] - balance[:, :-1]
    score += 50.0
    score *= 0.5
    np.floor(score, out=score)
    score += 50.0
    return score


def _evenness(room: Sequence[float], used: Sequence[int], more: tuple[int, int]) -> int:
    """Return how evenly cpu and memory would be used, 0 to 100."""
    cpu, memory = (min((have + extra) / size, 1.0) for size, have, extra in zip(room, used, more, strict=True))
    return math.floor((1.0 - abs((cpu - memory) * 0.5)) * 100.0)
