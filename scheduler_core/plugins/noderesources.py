"""The scores of a node that depend on what runs there: NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation.

Both look at cpu and memory with weight 1, in Go's integer arithmetic.  The arithmetic here is float64 and gives the same
integers: a quotient of whole numbers x/y below 2**53 rounds to the next whole number only if it is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model.nodes import CPU, MEMORY, Ints
from scheduler_core.model.pods import PodShape

Floats = NDArray[np.float64]

LARGEST = 2**53 // 100
"""Amounts up to here (90 TB of memory on one node) are scored exactly."""


def ladder(shape: PodShape, room: Floats, scored: Ints, used: Ints, depth: int, *, whole: bool = False) -> Ints:
    """The score of each node for the first, second, ... pod of *shape* that is put there.

    Args:
        shape: what each pod needs.
        room: shape (2, nodes): allocatable millicores and bytes.
        scored: shape (2, nodes): what runs there, as LeastAllocated counts it.
        used: shape (2, nodes): what runs there, as requested.
        depth: how many pods to look ahead.
        whole: promises that no node is without cpu or memory.

    Returns:
        Shape (nodes, depth), int64.

    """
    whole = whole or bool(room.all())
    room = room[:, :, None]
    counted = np.array(shape.scored, dtype=np.float64)[:, None, None] * np.arange(1, depth + 1)
    least = _least(room, scored[:, :, None] + counted, whole=whole)
    requests = dict(shape.requests)
    asked = (requests.get(CPU, 0), requests.get(MEMORY, 0))
    if any(asked):
        # A pod that requests neither is not scored by it at all.
        least += _balance(room, used[:, :, None] + np.array(asked, dtype=np.float64)[:, None, None] * np.arange(depth + 1), whole=whole)
    return least.astype(np.int64)


def _least(room: Floats, taken: Floats, *, whole: bool) -> Floats:
    """LeastAllocated: the mean of what would be free, in percent; a resource that the node has none of does not count."""
    if not whole:
        return _least_of_some(room, taken)
    left = room - taken
    np.maximum(left, 0.0, out=left)
    left *= 100.0
    left /= room
    np.floor(left, out=left)
    both: Floats = left[0] + left[1]
    both *= 0.5
    return np.floor(both, out=both)


def _least_of_some(room: Floats, taken: Floats) -> Floats:
    some = room > 0
    left = np.floor(np.maximum(room - taken, 0.0) * 100.0 / np.where(some, room, 1.0))
    mean: Floats = np.floor(np.where(some, left, 0.0).sum(axis=0) / np.maximum(some.sum(axis=0), 1))
    return mean


def _balance(room: Floats, used: Floats, *, whole: bool) -> Floats:
    """BalancedAllocation: how much evener than before cpu and memory would be used."""
    share = used / (room if whole else np.where(room > 0, room, 1.0))
    np.minimum(share, 1.0, out=share)
    balance: Floats = share[0] - share[1]
    balance *= 0.5
    np.abs(balance, out=balance)
    balance = np.floor((1.0 - balance) * 100.0)
    if not whole:
        # With one resource there is nothing to be uneven.
        balance = np.where((room > 0).all(axis=0), balance, 100.0)
    score: Floats = balance[:, 1:] - balance[:, :-1]
    score += 50.0
    score *= 0.5
    np.floor(score, out=score)
    score += 50.0
    return score
