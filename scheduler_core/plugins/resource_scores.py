"""Scores of a node by its allocated resources: LeastAllocated, MostAllocated, RequestedToCapacityRatio and BalancedAllocation.

Each is computed for the first, second, ... pod of a shape on many nodes (``of_nodes``), and for one pod on one node (``of_node``).  The
arithmetic is float64 and gives the same integers as Go's: a quotient of whole numbers x/y below 2**53 rounds to the next whole number
only if it is one.

A resource that a node does not have is not counted there; nor is an extended resource that the pod does not request.

Nodes are the last axis of all arrays: numpy is fastest over the longest one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.scheduler_profile import CAPACITY_RATIO, LEAST_ALLOCATED, ScoringStrategy
from scheduler_core.plugins.base import Floats

_MOST_PERCENT = 100
_SCORE_UNIT = 10
"""Score of a node for one unit of the score of a point, which is 0 to 10."""
CPU_AND_MEMORY = (0, 1)
"""Positions of the resources that every pod counts."""


class _Steps:
    """Amounts that the first pods of a shape add together, by their number, and *more* once; the last result is kept."""

    def __init__(self, amounts: Sequence[int], first: int, more: Sequence[int] = ()) -> None:
        self._amounts: Floats = np.array(amounts, dtype=np.float64)[:, None]
        self._more: Floats | float = np.array(more, dtype=np.float64)[:, None] if any(more) else 0.0
        self._first = first
        self._last = 0, self._amounts

    def up_to(self, depth: int) -> Floats:
        """Return an array of shape (resources, steps, 1); the steps are *first* to *depth*."""
        if self._last[0] != depth:
            self._last = depth, (self._amounts * np.arange(self._first, depth + 1) + self._more)[:, :, None]
        return self._last[1]


class AllocationScore:
    """Score of NodeResourcesFit.

    Attributes:
        positions: counted resources, as positions in the given arrays.
        weights: weight of each.
        amounts: what a pod of the shape adds to each.
        rated: what counts of each for the pod that is placed; *amounts* by default.

    """

    def __init__(
        self,
        strategy: ScoringStrategy,
        positions: Sequence[int],
        weights: Sequence[int],
        amounts: Sequence[int],
        rated: Sequence[int] | None = None,
    ) -> None:
        self._positions = tuple(positions)
        self._weights = tuple(weights)
        self._rated = tuple(amounts if rated is None else rated)
        self._steps = _Steps(amounts, 1, [here - each for here, each in zip(self._rated, amounts, strict=True)])
        self._curve = curve(strategy.points) if strategy.kind == CAPACITY_RATIO else None
        self._curve_values: Floats = np.array(self._curve or (), dtype=np.float64)
        self._least = strategy.kind == LEAST_ALLOCATED
        # The usual case: the plain mean of two resources that every node has.
        self._plain = self._positions == CPU_AND_MEMORY and len(set(weights)) == 1 and self._curve is None

    def of_nodes(self, capacity: Floats, scored: Ints, used: Ints, depth: int, *, whole: bool) -> Floats:
        """Return the scores, shape (depth, nodes); arguments as for ``NodeLocalPlugin.ladder``."""
        steps = self._steps.up_to(depth)
        if self._plain and whole:
            both = self._percent(capacity[:2, None], scored[:, None] + steps)
            mean: Floats = both[0]
            mean += both[1]
            mean *= 0.5
            return np.floor(mean, out=mean)
        if not self._positions:
            return np.zeros((depth, capacity.shape[1]))
        capacity = capacity[list(self._positions)][:, None]
        taken = np.stack([scored[at] if at in CPU_AND_MEMORY else used[at] for at in self._positions])[:, None] + steps
        some = capacity > 0
        parts = self._percent(np.where(some, capacity, 1.0), taken)
        weights = np.where(some, np.array(self._weights, dtype=np.float64)[:, None, None], 0.0)
        if self._curve is not None:
            parts = self._curve_values[parts.astype(np.intp)]
            # A resource with score 0 does not count in the mean.
            weights = weights * (parts > 0)
            total, weight = (weights * parts).sum(axis=0), np.maximum(weights.sum(axis=0), 1.0)
            rounded: Floats = np.floor((2.0 * total + weight) / (2.0 * weight)) * (total > 0)
            return rounded
        mean = (weights * parts).sum(axis=0) / np.maximum(weights.sum(axis=0), 1.0)
        return np.floor(mean, out=mean)

    def of_node(self, capacity: Sequence[float], scored: Sequence[int], used: Sequence[int]) -> int:
        """Return the score of one node for one pod."""
        total = counted = 0
        for at, weight, amount in zip(self._positions, self._weights, self._rated, strict=True):
            if not (size := capacity[at]):
                continue
            taken = min((scored[at] if at in CPU_AND_MEMORY else used[at]) + amount, size)
            part = math.floor(((size - taken) if self._least else taken) * 100.0 / size)
            if self._curve is not None and not (part := self._curve[part]):
                continue
            total += weight * part
            counted += weight
        if not counted:
            return 0
        return total // counted if self._curve is None else (2 * total + counted) // (2 * counted)

    def _percent(self, capacity: Floats, taken: Floats) -> Floats:
        """Return the free share (LeastAllocated), or else the used share, in whole percent; *taken* is modified."""
        np.minimum(taken, capacity, out=taken)
        if self._least:
            np.subtract(capacity, taken, out=taken)
        taken *= 100.0
        taken /= capacity
        return np.floor(taken, out=taken)


def curve(points: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the score, 0 to 100, for each whole percent of use: linear between *points*, in Go's division, which truncates."""
    values = []
    for percent in range(_MOST_PERCENT + 1):
        after = next((index for index, (use, _) in enumerate(points) if percent <= use), len(points))
        if after in (0, len(points)):
            values.append(_SCORE_UNIT * points[0 if not after else -1][1])
            continue
        (low, begin), (high, end) = points[after - 1], points[after]
        rise = _SCORE_UNIT * (end - begin) * (percent - low)
        values.append(_SCORE_UNIT * begin + int(math.copysign(abs(rise) // (high - low), rise)))
    return tuple(values)


class BalanceScore:
    """Score of NodeResourcesBalancedAllocation: the gain in evenness of resource use by each further pod, 50 to 100.

    *positions* and *amounts* as for ``AllocationScore``; amounts are requests.
    """

    def __init__(self, positions: Sequence[int], amounts: Sequence[int]) -> None:
        self._positions = tuple(positions)
        self._amounts = tuple(amounts)
        self._steps = _Steps(amounts, 0)
        self._plain = self._positions == CPU_AND_MEMORY

    def of_nodes(self, capacity: Floats, used: Ints, depth: int, *, whole: bool) -> Floats:
        """Return the scores, shape (depth, nodes); arguments as for ``NodeLocalPlugin.ladder``."""
        if self._plain and whole:
            share = used[:2, None] + self._steps.up_to(depth)
            share /= capacity[:2, None]
            np.minimum(share, 1.0, out=share)
            deviation: Floats = share[0]
            deviation -= share[1]
            np.abs(deviation, out=deviation)
            deviation *= 0.5
        else:
            capacity = capacity[list(self._positions)][:, None]
            share = used[list(self._positions)][:, None] + self._steps.up_to(depth)
            share /= np.where(capacity > 0, capacity, 1.0)
            np.minimum(share, 1.0, out=share)
            deviation = _deviations(capacity > 0, share)
        balance: Floats = np.subtract(1.0, deviation, out=deviation)
        balance *= 100.0
        np.floor(balance, out=balance)
        score: Floats = balance[1:] - balance[:-1]
        # 50 + (50 + score) // 2, of a whole number.
        score *= 0.5
        score += 75.0
        return np.floor(score, out=score)

    def of_node(self, capacity: Sequence[float], used: Sequence[int]) -> int:
        """Return the score of one node for one pod."""
        here = [(capacity[at], used[at], amount) for at, amount in zip(self._positions, self._amounts, strict=True) if capacity[at]]
        after = _evenness([min((have + more) / size, 1.0) for size, have, more in here])
        return 50 + (50 + after - _evenness([min(have / size, 1.0) for size, have, _ in here])) // 2


def _evenness(shares: Sequence[float]) -> int:
    """Return how evenly the resources of one node are used, 0 to 100."""
    deviation = 0.0
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        mean, squares = 0.0, 0.0
        for share in shares:
            mean += share
        mean /= len(shares)
        for share in shares:
            squares += (share - mean) * (share - mean)
        deviation = math.sqrt(squares / len(shares))
    return math.floor((1.0 - deviation) * 100.0)


def _deviations(some: Bools, shares: Floats) -> Floats:
    """Return the deviation of the shares of each node, shape (depth, nodes), over the resources it has.

    Resources are added in their order, as in Go: the order changes the last bit of a sum.
    """
    counts: Ints = np.zeros(shares.shape[1:], dtype=np.int64)
    difference, total, squares = np.zeros(shares.shape[1:]), np.zeros(shares.shape[1:]), np.zeros(shares.shape[1:])
    for here, share in zip(some, shares, strict=True):
        difference += np.where(here, np.where(counts == 0, share, -share), 0.0)
        total += np.where(here, share, 0.0)
        counts = counts + here
    mean = total / np.maximum(counts, 1)
    for here, share in zip(some, shares, strict=True):
        squares += np.where(here, (share - mean) * (share - mean), 0.0)
    several = np.sqrt(squares / np.maximum(counts, 1))
    return np.where(counts == 2, np.abs(difference / 2), np.where(counts > 2, several, 0.0))
