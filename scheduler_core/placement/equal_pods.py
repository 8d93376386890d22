"""Equal pods, placed one after the other on the best node, computed in one step.

The scores of the first, second, ... equal pod on one node are a sequence that is independent of all other nodes.  Greedy placement takes
the best head of all sequences again and again.  An element that is better than the worst element before it is taken directly after that
element.  So the elements are taken in order of the running minimum of their sequence: larger first, then by node, then by position.  A
whole gang is one sort, and *count* pods can use only the nodes whose head is among the *count* best.
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
    capacity: Floats,
    scored: Ints,
    used: Ints,
    *,
    whole: bool = False,
    bonus: Ints | None = None,
) -> Nodes:
    """Return the nodes of *count* equal pods in their order; fewer if no more fit.

    Args:
        local: node-local plugin of their shape.
        count: number of pods.
        slots: shape (nodes,): number of pods that fit on each node.
        capacity: shape (resources, nodes), as for ``NodeLocalPlugin.ladder``.
        scored: likewise.
        used: likewise.
        whole: likewise.
        bonus: shape (nodes,): added to each score of a node.

    Returns:
        Positions in the given arrays, one for each pod.

    """
    able = (slots > 0).nonzero()[0]
    if not len(able):
        return _NOTHING
    if len(able) < len(slots):
        slots, capacity, scored, used = slots[able], capacity.take(able, axis=1), scored.take(able, axis=1), used.take(able, axis=1)
        bonus = None if bonus is None else bonus[able]
    heads = local.ladder(capacity, scored, used, 1, whole=whole)[:, 0]
    if bonus is not None:
        heads += bonus
    if len(able) > count:
        chosen = best(heads, count, wide=local.wide)
        if count == 1:
            return able[chosen]
        chosen.sort()
        able, slots = able[chosen], slots[chosen]
        capacity, scored, used = capacity.take(chosen, axis=1), scored.take(chosen, axis=1), used.take(chosen, axis=1)
        heads = heads[chosen]
        bonus = None if bonus is None else bonus[chosen]
    depth = min(count, int(slots.max()))
    if depth == 1:
        return able[(-heads).argsort(kind="stable")[:count]]
    steps = local.ladder(capacity, scored, used, depth, whole=whole)
    if bonus is not None:
        steps += bonus[:, None]
    order = merge(steps, slots, wide=local.wide)
    return able[order[: min(count, int(slots.sum()))] // depth]


def merge(steps: Ints, slots: Ints, *, wide: bool = False) -> Ints:
    """Return the flat positions of *steps*, shape (nodes, depth), in the order of placement; those beyond *slots* come last."""
    lowest = np.minimum.accumulate(steps, axis=1)
    lowest[np.arange(steps.shape[1]) >= slots[:, None]] = _SPENT
    flat = -lowest.ravel()
    # numpy sorts 16-bit integers by radix sort.
    return (flat if wide else flat.astype(np.int16)).argsort(kind="stable")


def best(heads: Ints, count: int, *, wide: bool = False) -> Ints:
    """Return the positions of the *count* largest, in order; ties go to the first."""
    size = len(heads)
    if wide:
        return (-heads).argsort(kind="stable")[:count]
    if size <= 256:
        return (-heads.astype(np.int16)).argsort(kind="stable")[:count]
    keys = heads * size - np.arange(size)
    chosen = np.argpartition(-keys, count - 1)[:count]
    return chosen[np.argsort(-keys[chosen])]


def slots_of(free: Ints, amounts: Ints, mask: Bools | None) -> Ints:
    """Return the number of pods that fit on each node; *free* has the shape (rows, nodes), *amounts* (rows, 1)."""
    slots: Ints = (free // amounts).min(axis=0)
    if mask is not None:
        slots[~mask] = 0
    return slots
