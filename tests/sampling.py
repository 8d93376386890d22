"""How much of what can be tried a test tries: a sample by default, all of it in `make soak`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
SOAK = "MUSTER_SOAK"
"""The environment variable by which all is tried."""
WHOLE = bool(os.environ.get(SOAK))
SHARE = 5


def sampled(count: int, least: int = 10) -> int:
    """Return *count* in `make soak`, otherwise a fifth of it, but not less than *least*."""
    return count if WHOLE else max(min(count, least), count // SHARE)


def every(step: int, cases: Sequence[T]) -> Sequence[T]:
    """Return *cases* in `make soak`, otherwise one of each *step*, the same each time.

    A bound that a test sets for the whole is set for the sample too: a share as it is, a number at least in proportion.
    """
    return cases if WHOLE else cases[::step]
