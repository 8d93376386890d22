"""Bounds on groups that have no cell yet, each measure by itself; a group gets one cell, so its need is not divided.

A bound underestimates needs and overestimates capacity, so it never refutes a feasible state.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from scheduler_core.exact.tree.measures import Amounts

_LARGEST_SUM = 4096
"""Largest sum, in units, for which subset sums are enumerated."""

_CAPACITIES_A_STEP = 7
"""Capacities compared with a size in one step."""

Size = tuple[int, int, int]
"""A need, the number of needs of at least that size, and their sum."""


class ResidualBounds:
    """Bounds on undivided needs that are assigned, in their order, to several capacities."""

    def __init__(self, needs: Sequence[Amounts], *, exact: bool) -> None:
        columns = list(zip(*needs, strict=True))
        self._sizes = [list(_sizes(column)) for column in columns]
        self._sums = [_SubsetSums(column) if exact else None for column in columns]

    def effort(self, count: int, done: int) -> int:
        """Return the steps of ``refute`` for *count* capacities."""
        return 2 + count * sum([1 + len(sizes[done]) for sizes in self._sizes]) // _CAPACITIES_A_STEP

    def refute(self, capacities: Sequence[Sequence[int]], done: int) -> bool:
        """Return whether the needs from index *done* on do not fit into *capacities*, free amounts by measure."""
        for measure, (sizes, sums) in enumerate(zip(self._sizes, self._sums, strict=True)):
            free = [capacity[measure] for capacity in capacities]
            for size, count, total in sizes[done]:
                usable = [capacity for capacity in free if capacity >= size]
                if total > sum(usable) or (count > len(usable) and count > sum([capacity // size for capacity in usable])):
                    return True
            if sums is not None and sums.refute(free, done):
                return True
        return False


class _SubsetSums:
    """Subset sums of the needs of one measure: a capacity is filled by one of them at most."""

    def __init__(self, needs: Sequence[int]) -> None:
        self._unit = math.gcd(*needs) or 1
        self._masks: list[int] = [1]
        self._totals: list[int] = [0]
        small = sum(needs) // self._unit <= _LARGEST_SUM
        for need in reversed(needs):
            mask = self._masks[-1]
            self._masks.append(mask | mask << need // self._unit if small else 0)
            self._totals.append(self._totals[-1] + need)
        self._masks.reverse()
        self._totals.reverse()

    def refute(self, free: Sequence[int], done: int) -> bool:
        mask, total, unit = self._masks[done], self._totals[done], self._unit
        if not total or not mask:
            return False
        largest = mask.bit_length() - 1
        for capacity in free:
            if capacity > 0:
                # A capacity without a limit is as large as an integer can be: a mask of so many bits would fill the memory.
                total -= unit * ((mask & ((2 << min(capacity // unit, largest)) - 1)).bit_length() - 1)
                if total <= 0:
                    return False
        return True


def _sizes(needs: Sequence[int]) -> Iterator[list[Size]]:
    """Yield, for each number of assigned needs, the distinct sizes of the other needs, the largest first."""
    for done in range(len(needs) + 1):
        sizes: list[Size] = []
        total = 0
        for count, need in enumerate(sorted(needs[done:], reverse=True), start=1):
            total += need
            if sizes and sizes[-1][0] == need:
                sizes.pop()
            if need:
                sizes.append((need, count, total))
        yield sizes
