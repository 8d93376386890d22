"""Which of two preemption units is worth more: the more important one is tried first for a reprieve.

As kube-scheduler 1.37.1 ranks them (KEP-6012, Integration with workload-aware preemption): priority, then type, then size, then
age.  Where upstream leaves the rest to chance the first name decides.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np

from scheduler_core.model.nodes import Ints

RANKS = {"Pod": 1, "PodGroup": 2, "CompositePodGroup": 3}
"""The higher, the more important."""
NOW = 2**63 - 1
"""The instant of a pod that has not started: later than every time written."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_parts = re.compile(r"([^.]+)\.([0-9]{1,9})[0-9]*([^.]*)", re.ASCII).fullmatch
_SECOND = 10**9


def instant(written: str) -> int:
    """Nanoseconds since 1970 of a timestamp in RFC 3339; NOW where none is written, or none that can be read.

    Fractions of a second and offsets count, and without an offset it is in UTC; times beyond the range of 64 bits are moved into it.
    """
    fraction = 0
    # Most have no fraction.
    if "." in written and (found := _parts(written)):
        written, fraction = found[1] + found[3], int(found[2].ljust(9, "0"))
    try:
        time = datetime.fromisoformat(written.upper())
    except ValueError:
        return NOW
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return max(-NOW, min((since.days * 86400 + since.seconds) * _SECOND + fraction, NOW - 1))


def positions(priority: Ints, rank: Ints, size: Ints, start: Ints) -> Ints:
    """Where each unit stands in the order of importance: 0 is the most important.

    Args:
        priority: shape (units,).
        rank: shape (units,), of RANKS.
        size: shape (units,): pods.
        start: shape (units,): the instant at which its first pod started.

    Returns:
        Shape (units,), each position once.  Of units alike the one that stands first in the arrays is the more important.

    """
    order = np.lexsort((np.arange(len(priority)), start, -size, -rank, -priority))
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.arange(len(order))
    return found
