"""A few equal pods that are the first that their topology spread constraints count: each gets a node of its own, as a rule.

Before such pods only the domains distinguish the nodes.  So it is enough to know the best nodes of each domain.  If a node is the best for
a second pod, or becomes full, the pods are placed by ``fill_spread``.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.placement.placement_request import Run
from scheduler_core.placement.soft_spread.node_codes import NodeCodes, smallest
from scheduler_core.plugins.spread_score import BEST, SoftRule, SoftSpread, weight_of
from scheduler_core.plugins.topology_counts import NodeTally

MOST_PODS = 32
"""Number of pods up to which this is used."""
_CELLS = 4_000
"""Number of codes up to which those of two pods on each node are computed at once."""
_ON_NODE, _IN_LANE, _EVERYWHERE = range(3)


class _Part(NamedTuple):
    """Part of the raw score by one constraint: *weight* times the pods on the node, in its domain, or in the only domain, plus *offset*."""

    pods: int
    weight: float
    offset: float


class _Lane(NamedTuple):
    """Nodes of one domain: for the best of them, in order, the code, that for a second pod, and whether one pod fills it."""

    codes: list[int]
    again: list[int]
    full: list[bool]


def first_pods(run: Run, soft: SoftSpread, earlier: Mapping[NodeTally, Ints], codes: NodeCodes, count: int) -> Nodes | None:
    """Return the positions of the nodes of *count* pods of *run*, in order; None if they must be placed otherwise.

    No score may be normalised over the nodes but topology spread.  *earlier* are the pods of the same leaf by node, as in ``fill_spread``.
    """
    if count > MOST_PODS or soft.scored is not None or not all(_is_first(rule, run, earlier) for rule in soft.rules):
        return None
    divided = _divided(soft.rules, codes.at.nodes)
    if divided is None:
        return None
    parts, members = divided
    picks = _ordered(_lanes(codes, members, count), parts, count, soft.weight * codes.size)
    return None if picks is None else np.array(picks, dtype=np.int64) % codes.size


def _is_first(rule: SoftRule, run: Run, earlier: Mapping[NodeTally, Ints]) -> bool:
    """Return whether *rule* counts the pods of *run* and no other, on all nodes alike."""
    counted = run.spread is not None and rule.tally in run.spread.counted_by
    return counted and not rule.tally.by_node and rule.tally not in earlier and rule.labelled is None and rule.eligible is None


def _divided(rules: Sequence[SoftRule], nodes: Nodes) -> tuple[list[_Part], list[Ints]] | None:
    """Return the parts of the score, and the positions of the nodes of each domain; none for a single domain.

    Return None if nodes differ by more than one constraint, there are many domains, or no constraint is about the nodes themselves.
    """
    parts: list[_Part] = []
    members: list[Ints] = []
    for rule in rules:
        pods, size = _ON_NODE, len(nodes)
        if not rule.hostname:
            found = rule.members.of_nodes(nodes)
            if found is None or (members and len(found) > 1):
                return None
            pods, size = _EVERYWHERE, len(found)
            if size > 1:
                pods, members = _IN_LANE, found
        parts.append(_Part(pods, weight_of(size), float(rule.term.skew - 1)))
    return (parts, members) if any(rule.hostname for rule in rules) else None


def _lanes(codes: NodeCodes, members: Sequence[Ints], count: int) -> list[_Lane]:
    """Return the *count* best nodes of each domain."""
    both = 2 * codes.size <= _CELLS
    found = codes.for_pods(codes.everything, 2 if both else 1)
    heads = found[:, 0]
    chosen = [each[smallest(heads[each], count)] for each in members] if members else [smallest(heads, count)]
    together = np.concatenate(chosen) if members else chosen[0]
    again = (found[together] if both else codes.for_pods(together, 2))[:, 1].tolist()
    first, full = heads[together].tolist(), (codes.at.slots[together] == 1).tolist()
    lanes, start = [], 0
    for end in np.cumsum([len(positions) for positions in chosen]).tolist() if members else (len(first),):
        lanes.append(_Lane(first[start:end], again[start:end], full[start:end]))
        start = end
    return lanes


def _ordered(lanes: Sequence[_Lane], parts: Sequence[_Part], count: int, factor: int) -> list[int] | None:
    """Return the codes of the nodes of the pods, in order; None if a node is the best for its second pod, or becomes full before the last.

    *factor* is that of a normalised score in the codes.
    """
    picks: list[int] = []
    taken = [0] * len(lanes)
    again: list[list[int]] = [[] for _ in lanes]
    while True:
        live = [
            (_raw(parts, len(picks), number, 0), lane.codes[number], index)
            for index, (lane, number) in enumerate(zip(lanes, taken, strict=True))
            if number < len(lane.codes)
        ]
        live += [(_raw(parts, len(picks), taken[index], 1), heap[0], -1) for index, heap in enumerate(again) if heap]
        raws = [raw for raw, _, _ in live]
        most = max(raws) or 1
        both = most + min(raws)
        _, best = min([(code - factor * (BEST * (both - raw) // most), index) for raw, code, index in live])
        if best < 0:
            return None
        lane, number = lanes[best], taken[best]
        picks.append(lane.codes[number])
        if len(picks) == count:
            return picks
        if lane.full[number]:
            return None
        taken[best] += 1
        heapq.heappush(again[best], lane.again[number])


def _raw(parts: Sequence[_Part], everywhere: int, in_lane: int, on_node: int) -> int:
    """Return the raw score of a node with these numbers of pods."""
    numbers, total = (on_node, in_lane, everywhere), 0.0
    for pods, weight, offset in parts:
        total += numbers[pods] * weight + offset
    # The sum is 0 or at least 1, so that this rounds exactly.
    return int(total + 0.5)
