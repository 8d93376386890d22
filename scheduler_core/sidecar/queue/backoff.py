"""Backoff of roots that were not placed: grows with failed attempts and with the size of the root.

Pods and small groups have the backoff of kube-scheduler: 1 s, doubled up to 10 s.  An attempt on a larger root costs more, and the
capacity of one pod helps it less.  Its backoff is multiplied by 1 + log2(pods / SMALL), at most by MAX_FACTOR.
"""

from __future__ import annotations

import math

INITIAL_SECONDS, MAX_SECONDS = 1.0, 10.0
SMALL = 8
"""Number of pods up to which a root has the backoff of a single pod."""
MAX_FACTOR = 8.0


def seconds(attempts: int, pods: int) -> float:
    """Return the backoff in seconds after *attempts* (at least one) failed attempts in a row on a root of *pods* pods."""
    factor = 1.0 + math.log2(pods / SMALL) if pods > SMALL else 1.0
    return min(MAX_SECONDS, INITIAL_SECONDS * 2.0 ** min(attempts - 1, 16)) * min(MAX_FACTOR, factor)
