"""Equal pods with static scores, which are normalised over the feasible nodes.

The scale is set by the largest raw score among the nodes that are still feasible.  It holds until the last node with that score is full.
Up to there ``equal_pods`` gives the nodes; then the scale is computed again.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.equal_pods import fill
from scheduler_core.plugins.base import Floats
from scheduler_core.plugins.profile import ShapeProfile


def bonus_of(profile: ShapeProfile, nodes: Nodes) -> Ints:
    """Return the weighted sum of the static scores of *nodes*, the indices of all feasible nodes."""
    bonus: Ints = np.zeros(len(nodes), dtype=np.int64) if profile.bonus is None else profile.bonus[nodes]
    for score in profile.scores:
        bonus += score.weight * score.normalised(nodes)
    return bonus


def fill_soft(  # noqa: PLR0913 - the arguments of fill, and the nodes
    shape: PodShape,
    profile: ShapeProfile,
    nodes: Nodes,
    count: int,
    slots: Ints,
    capacity: Floats,
    scored: Ints,
    used: Ints,
    *,
    whole: bool,
) -> Nodes:
    """Do the same as ``fill`` on *nodes* (indices) with the static scores of *profile*; the given arrays are not modified."""
    slots, scored, used = np.maximum(slots, 0), scored.copy(), used.copy()
    counted = np.array(shape.scored, dtype=np.int64)[:, None]
    taken: list[Nodes] = []
    while count:
        able = (slots > 0).nonzero()[0]
        if not len(able):
            break
        bonus: Ints = np.zeros(len(slots), dtype=np.int64)
        bonus[able] = bonus_of(profile, nodes[able])
        picks = fill(profile.local, count, slots, capacity, scored, used, whole=whole, bonus=bonus)
        picks = picks[: _valid(profile, nodes, able, slots, picks)]
        taken.append(picks)
        count -= len(picks)
        several, times = np.unique(picks, return_counts=True)
        slots[several] -= times
        used[:, several] += profile.local.asked * times
        scored[:, several] += counted * times
    return np.concatenate(taken) if taken else np.zeros(0, dtype=np.int64)


def _valid(profile: ShapeProfile, nodes: Nodes, able: Nodes, slots: Ints, picks: Nodes) -> int:
    """Return the number of *picks* before a scale changes: up to the pick that fills the last node with the largest score."""
    valid = len(picks)
    for score in profile.scores:
        here = score.raw[nodes[able]]
        valid = min(valid, _last_filled(able[here == here.max()], slots, picks))
    return valid


def _last_filled(largest: Nodes, slots: Ints, picks: Nodes) -> int:
    """Return the number of picks until all nodes *largest* are full; all picks if they are never full."""
    last = 0
    for node in largest.tolist():
        there = (picks == node).nonzero()[0]
        if len(there) < slots[node]:
            return len(picks)
        last = max(last, int(there[-1]) + 1)
    return last
