"""Selection among feasible placements (KEP-5732, Placement Scoring and Selection).

NodeResourcesFit (tightest fit) and PodGroupPodsCount (most pods), weight 1 each, in integer arithmetic.  Ties go to
the first domain by value; kube-scheduler picks one at random.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Bools, Ints


def tightness(room: Ints, taken: Ints) -> Ints:
    """Return the use of each placement in percent.

    Args:
        room: shape (2, placements): allocatable millicores and bytes.
        taken: shape (2, placements): running and proposed pods, as scores count them.

    Returns:
        Shape (placements,).

    """
    counted = room > 0
    each = np.where(counted, 100 * np.minimum(taken, room) // np.maximum(room, 1), 0)
    weights = counted.sum(axis=0)
    return np.where(weights > 0, each.sum(axis=0) // np.maximum(weights, 1), 0)


def tightness_of(room: tuple[int, int], taken: tuple[int, int]) -> int:
    """Return the use of one placement in percent."""
    each = [100 * min(used, size) // size for size, used in zip(room, taken, strict=True) if size > 0]
    return sum(each) // len(each) if each else 0


def choose(feasible: Ints, tight: Ints, counts: Ints, holds: Bools | None = None) -> int:
    """Return the best of the *feasible* placements (indices, ascending); -1 if all pod counts are 0, an error in kube-scheduler.

    Args:
        feasible: indices into the other arrays, not empty.
        tight: ``tightness`` of each placement.
        counts: pods of the group on each placement, running and proposed.
        holds: placements where desiredCount fits as well; these are preferred.

    """
    if holds is not None and holds[feasible].any():
        feasible = feasible[holds[feasible]]
    if len(feasible) == 1:
        return int(feasible[0])
    several = counts[feasible]
    most = int(several.max())
    if most == 0:
        return -1
    total = tight[feasible] + several * 100 // most
    return int(feasible[total.argmax()])
