"""Maximal fillings of one node with pods, with the units to evict for each."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence

from scheduler_core.preemption.bounds.cost_table import Counts

_MOST_SETS = 512
"""Largest number of sets of units that are enumerated completely."""

Amounts = tuple[int, ...]
"""By resource."""
Positions = tuple[int, ...]
"""Ascending positions of units in their given order."""
Way = tuple[Counts, Positions]
"""Number of pods of each shape, and the units to evict for them."""


def ways(most: Counts, free: Amounts, needs: Sequence[Amounts], amounts: Sequence[Amounts]) -> tuple[list[Way], int, bool]:
    """Return the maximal fillings of a node, each with a minimal set of units to evict.

    Args:
        most: upper bound of pods of each shape.
        free: free amounts of the resources that can be short; below 0 on an overcommitted node.
        needs: amounts that each unit gives back; of equal units the first are evicted first.
        amounts: requests of a pod of each shape.

    Returns:
        the ways, the number of sets of units examined, and True if all ways are known.

    """
    sets, all_known = _sets(needs)
    result: dict[Way, None] = {}
    for positions in sets:
        evicted = [needs[position] for position in positions]
        total = tuple(map(sum, zip(*evicted, strict=True))) if evicted else (0,) * len(free)
        free_after = _after(free, total)
        # One of equal units is kept.
        less = [_after(free, tuple(map(operator.sub, total, need))) for need in dict.fromkeys(evicted)]
        for counts in _fillings(most, free_after, amounts):
            if not any(_fit(counts, each, amounts) for each in less):
                result[counts, positions] = None
    return list(result), len(sets), all_known


def _after(free: Amounts, total: Amounts) -> Amounts:
    """Return the free amounts after the eviction of units that use *total*."""
    return tuple(max(0, have + more) for have, more in zip(free, total, strict=True))


def _fit(counts: Counts, free: Amounts, amounts: Sequence[Amounts]) -> bool:
    return all(sum(count * each[row] for count, each in zip(counts, amounts, strict=True)) <= have for row, have in enumerate(free))


def _fillings(most: Counts, free: Amounts, amounts: Sequence[Amounts]) -> Iterator[Counts]:
    """Yield the numbers of pods that fit in *free* together, if no further pod fits."""

    def choose(number: int, left: Amounts, counts: Counts) -> Iterator[Counts]:
        if number == len(amounts):
            more = zip(counts, most, amounts, strict=True)
            if not any(count < limit and all(map(int.__le__, each, left)) for count, limit, each in more):
                yield counts
            return
        requests = amounts[number]
        largest = min([most[number], *(have // need for have, need in zip(left, requests, strict=True) if need)])
        # All pods of the last shape that fit are packed, as the filling must be maximal.
        least = 0 if number + 1 < len(amounts) else largest
        for count in range(largest, least - 1, -1):
            yield from choose(number + 1, tuple(have - count * need for have, need in zip(left, requests, strict=True)), (*counts, count))

    return choose(0, free, ())


def _sets(needs: Sequence[Amounts]) -> tuple[list[Positions], bool]:
    """Return the sets of positions to examine, and True if no useful set is missing."""
    equal_units: dict[Amounts, list[int]] = {}
    for position, need in enumerate(needs):
        equal_units.setdefault(need, []).append(position)
    if math.prod(len(positions) + 1 for positions in equal_units.values()) <= _MOST_SETS:
        choices = itertools.product(*([positions[:count] for count in range(len(positions) + 1)] for positions in equal_units.values()))
        return [tuple(sorted(itertools.chain.from_iterable(each))) for each in choices], True
    sets: dict[Positions, None] = {(): None}
    for row in range(len(needs[0])):
        order = sorted(range(len(needs)), key=lambda each: (-needs[each][row], each))
        for size in range(1, len(order) + 1):
            sets[tuple(sorted(order[:size]))] = None
    return list(sets), False
