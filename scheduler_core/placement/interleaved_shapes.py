"""Pods of few shapes in many short runs, placed one after the other, each on the best node.

Between two pods only the node of the last one changes.  So each shape has a heap of nodes, best first.  A node that takes a pod is pushed
to every heap again; its stale entries are skipped.  *n* pods can use only the *n* best nodes, so a heap starts with these.
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
"""Average length of a run up to which this is used."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Heap:
    """Heap of one shape."""

    local: NodeLocalPlugin
    able: tuple[bool, ...] | None
    bonus: list[int] | None
    entries: list[tuple[int, int, int]]
    """(negative score; node; number of pods that the node had taken)."""


class InterleavedShapes:
    """Placement under construction, from arrays over its nodes, which are not modified.

    Every node must have cpu and memory, and every shape profile must be plain.
    """

    def __init__(
        self, runs: Sequence[tuple[Run, ShapeProfile]], nodes: Nodes, capacity: Floats, free: Ints, scored: Ints, used: Ints
    ) -> None:
        self._capacity: list[list[float]] = capacity.T.tolist()
        self._free: list[list[int]] = free.T.tolist()
        self._scored: list[list[int]] = scored.T.tolist()
        self._used: list[list[int]] = used.T.tolist()
        self._taken: dict[int, int] = {}
        count = sum(run.count for run, _ in runs)
        self._heaps: dict[int, _Heap] = {}
        for run, profile in runs:
            if run.shape.serial not in self._heaps:
                mask = None if profile.mask is None else profile.mask[nodes]
                slots = slots_of(free[profile.rows], profile.amounts, mask)
                able = (slots > 0).nonzero()[0]
                heads = profile.local.ladder(capacity[:, able], scored[:, able], used[:, able], 1, whole=True)[:, 0]
                bonus = profile.bonus_at(nodes)
                if bonus is not None:
                    heads += bonus[able]
                order = best(heads, min(count, len(heads)), wide=profile.local.wide)
                heap = [(-score, node, 0) for score, node in zip(heads[order].tolist(), able[order].tolist(), strict=True)]
                heapq.heapify(heap)
                passing, added = None if mask is None else tuple(mask.tolist()), None if bonus is None else bonus.tolist()
                self._heaps[run.shape.serial] = _Heap(profile.local, passing, added, heap)

    def place_run(self, run: Run) -> Nodes:
        """Place the pods of *run* and return the positions of their nodes, in order; fewer if no more fit."""
        heap = self._heaps[run.shape.serial]
        found: list[int] = []
        while len(found) < run.count and heap.entries:
            _, node, taken = heap.entries[0]
            if taken == self._taken.get(node, 0):
                found.append(node)
                self._charge(heap, node)
            else:
                heapq.heappop(heap.entries)
        return np.array(found, dtype=np.int64)

    def _charge(self, heap: _Heap, node: int) -> None:
        free, scored, used = self._free[node], self._scored[node], self._used[node]
        heap.local.charge(free, scored, used)
        taken = self._taken[node] = self._taken.get(node, 0) + 1
        for each in self._heaps.values():
            if (each.able is None or each.able[node]) and each.local.holds(free):
                score = each.local.score(self._capacity[node], scored, used) + (each.bonus[node] if each.bonus else 0)
                heapq.heappush(each.entries, (-score, node, taken))


def worth_while(runs: Sequence[Run]) -> bool:
    """Return whether ``InterleavedShapes`` is faster for *runs* than one sort for each run."""
    count = sum(run.count for run in runs)
    return len(runs) > 2 * len({run.shape.serial for run in runs}) and count <= _PODS_A_RUN * len(runs)
