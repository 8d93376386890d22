"""How many random examples a test tries: a sample of them by default, all of them in `make soak`."""

from __future__ import annotations

import os

SOAK = "MUSTER_SOAK"
"""The environment variable by which all are tried."""
SHARE = 3


def sampled(count: int, least: int = 10) -> int:
    """Return *count* in `make soak`, otherwise a third of it, but not less than *least*."""
    return count if os.environ.get(SOAK) else max(min(count, least), count // SHARE)
