"""Pods of few shapes in many short runs, one after the other, each on the best node.

Between two pods only the node of the last one changes.  So each shape keeps its nodes in a heap, the best first, and a node that
takes a pod comes into every heap anew; what it was before is passed over when it is met.  As no pod can be on a node that so many
others precede as there are pods, only so many nodes are in a heap at first.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.placement.equal_pods import best, slots_of
from scheduler_core.placement.placement_request import Run
from scheduler_core.plugins.base import Floats, NodeLocalPlugin
from scheduler_core.plugins.profile import ShapeProfile

_PODS_A_RUN = 4
"""Where runs are longer on average, each is worked out at once."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """One shape."""

    local: NodeLocalPlugin
    able: tuple[bool, ...] | None
    heap: list[tuple[int, int, int]]
    """(score, negative; node; how many pods it had taken)."""


class InterleavedShapes:
    """A placement while pods are put on it, given as arrays over its nodes; they are left as they are.

    No node may be without cpu or memory, and no score may depend on which other nodes are feasible.
    """

    def __init__(self, runs: Sequence[tuple[Run, ShapeProfile]], nodes: Nodes, room: Floats, free: Ints, scored: Ints, used: Ints) -> None:
        self._room: list[list[float]] = room.T.tolist()
        self._free: list[list[int]] = free.T.tolist()
        self._scored: list[list[int]] = scored.T.tolist()
        self._used: list[list[int]] = used.T.tolist()
        self._taken: dict[int, int] = {}
        count = sum(run.count for run, _ in runs)
        self._kinds: dict[int, _Kind] = {}
        for run, profile in runs:
            if run.shape.serial not in self._kinds:
                mask = None if profile.mask is None else profile.mask[nodes]
                slots = slots_of(free[profile.rows], profile.amounts, mask)
                able = (slots > 0).nonzero()[0]
                heads = profile.local.ladder(room[:, able], scored[:, able], used[:, able], 1, whole=True)[:, 0]
                order = best(heads, min(count, len(heads)))
                heap = [(-score, node, 0) for score, node in zip(heads[order].tolist(), able[order].tolist(), strict=True)]
                heapq.heapify(heap)
                self._kinds[run.shape.serial] = _Kind(profile.local, None if mask is None else tuple(mask.tolist()), heap)

    def take(self, run: Run) -> Nodes:
        """Where the pods of *run* go, in their order: positions, fewer where there is no room for more."""
        kind = self._kinds[run.shape.serial]
        found: list[int] = []
        while len(found) < run.count and kind.heap:
            _, node, taken = kind.heap[0]
            if taken == self._taken.get(node, 0):
                found.append(node)
                self._put(kind, node)
            else:
                heapq.heappop(kind.heap)
        return np.array(found, dtype=np.int64)

    def _put(self, kind: _Kind, node: int) -> None:
        free, scored, used = self._free[node], self._scored[node], self._used[node]
        kind.local.charge(free, scored, used)
        taken = self._taken[node] = self._taken.get(node, 0) + 1
        for each in self._kinds.values():
            if (each.able is None or each.able[node]) and each.local.holds(free):
                heapq.heappush(each.heap, (-each.local.score(self._room[node], scored, used), node, taken))


def worth_while(runs: Sequence[Run]) -> bool:
    """Whether *runs* are so many and so short that ``InterleavedShapes`` is faster than a sort for each."""
    count = sum(run.count for run in runs)
    return len(runs) > 2 * len({run.shape.serial for run in runs}) and count <= _PODS_A_RUN * len(runs)
