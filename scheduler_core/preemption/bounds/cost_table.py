"""Dynamic programs over counts: the least cost of so many items of each kind in several places, and the choice of each place."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.plans.effort import Effort

Counts = tuple[int, ...]
"""Number of items of each kind."""
INFINITE = 2**61
"""Cost of impossible counts."""
LARGEST_GRID = 65_536
"""Largest number of positions of a grid."""
PLACE_STEPS, WAY_STEPS, POSITIONS_A_STEP = 20, 6, 250
"""Steps for a place and for each of its ways; number of positions that cost one more step for each way."""
_LARGEST_CACHED = 1_024
"""Largest grid whose shifted positions are cached."""


class TooLargeError(Exception):
    """A grid would have too many positions."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CostChoice:
    """Ways of one place: one of several counts, each at its cost.

    Attributes:
        counts: by way.
        costs: shape (ways,).
        units: by way, units to evict, if known; the place defines their numbers.

    """

    counts: tuple[Counts, ...]
    costs: Ints
    units: tuple[tuple[int, ...], ...]


class Grid:
    """Counts from 0 to a limit for each kind, as positions of a flat array."""

    def __init__(self, most: Counts) -> None:
        """Create a grid up to the limits *most*.

        Raises:
            TooLargeError: there would be too many positions.

        """
        self.most = most
        self.size = math.prod(each + 1 for each in most)
        if self.size > LARGEST_GRID:
            raise TooLargeError
        self.strides = [math.prod(each + 1 for each in most[number + 1 :]) for number in range(len(most))]
        self._positions: Ints = np.arange(self.size)
        self._shifted: dict[Counts, Ints] = {}

    def position(self, counts: Counts) -> int:
        """Return the position of *counts*; -1 beyond the limits."""
        position = 0
        for count, limit, stride in zip(counts, self.most, self.strides, strict=True):
            if count > limit:
                return -1
            position += count * stride
        return position

    def up_to(self, most: Counts) -> Ints:
        """Return the positions of all counts up to *most*, in the order of a grid up to *most*."""
        positions = np.zeros(1, dtype=np.int64)
        for limit, stride in zip(most, self.strides, strict=True):
            if limit:
                positions = np.add.outer(positions, np.arange(limit + 1) * stride).ravel()
        return positions

    def counts(self, positions: Ints) -> tuple[Counts, ...]:
        """Return the counts at *positions*."""
        columns = [positions // stride % (limit + 1) for limit, stride in zip(self.most, self.strides, strict=True)]
        return tuple(map(tuple, np.array(columns).T.tolist()))

    def maximal_positions(self, costs: Ints) -> Ints:
        """Return the positions with finite *costs*, shape (size,), where no item can be added at no cost."""
        mask = costs < INFINITE
        for limit, stride in zip(self.most, self.strides, strict=True):
            if limit:
                more = self._positions // stride % (limit + 1) < limit
                mask[more] &= costs[self._positions[more] + stride] > costs[more]
        return np.flatnonzero(mask)

    def shifted_by(self, counts: Counts) -> Ints:
        """Return for each position the position with *counts* less, at least 0; shape (size,)."""
        if (shifted := self._shifted.get(counts)) is None:
            shifted = np.zeros(1, dtype=np.int64)
            for count, limit, stride in zip(counts, self.most, self.strides, strict=True):
                if limit:
                    lower = [max(each - count, 0) * stride for each in range(limit + 1)]
                    shifted = np.add.outer(shifted, np.array(lower, dtype=np.int64)).ravel()
            if self.size <= _LARGEST_CACHED:
                self._shifted[counts] = shifted
        return shifted


class CostTable:
    """Least cost of at least so many items of each kind."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._cost: Ints = np.full(grid.size, INFINITE, dtype=np.int64)
        self._cost[0] = 0
        self._choices: list[tuple[int, CostChoice, NDArray[np.int32]]] = []

    def add(self, place: int, choice: CostChoice) -> None:
        """Add *place* with the ways *choice*."""
        through = np.array([self._cost[self.grid.shifted_by(counts)] for counts in choice.counts]) + choice.costs[:, None]
        self._choices.append((place, choice, through.argmin(axis=0).astype(np.int32)))
        self._cost = np.minimum(through.min(axis=0), INFINITE)

    def cost_of(self, counts: Counts) -> int:
        """Return the cost of *counts*."""
        position = self.grid.position(counts)
        return int(self._cost[position]) if position >= 0 else INFINITE

    def costs_of(self, counts: Ints) -> Ints:
        """Return the cost of each row of *counts*, shape (rows, kinds); shape (rows,)."""
        inside = (counts <= np.array(self.grid.most)).all(axis=1)
        costs: Ints = np.full(len(counts), INFINITE, dtype=np.int64)
        costs[inside] = self._cost[counts[inside] @ self.grid.strides]
        return costs

    def trace(self, counts: Counts) -> Iterator[tuple[int, CostChoice, int]]:
        """Yield each place with the way that it uses for *counts*, which must be possible."""
        position = self.grid.position(counts)
        for place, choice, ways in reversed(self._choices):
            way = int(ways[position])
            position = int(self.grid.shifted_by(choice.counts[way])[position])
            yield place, choice, way


def divide(grid: Grid, costs: Sequence[Ints], effort: Effort) -> tuple[int, list[int]]:
    """Return the least cost of dividing the largest counts of *grid* among several places, and the position that each place gets.

    *costs* holds for each place its cost by position; it never falls as counts grow.

    Raises:
        EffortSpentError: the effort is spent.

    """
    if not costs:
        return INFINITE, []
    effort.spend((PLACE_STEPS if len(costs) > 2 else WAY_STEPS) * len(costs))
    ways = [grid.maximal_positions(each) for each in costs] if len(costs) > 2 else []
    # The two places with most ways are joined in one operation at the end.
    first, *others = sorted(range(len(costs)), key=lambda number: -len(ways[number]) if ways else 0)
    least, choices = costs[first], []
    for number in others[1:]:
        effort.spend(len(ways[number]) * (WAY_STEPS + grid.size // POSITIONS_A_STEP))
        least, choice = _joined(grid, least, costs[number], ways[number])
        choices.append((number, choice))
    parts = [0] * len(costs)
    position = grid.size - 1
    for number in others[:1]:
        # The last place gets the remainder, which is the reversed position.
        least = least + costs[number][::-1]
        position = int(least.argmin())
        parts[number] = grid.size - 1 - position
    cost = min(int(least[position]), INFINITE)
    for number, choice in reversed(choices):
        parts[number] = int(choice[position])
        position = int(grid.shifted_by(grid.counts(choice[position : position + 1])[0])[position])
    parts[first] = position
    return cost, parts


def _joined(grid: Grid, before: Ints, costs: Ints, ways: Ints) -> tuple[Ints, Ints]:
    """Return the least cost by position with one more place and its *ways*, and the way used at each position."""
    least: Ints = np.full(grid.size, INFINITE, dtype=np.int64)
    choice: Ints = np.zeros(grid.size, dtype=np.int64)
    for way, counts in zip(ways.tolist(), grid.counts(ways), strict=True):
        through = before[grid.shifted_by(counts)] + int(costs[way])
        better = through < least
        choice[better] = way
        least = np.minimum(least, through)
    return least, choice
