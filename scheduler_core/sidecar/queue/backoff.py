"""Backoff of roots that were not placed: grows with failed attempts and with the size of the root.

Pods and small groups wait as kube-scheduler has them wait: 1 s, doubled up to 10 s.  An attempt at a larger root costs more and
what frees a pod's room helps it less, so that it waits as many times as long as it is doublings larger than that, and one.
"""

from __future__ import annotations

import math

INITIAL_SECONDS, MAX_SECONDS = 1.0, 10.0
SMALL = 8
"""Roots of so many pods wait as a pod does."""
MAX_FACTOR = 8.0


def seconds(attempts: int, pods: int) -> float:
    """Return the backoff in seconds after *attempts* (at least one) failed attempts in a row on a root of *pods* pods."""
    factor = 1.0 + math.log2(pods / SMALL) if pods > SMALL else 1.0
    return min(MAX_SECONDS, INITIAL_SECONDS * 2.0 ** min(attempts - 1, 16)) * min(MAX_FACTOR, factor)
