"""What it costs at least to have so many of each of several kinds in some places, and what is chosen in each place for it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.plans.effort import Effort

Counts = tuple[int, ...]
"""So many of each kind."""
ENDLESS = 2**61
"""What costs so much cannot be had."""
LARGEST = 65_536
"""Positions of a grid."""
PLACE, WAY, POSITIONS_A_STEP = 20, 6, 250
"""Steps that a place takes and a way that it goes; positions that take one, for each way."""
_REMEMBERED = 1_024
"""Positions up to which a grid remembers where they stand with fewer."""


class TooLargeError(Exception):
    """There are more counts than a grid may have."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What one place can have: one of several counts, each at its cost.

    Attributes:
        counts: by way.
        costs: shape (ways,).
        units: by way, what leaves for it, as far as that is known: numbers whose meaning is the place's.

    """

    counts: tuple[Counts, ...]
    costs: Ints
    units: tuple[tuple[int, ...], ...]


class Grid:
    """Counts from none up to a limit for each kind, as positions of a flat array."""

    def __init__(self, most: Counts) -> None:
        """*most*: the limits.

        Raises:
            TooLargeError: there are too many counts up to these.

        """
        self.most = most
        self.size = math.prod(each + 1 for each in most)
        if self.size > LARGEST:
            raise TooLargeError
        self.strides = [math.prod(each + 1 for each in most[number + 1 :]) for number in range(len(most))]
        self._positions: Ints = np.arange(self.size)
        self._moved: dict[Counts, Ints] = {}

    def position(self, counts: Counts) -> int:
        """Where *counts* stand; -1 beyond the limit."""
        found = 0
        for count, limit, stride in zip(counts, self.most, self.strides, strict=True):
            if count > limit:
                return -1
            found += count * stride
        return found

    def up_to(self, most: Counts) -> Ints:
        """The positions of all counts up to *most*, ascending; one after the other as a grid up to *most* has them."""
        found = np.zeros(1, dtype=np.int64)
        for limit, stride in zip(most, self.strides, strict=True):
            if limit:
                found = np.add.outer(found, np.arange(limit + 1) * stride).ravel()
        return found

    def counts(self, positions: Ints) -> tuple[Counts, ...]:
        """What stands at *positions*."""
        columns = [positions // stride % (limit + 1) for limit, stride in zip(self.most, self.strides, strict=True)]
        return tuple(map(tuple, np.array(columns).T.tolist()))

    def peaks(self, costs: Ints) -> Ints:
        """The positions where nothing can be added at no cost, *costs*, shape (size,), being those of all; no ENDLESS ones."""
        found = costs < ENDLESS
        for limit, stride in zip(self.most, self.strides, strict=True):
            if limit:
                more = self._positions // stride % (limit + 1) < limit
                found[more] &= costs[self._positions[more] + stride] > costs[more]
        return np.flatnonzero(found)

    def without(self, counts: Counts) -> Ints:
        """Shape (size,): for each position where it stands with so many fewer, or none."""
        if (found := self._moved.get(counts)) is None:
            found = np.zeros(1, dtype=np.int64)
            for count, limit, stride in zip(counts, self.most, self.strides, strict=True):
                if limit:
                    less = [max(each - count, 0) * stride for each in range(limit + 1)]
                    found = np.add.outer(found, np.array(less, dtype=np.int64)).ravel()
            if self.size <= _REMEMBERED:
                self._moved[counts] = found
        return found


class Table:
    """The least costs over a grid: of as many of each kind at least."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._cost: Ints = np.full(grid.size, ENDLESS, dtype=np.int64)
        self._cost[0] = 0
        self._taken: list[tuple[int, Choice, NDArray[np.int32]]] = []

    def add(self, place: int, choice: Choice) -> None:
        """Let *place* have some of it too."""
        through = np.array([self._cost[self.grid.without(counts)] for counts in choice.counts]) + choice.costs[:, None]
        self._taken.append((place, choice, through.argmin(axis=0).astype(np.int32)))
        self._cost = np.minimum(through.min(axis=0), ENDLESS)

    def at(self, counts: Counts) -> int:
        """What *counts* cost."""
        position = self.grid.position(counts)
        return int(self._cost[position]) if position >= 0 else ENDLESS

    def at_each(self, counts: Ints) -> Ints:
        """What each row of *counts*, shape (rows, kinds), costs; shape (rows,)."""
        inside = (counts <= np.array(self.grid.most)).all(axis=1)
        found: Ints = np.full(len(counts), ENDLESS, dtype=np.int64)
        found[inside] = self._cost[counts[inside] @ self.grid.strides]
        return found

    def trace(self, counts: Counts) -> Iterator[tuple[int, Choice, int]]:
        """The way that each place goes for *counts*, which can be had."""
        position = self.grid.position(counts)
        for place, choice, ways in reversed(self._taken):
            way = int(ways[position])
            position = int(self.grid.without(choice.counts[way])[position])
            yield place, choice, way


def divide(grid: Grid, costs: Sequence[Ints], effort: Effort) -> tuple[int, list[int]]:
    """What it costs at least to divide all that *grid* goes up to among some places, and the position of what each gets.

    *costs*: what it costs each place to have what stands at each position; more never costs less.

    Raises:
        EffortSpentError: the effort is spent.

    """
    if not costs:
        return ENDLESS, []
    effort.spend((PLACE if len(costs) > 2 else WAY) * len(costs))
    ways = [grid.peaks(each) for each in costs] if len(costs) > 2 else []
    # The two places that can go most ways are joined in one go.
    first, *others = sorted(range(len(costs)), key=lambda number: -len(ways[number]) if ways else 0)
    least, taken = costs[first], []
    for number in others[1:]:
        effort.spend(len(ways[number]) * (WAY + grid.size // POSITIONS_A_STEP))
        least, choice = _joined(grid, least, costs[number], ways[number])
        taken.append((number, choice))
    parts = [0] * len(costs)
    at = grid.size - 1
    for number in others[:1]:
        # It has what is left, and what is left stands the other way round.
        least = least + costs[number][::-1]
        at = int(least.argmin())
        parts[number] = grid.size - 1 - at
    cost = min(int(least[at]), ENDLESS)
    for number, choice in reversed(taken):
        parts[number] = int(choice[at])
        at = int(grid.without(grid.counts(choice[at : at + 1])[0])[at])
    parts[first] = at
    return cost, parts


def _joined(grid: Grid, before: Ints, costs: Ints, ways: Ints) -> tuple[Ints, Ints]:
    """The least costs with one place more, which goes one of *ways*, and the way that it goes at each position."""
    least: Ints = np.full(grid.size, ENDLESS, dtype=np.int64)
    choice: Ints = np.zeros(grid.size, dtype=np.int64)
    for way, counts in zip(ways.tolist(), grid.counts(ways), strict=True):
        through = before[grid.without(counts)] + int(costs[way])
        better = through < least
        choice[better] = way
        least = np.minimum(least, through)
    return least, choice
