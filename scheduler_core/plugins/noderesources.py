"""NodeResourcesFit and NodeResourcesBalancedAllocation, fused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.model.devices import CANNOT_ALLOCATE
from scheduler_core.model.nodes import CPU, CPU_AND_MEMORY_ROWS, MEMORY, PODS, Ints, NodeTable, ScoredRows
from scheduler_core.model.pods import PodShape
from scheduler_core.model.volumes import BIND_CONFLICT
from scheduler_core.plugins.base import ClusterEvent, Floats, NodeLocalPlugin
from scheduler_core.plugins.node_volume_limits import MAX_VOLUMES
from scheduler_core.plugins.resource_scores import CPU_AND_MEMORY, AllocationScore, BalanceScore

LARGEST = 2**53 // 100
"""Amounts up to here (90 TB of memory on one node) are scored exactly."""
TOO_MANY_PODS = "Too many pods"
_FIT, _BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"
_EVERY_POD = ("cpu", "memory", "ephemeral-storage")
"""Resources that count in the score of a pod that does not request them."""


class NodeResources(NodeLocalPlugin):
    """Requests of pods of one shape against the allocatable resources of nodes.

    *scored* are the rows of the arrays that scores read.
    """

    name = _FIT
    weight = 1
    events = frozenset({ClusterEvent.NODE, ClusterEvent.ROOM})

    def __init__(self, shape: PodShape, scored: ScoredRows = CPU_AND_MEMORY_ROWS) -> None:
        self.rows: Ints = np.array([row for row, _ in shape.requests], dtype=np.int64)
        self.amounts: Ints = np.array([[amount] for _, amount in shape.requests], dtype=np.int64)
        self._requests = shape.requests
        self._charges = shape.charges
        self._scored = shape.scored
        requests = dict(shape.charges)
        rows = (CPU, MEMORY) if isinstance(scored.rows, slice) else scored.rows.tolist()
        self._asked = tuple(requests.get(row, 0) for row in rows)
        self.asked: Ints = np.array(self._asked, dtype=np.int64)[:, None]
        profile, position = shape.profile, scored.position
        self.wide = profile.wide

        def counts(name: str) -> bool:
            return name in position and (name in _EVERY_POD or bool(self._asked[position[name]]))

        fit = [(position[name], weight) for name, weight in profile.strategy.resources if counts(name)]
        amounts, rated = ([each[at] if at in CPU_AND_MEMORY else self._asked[at] for at, _ in fit] for each in (shape.scored, shape.rated))
        self._fit = AllocationScore(profile.strategy, [at for at, _ in fit], [weight for _, weight in fit], amounts, rated)
        balanced = [position[name] for name in profile.balanced if counts(name)]
        self._balance = BalanceScore(balanced, [self._asked[at] for at in balanced])
        self._weights = profile.weight(_FIT, 1), profile.weight(_BALANCED, 1)
        if not any(self._asked[at] for at in balanced):
            # BalancedAllocation skips a pod that requests none of the resources.
            self._weights = self._weights[0], 0

    def ladder(self, capacity: Floats, scored: Ints, used: Ints, depth: int, *, whole: bool = False) -> Ints:
        """Return the weighted sum of the scores; see the base class."""
        whole = whole or bool(capacity[:2].all())
        if self._weights == (1, 1):
            total = self._fit.of_nodes(capacity, scored, used, depth, whole=whole)
            total += self._balance.of_nodes(capacity, used, depth, whole=whole)
            return total.T.astype(np.int64, order="C")
        weighted: Ints = np.zeros((depth, capacity.shape[1]), dtype=np.int64)
        fit, balance = self._weights
        if fit:
            weighted += fit * self._fit.of_nodes(capacity, scored, used, depth, whole=whole).astype(np.int64)
        if balance:
            weighted += balance * self._balance.of_nodes(capacity, used, depth, whole=whole).astype(np.int64)
        return np.ascontiguousarray(weighted.T)

    def score(self, capacity: Sequence[float], scored: Sequence[int], used: Sequence[int]) -> int:
        """Return the same as ``ladder`` for one pod on one node."""
        fit, balance = self._weights
        score = fit * self._fit.of_node(capacity, scored, used) if fit else 0
        return score + balance * self._balance.of_node(capacity, used) if balance else score

    def holds(self, free: Sequence[int]) -> bool:
        """Return whether *free*, by row, is enough for one more pod."""
        return all(free[row] >= amount for row, amount in self._requests)

    def charge(self, free: list[int], scored: list[int], used: list[int]) -> None:
        """Record one more pod on the node."""
        for row, amount in self._charges:
            free[row] -= amount
        for at, amount in enumerate(self._asked):
            used[at] += amount
        cpu, memory = self._scored
        scored[0] += cpu
        scored[1] += memory


def resource_reason(nodes: NodeTable, row: int) -> str:
    """Return the reason of kube-scheduler's filter for a shortage of *row*: NodeResourcesFit, NodeVolumeLimits, VolumeBinding or DynamicResources."""
    if row in nodes.limit_rows:
        return MAX_VOLUMES
    if row in nodes.volume_rows:
        return BIND_CONFLICT
    if row in nodes.counted:
        return CANNOT_ALLOCATE
    return TOO_MANY_PODS if row == PODS else f"Insufficient {nodes.resources[row]}"
