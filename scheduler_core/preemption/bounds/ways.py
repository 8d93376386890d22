"""One node: which of its units must leave so that so many pods of each shape fit on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from scheduler_core.preemption.bounds.cost_table import Counts

_SETS = 512
"""Sets of units that are looked at; where there are more, only some are."""

Amounts = tuple[int, ...]
"""By resource."""
Positions = tuple[int, ...]
"""Of units in the order in which they are given, ascending."""
Way = tuple[Counts, Positions]
"""Pods of each shape, and the units that leave for them."""


def ways(most: Counts, free: Amounts, needs: Sequence[Amounts], amounts: Sequence[Amounts]) -> tuple[list[Way], int, bool]:
    """The fullest fillings of a node, each with the units that must leave for it, none of whom could stay.

    Args:
        most: pods of each shape that are wanted at most.
        free: what is free of each resource that can be short; below 0 where more is taken than there is.
        needs: what each unit gives back; of units that give back the same the first leave first.
        amounts: what a pod of each shape takes.

    Returns:
        the ways, how many sets of units were looked at, and whether these are all there are.

    """
    chosen, whole = _sets(needs)
    found: dict[Way, None] = {}
    for positions in chosen:
        room = _after(free, [needs[position] for position in positions])
        less = [_after(free, [needs[each] for each in positions if each != position]) for position in positions]
        for counts in _fillings(most, room, amounts):
            if not any(_fit(counts, each, amounts) for each in less):
                found[counts, positions] = None
    return list(found), len(chosen), whole


def _after(free: Amounts, needs: Sequence[Amounts]) -> Amounts:
    """What is free once *needs* are given back."""
    return tuple(max(0, have + sum(need[row] for need in needs)) for row, have in enumerate(free))


def _fit(counts: Counts, room: Amounts, amounts: Sequence[Amounts]) -> bool:
    return all(sum(count * each[row] for count, each in zip(counts, amounts, strict=True)) <= have for row, have in enumerate(room))


def _fillings(most: Counts, room: Amounts, amounts: Sequence[Amounts]) -> Iterator[Counts]:
    """The numbers of pods that fit in *room* together while of no shape there could be one more."""

    def choose(number: int, left: Amounts, counts: Counts) -> Iterator[Counts]:
        if number == len(amounts):
            more = zip(counts, most, amounts, strict=True)
            if not any(count < limit and all(map(int.__le__, each, left)) for count, limit, each in more):
                yield counts
            return
        here = amounts[number]
        largest = min([most[number], *(have // need for have, need in zip(left, here, strict=True) if need)])
        # Of the last shape nothing is left out that fits.
        least = 0 if number + 1 < len(amounts) else largest
        for count in range(largest, least - 1, -1):
            yield from choose(number + 1, tuple(have - count * need for have, need in zip(left, here, strict=True)), (*counts, count))

    return choose(0, room, ())


def _sets(needs: Sequence[Amounts]) -> tuple[list[Positions], bool]:
    """The sets of positions that can be the best for something, and whether none is missing."""
    alike: dict[Amounts, list[int]] = {}
    for position, need in enumerate(needs):
        alike.setdefault(need, []).append(position)
    if math.prod(len(positions) + 1 for positions in alike.values()) <= _SETS:
        several = itertools.product(*([positions[:count] for count in range(len(positions) + 1)] for positions in alike.values()))
        return [tuple(sorted(itertools.chain.from_iterable(each))) for each in several], True
    found: dict[Positions, None] = {(): None}
    for row in range(len(needs[0])):
        order = sorted(range(len(needs)), key=lambda each: (-needs[each][row], each))
        for size in range(1, len(order) + 1):
            found[tuple(sorted(order[:size]))] = None
    return list(found), False
