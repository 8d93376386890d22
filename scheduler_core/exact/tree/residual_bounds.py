"""Whether groups that are still to be given cells can all find room: bounds on groups that are not divided, by measure.

All bounds count less than what is needed, and more than what there is, so that what they refute has no solution.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from scheduler_core.exact.tree.measures import Amounts

_BITS = 4096
"""The largest sum that subsets are looked for of."""

_AT_ONCE = 7
"""Rooms that are compared with a size in one step."""

Size = tuple[int, int, int]
"""A need, how many needs are at least so large, and what they sum to."""


class ResidualBounds:
    """Needs that go, one after the other in their order, each undivided into one of several rooms."""

    def __init__(self, needs: Sequence[Amounts], *, exact: bool) -> None:
        columns = list(zip(*needs, strict=True))
        self._sizes = [list(_sizes(column)) for column in columns]
        self._sums = [_Sums(column) if exact else None for column in columns]

    def effort(self, rooms: int, done: int) -> int:
        """The steps that ``refute`` takes with so many *rooms*."""
        return 2 + rooms * sum([1 + len(sizes[done]) for sizes in self._sizes]) // _AT_ONCE

    def refute(self, rooms: Sequence[Sequence[int]], done: int) -> bool:
        """Whether the needs from number *done* on do not fit into *rooms*, each of which is free by measure."""
        for measure, (sizes, sums) in enumerate(zip(self._sizes, self._sums, strict=True)):
            free = [room[measure] for room in rooms]
            for size, count, total in sizes[done]:
                able = [room for room in free if room >= size]
                if total > sum(able) or (count > len(able) and count > sum([room // size for room in able])):
                    return True
            if sums is not None and sums.refute(free, done):
                return True
        return False


class _Sums:
    """The sums that some of the needs of one measure can have: rooms are filled by such only."""

    def __init__(self, needs: Sequence[int]) -> None:
        self._unit = math.gcd(*needs) or 1
        self._masks: list[int] = [1]
        self._totals: list[int] = [0]
        small = sum(needs) // self._unit <= _BITS
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
        for room in free:
            if room > 0:
                total -= unit * ((mask & ((2 << room // unit) - 1)).bit_length() - 1)
                if total <= 0:
                    return False
        return True


def _sizes(needs: Sequence[int]) -> Iterator[list[Size]]:
    """For each number of needs that are done the distinct sizes of the others, the largest first."""
    for done in range(len(needs) + 1):
        found: list[Size] = []
        total = 0
        for count, need in enumerate(sorted(needs[done:], reverse=True), start=1):
            total += need
            if found and found[-1][0] == need:
                found.pop()
            if need:
                found.append((need, count, total))
        yield found
