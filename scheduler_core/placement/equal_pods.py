"""Equal pods, one after the other, each on the best node: worked out at once.

Equal pods on one node see a falling and rising sequence of scores that depends on no other node.  Taking the best head of all
sequences again and again yields their elements in order of the smallest score so far in their own sequence, larger first, then
node, then position: until its worst element has been taken nothing behind it can be, and afterwards the rest follows at once.
So a whole gang is one sort, and only nodes whose head is among the best *count* can be touched by *count* pods.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.plugins.base import Floats, NodeLocalPlugin

_NOTHING: Nodes = np.zeros(0, dtype=np.int64)
_SPENT = -1
"""Below every score."""


def fill(
    local: NodeLocalPlugin,
    count: int,
    slots: Ints,
    room: Floats,
    scored: Ints,
    used: Ints,
    *,
    whole: bool = False,
    bonus: Ints | None = None,
) -> Nodes:
    """Where *count* equal pods go, in their order; fewer where there is no room for more.

    Args:
        local: scores them by what runs on a node.
        count: how many there are.
        slots: shape (nodes,): how many of them each node holds.
        room: shape (2, nodes), as for ``NodeLocalPlugin.ladder``.
        scored: likewise.
        used: likewise, requests of cpu and memory.
        whole: likewise.
        bonus: shape (nodes,): added to every score of a node.

    Returns:
        Positions in the arrays given, one a pod.

    """
    able = (slots > 0).nonzero()[0]
    if not len(able):
        return _NOTHING
    if len(able) < len(slots):
        slots, room, scored, used = slots[able], room[:, able], scored[:, able], used[:, able]
        bonus = None if bonus is None else bonus[able]
    heads = local.ladder(room, scored, used, 1, whole=whole)[:, 0]
    if bonus is not None:
        heads += bonus
    if len(able) > count:
        chosen = best(heads, count)
        if count == 1:
            return able[chosen]
        chosen.sort()
        able, slots = able[chosen], slots[chosen]
        room, scored, used = room[:, chosen], scored[:, chosen], used[:, chosen]
        heads = heads[chosen]
        bonus = None if bonus is None else bonus[chosen]
    depth = min(count, int(slots.max()))
    if depth == 1:
        return able[np.argsort(-heads, kind="stable")[:count]]
    steps = local.ladder(room, scored, used, depth, whole=whole)
    if bonus is not None:
        steps += bonus[:, None]
    order = merge(steps, slots)
    return able[order[: min(count, int(slots.sum()))] // depth]


def merge(steps: Ints, slots: Ints) -> Ints:
    """Flat positions of *steps*, shape (nodes, depth), in the order in which they are taken; those beyond *slots* come last."""
    lowest = np.minimum.accumulate(steps, axis=1)
    lowest[np.arange(steps.shape[1]) >= slots[:, None]] = _SPENT
    # 16 bits sort by counting.
    return np.argsort(-lowest.ravel().astype(np.int16), kind="stable")


def best(heads: Ints, count: int) -> Ints:
    """Positions of the *count* largest, in order; of equal ones the first."""
    size = len(heads)
    if size <= 256:
        return np.argsort(-heads.astype(np.int16), kind="stable")[:count]
    keys = heads * size - np.arange(size)
    chosen = np.argpartition(-keys, count - 1)[:count]
    return chosen[np.argsort(-keys[chosen])]


def slots_of(free: Ints, amounts: Ints, mask: Bools | None) -> Ints:
    """How many pods each node holds: *free* and *amounts* by resource, shapes (rows, nodes) and (rows, 1)."""
    slots: Ints = (free // amounts).min(axis=0)
    if mask is not None:
        slots[~mask] = 0
    return slots
