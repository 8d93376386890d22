"""The most and the least that is good, with few questions."""

from __future__ import annotations

from collections.abc import Callable


def largest(low: int, high: int, likely: int, good: Callable[[int], bool]) -> int:
    """The largest number from *low*, which is good, to *high* that is good, taken that all below a good one are; *likely* is asked first."""
    if likely > low:
        if not good(likely):
            high = likely - 1
        else:
            low = likely
    step = 1
    while low < high:
        ask = min(low + step, high)
        if good(ask):
            low, step = ask, step * 2
        else:
            high = ask - 1
            step = max(1, (high - low) // 2)
    return low


def least(likely: int, high: int, good: Callable[[int], bool]) -> int:
    """The least number from 1 to *high* that is good, taken that all above a good one are; 0 if none is.

    *likely* is asked first, and then *high*, so that it is soon known where none is.
    """
    if high < 1:
        return 0
    low, ask, step = 1, min(likely, high), 1
    if not good(ask):
        if ask == high or not good(high):
            return 0
        low, ask = ask + 1, min(high, ask + step)
        while not good(ask):
            step *= 2
            low, ask = ask + 1, min(high, ask + step)
    # Mostly one less is too few already.
    high, ask = ask, ask - 1
    while low < high:
        if good(ask):
            high = ask
        else:
            low = ask + 1
        ask = (low + high) // 2
    return high
