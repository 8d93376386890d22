"""How much of what can be tried a test tries: a sample by default, all of it in `make soak`."""

from __future__ import annotations

import os

SOAK = "MUSTER_SOAK"
"""The environment variable by which all is tried."""
WHOLE = bool(os.environ.get(SOAK))
SHARE = 3


def sampled(count: int, least: int = 10) -> int:
    """Return *count* in `make soak`, otherwise a third of it, but not less than *least*."""
    return count if WHOLE else max(min(count, least), count // SHARE)
