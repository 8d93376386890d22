"""Largest and smallest number that works, in few tries."""

from __future__ import annotations

from collections.abc import Callable


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


def least(likely: int, high: int, good: Callable[[int], bool]) -> int:
    """Return the least number from 1 to *high* that is good, if every number above a good one is good; 0 if none is.

    *likely* is tried first, and then *high*, so that the absence of a good number is detected early.
    """
    if high < 1:
        return 0
    low, tried, step = 1, min(likely, high), 1
    if not good(tried):
        if tried == high or not good(high):
            return 0
        low, tried = tried + 1, min(high, tried + step)
        while not good(tried):
            step *= 2
            low, tried = tried + 1, min(high, tried + step)
    # In most cases one less is already too few.
    high, tried = tried, tried - 1
    while low < high:
        if good(tried):
            high = tried
        else:
            low = tried + 1
        tried = (low + high) // 2
    return high
