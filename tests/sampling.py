"""Sampling of test cases: a part by default, all in `make soak`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
SOAK = "MUSTER_SOAK"
"""Environment variable that disables sampling."""
WHOLE = bool(os.environ.get(SOAK))
SHARE = 5


def sampled(count: int, least: int = 10, share: int = SHARE) -> int:
    """Return *count* in `make soak`, otherwise one in *share* of it, but not less than *least*."""
    return count if WHOLE else max(min(count, least), count // share)


def every(step: int, cases: Sequence[T]) -> Sequence[T]:
    """Return *cases* in `make soak`, otherwise one of each *step*, the same each time.

    Bounds that a test asserts for all cases hold for the sample too: shares unchanged, numbers at least in proportion.
    """
    return cases if WHOLE else cases[::step]
