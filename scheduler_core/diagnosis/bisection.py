"""Largest and smallest number that works, and the parts that are necessary, in few tries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def largest(low: int, high: int, likely: int, good: Callable[[int], bool]) -> int:
    """Return the largest number from *low* to *high* that is good.

    *low* must be good, and every number below a good one is taken to be good; *likely* is tried first.
    """
    if likely > low:
        if not good(likely):
            high = likely - 1
        else:
            low = likely
    step = 1
    while low < high:
        tried = min(low + step, high)
        if good(tried):
            low, step = tried, step * 2
        else:
            high = tried - 1
            step = max(1, (high - low) // 2)
    return low


def least(likely: int, high: int, good: Callable[[int], bool], missing: Callable[[], int] = int) -> int:
    """Return the least number from 1 to *high* that is good, if every number above a good one is good; 0 if none is.

    *likely* is tried first, then that number and what was *missing* in the last try, as long as less is missing each time (0 if
    that is unknown), and then *high*, so that the absence of a good number is detected early.
    """
    if high < 1:
        return 0
    low, tried, before = 1, min(likely, high), 0
    while not good(tried):
        if tried == high:
            return 0
        low, more = tried + 1, missing()
        if not more or 0 < before <= more:
            if not good(high):
                return 0
            return _between(*_doubled(low, high, good), good, missing)
        tried, before = min(high, tried + more), more
    return _between(low, tried, good, missing)


def necessary(parts: Sequence[_T], works: Callable[[list[_T]], bool]) -> list[_T]:
    """Return *parts*, which work together, without each one that the others work without; one at least is left."""
    kept = [*parts]
    for part in parts:
        fewer = [each for each in kept if each is not part]
        if fewer and works(fewer):
            kept = fewer
    return kept


def _doubled(low: int, high: int, good: Callable[[int], bool]) -> tuple[int, int]:
    """Return *low*, raised above the numbers that are not good, and a good number up to *high*, which is good; steps double."""
    tried, step = low, 1
    while tried < high and not good(tried):
        step *= 2
        low, tried = tried + 1, min(high, tried + step)
    return low, tried


def _between(low: int, high: int, good: Callable[[int], bool], missing: Callable[[], int]) -> int:
    """Return the least good number from *low* to *high*, which is good."""
    # In most cases one less is already too few.
    tried, guessed = high - 1, False
    before: tuple[int, int] | None = None
    while low < high:
        if good(tried):
            high, tried = tried, tried - 1 if guessed else (low + tried) // 2
            guessed = False
        else:
            low, more = tried + 1, missing()
            step, before = _step(tried, more, before), (tried, more)
            guessed = more > 0 and tried + step >= (low + high) // 2
            tried = min(high - 1, max(tried + step, (low + high) // 2))
    return high


def _step(tried: int, more: int, before: tuple[int, int] | None) -> int:
    """Return how much larger than *tried* the next number is: what was missing, or less if it shrank faster since the one *before*."""
    if before is None or not more < before[1]:
        return more
    return min(more, -(-more * (tried - before[0]) // (before[1] - more)))
