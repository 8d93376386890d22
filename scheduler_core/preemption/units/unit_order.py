"""Importance of preemption units: the more important unit is reprieved first.

The order is that of kube-scheduler (KEP-6012, Integration with workload-aware preemption): priority, then type, then size, then age.
kube-scheduler 1.37 leaves further ties undefined; here the first name is more important.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np

from scheduler_core.model.nodes import Ints

RANKS = {"Pod": 1, "PodGroup": 2, "CompositePodGroup": 3}
"""Rank of a unit's type; a higher rank is more important."""
NOW = 2**63 - 1
"""Start time of a pod that has not started: later than every timestamp."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_parts = re.compile(r"([^.]+)\.([0-9]{1,9})[0-9]*([^.]*)", re.ASCII).fullmatch
_SECOND = 10**9


def instant(written: str) -> int:
    """Return a timestamp in RFC 3339 as nanoseconds since 1970; NOW if it is empty or invalid.

    Fractions of a second and offsets count; without an offset the time is UTC.  Times beyond 64 bits are clipped.
    """
    fraction = 0
    # Most timestamps have no fraction.
    if "." in written and (match := _parts(written)):
        written, fraction = match[1] + match[3], int(match[2].ljust(9, "0"))
    try:
        time = datetime.fromisoformat(written.upper())
    except ValueError:
        return NOW
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return max(-NOW, min((since.days * 86400 + since.seconds) * _SECOND + fraction, NOW - 1))


def positions(priority: Ints, rank: Ints, size: Ints, start: Ints, ties: Ints | None = None) -> Ints:
    """Return the position of each unit in the order of importance; 0 is the most important.

    Args:
        priority: shape (units,).
        rank: shape (units,), values of RANKS.
        size: shape (units,): number of pods.
        start: shape (units,): earliest start of a pod, as ``instant``.
        ties: shape (units,): of units that are equal otherwise, the one with the lower number is more important; None for no such order.

    Returns:
        Shape (units,), a permutation.  Of units that are equal otherwise, the first in the arrays is more important.

    """
    order = np.lexsort((np.arange(len(priority)), *(() if ties is None else (ties,)), start, -size, -rank, -priority))
    result = np.empty(len(order), dtype=np.int64)
    result[order] = np.arange(len(order))
    return result
