"""Equal pods with topology spread constraints (``ScheduleAnyway``), placed one after the other on the best node.

A pod changes the node that takes it, and the raw scores of the classes in its domains; a node that becomes full changes the weights.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.placement.placement_request import Run
from scheduler_core.placement.soft_spread.first_pods import first_pods
from scheduler_core.placement.soft_spread.forecast import LEAST, Forecast
from scheduler_core.placement.soft_spread.node_classes import UNLABELLED, NodeClass, NodeClasses, RuleState
from scheduler_core.placement.soft_spread.node_codes import NodeCodes, NodesInUse, smallest
from scheduler_core.plugins.profile import ShapeProfile
from scheduler_core.plugins.spread_score import SoftSpread
from scheduler_core.plugins.topology_counts import Ids, NodeTally

_CELLS = 4_000
"""Number of scores up to which those of several pods on each node are computed at once."""
_DENSE = 2**16
"""Number of combinations up to which they are counted in an array."""
_AHEAD = 64
"""Number of nodes for which the scores of further pods are computed together."""
Earlier = dict[NodeTally, Ints]
"""Pods of the same leaf that are placed but not assumed, shape (all nodes,)."""


def fill_spread(run: Run, soft: SoftSpread, profile: ShapeProfile, earlier: Earlier, at: NodesInUse) -> Nodes:
    """Return the positions of the nodes of the pods of *run*, in order; fewer if no more fit."""
    taken: list[Nodes] = []
    count = run.count
    while len(able := (at.slots > 0).nonzero()[0]):
        part = at if len(able) == len(at.nodes) else at.part(able)
        codes = NodeCodes(profile, part)
        found = None if profile.scores else first_pods(run, soft, earlier, codes, count)
        picks = able[_Fill(run, soft, profile, earlier, codes, count).place() if found is None else found]
        taken.append(picks)
        count -= len(picks)
        if not count:
            break
        at = at.with_pods(run, profile, picks)
        earlier = with_pods(run, earlier, at.nodes[picks])
    return np.concatenate(taken) if taken else able


def with_pods(run: Run, earlier: Earlier, nodes: Nodes) -> Earlier:
    """Return *earlier* with pods of *run* on *nodes* (indices)."""
    more = dict(earlier)
    for tally in run.spread.counted_by if run.spread else ():
        more[tally] = earlier[tally].copy() if tally in earlier else np.zeros(len(tally.ids), dtype=np.int64)
        np.add.at(more[tally], nodes, 1)
    return more


class _Fill:
    """Placement of equal pods under construction.  Nodes are positions."""

    def __init__(self, run: Run, soft: SoftSpread, profile: ShapeProfile, earlier: Earlier, codes: NodeCodes, count: int) -> None:
        self._codes_of, self._at, self._count = codes, codes.at, count
        at, self._size = codes.at, codes.size
        self._pods = [0] * self._size
        counts = {rule.tally: found for rule in soft.rules if (found := _counts(rule.tally, earlier)) is not None}
        kept = at.nodes if soft.scored is None else at.nodes[soft.scored[at.nodes]]
        counted_by = run.spread.counted_by if run.spread else frozenset()
        rules = [RuleState.over(rule, counts.get(rule.tally), at.nodes, kept, counted=rule.tally in counted_by) for rule in soft.rules]
        self._domain_rules = [(number, rule) for number, rule in enumerate(rules) if rule.counted and not rule.hostname]
        self._moves = any(rule.hostname and rule.counted for rule in rules)
        self._classes = NodeClasses(rules, self._size, soft.weight)
        self._codes: dict[int, list[int]] = {}
        self._scales = [_largest(score.raw[at.nodes]) for score in profile.scores]
        self._classify(soft, counts)

    def place(self) -> Nodes:
        """Return the nodes of the pods in order, until all have one, no more fit, or the scale of another score changes."""
        picks: list[int] = []
        fills = not self._scales
        forecast = None
        if self._count >= LEAST:
            forecast = Forecast(self._classes, self._codes_of.for_pods, self._at.slots, self._pods, fills=fills, moves=self._moves)
        self._classes.rank(())
        alone = LEAST
        while len(picks) < self._count and self._classes.live:
            if forecast and forecast.possible and (left := self._count - len(picks)) >= LEAST:
                foreseen = forecast.place_foreseen(left)
                picks += foreseen
                if len(foreseen) >= LEAST:
                    continue
                alone *= 2
            if not self._one_by_one(picks, min(self._count, len(picks) + alone)):
                break
        return np.array(picks, dtype=np.int64)

    def _one_by_one(self, picks: list[int], end: int) -> bool:
        """Append the nodes of pods to *picks* until they are *end*, or no more fit; return False if the scale of another score changes."""
        classes, rules, size = self._classes, self._domain_rules, self._size
        keys, live, placed, slots = classes.keys, classes.live, self._pods, self._at.slots
        while len(picks) < end and live:
            best = live[keys.index(min(keys))]
            node = heapq.heappop(best.heap) % size
            picks.append(node)
            if len(picks) == self._count:
                break
            pods = placed[node] = placed[node] + 1
            changed: list[NodeClass] = []
            for number, rule in rules:
                if rule.eligible is None or rule.eligible[node]:
                    domain = best.domains[number]
                    rule.add(domain)
                    changed = [*changed, *rule.classes[domain]] if changed else rule.classes[domain]
            classes.score(changed)
            if pods < slots[node]:
                after = self._add_again(node, pods, best)
            elif self._remove(node, best):
                return False
            else:
                after = best
            classes.rank(changed if after in changed and best in changed else [*changed, best, after])
        return True

    def _classify(self, soft: SoftSpread, counts: Earlier) -> None:
        """Make the classes, each with a heap of as many nodes as there are pods."""
        nodes, size = self._at.nodes, self._size
        nowhere: Ints = np.zeros(size, dtype=np.int64)
        columns = [
            rule.ids[nodes] if not rule.hostname else counts[rule.tally][nodes] if rule.tally in counts else nowhere for rule in soft.rules
        ]
        labelled = [None if rule.labelled is None else rule.labelled[nodes] for rule in soft.rules]
        scored = None if soft.scored is None else soft.scored[nodes]
        differing = [column for column, rule in zip(columns, self._classes.rules, strict=True) if len(rule.sums) > 1]
        number = _numbered([*differing, *(each for each in (*labelled, scored) if each is not None)])
        depth = min(self._count, int(self._at.slots.max()), 2 * -(-self._count // size))
        depth = depth if depth * size <= _CELLS else 1
        codes = self._codes_of.for_pods(self._codes_of.everything, depth)
        heads = codes[:, 0]
        for members, every in _grouped(number, heads, self._count + 1):
            first = int(members[0])
            domains = tuple([int(column[first]) for column in columns])
            parts = tuple([d if has is None or has[first] else UNLABELLED for d, has in zip(domains, labelled, strict=True)])
            each = self._classes.get(domains, parts, scored=scored is None or bool(scored[first]))
            each.heap = heads[members].tolist()
            if depth > 1:
                self._codes.update(zip(members.tolist(), codes[members].tolist(), strict=True))
            self._classes.add(each, every)

    def _look_ahead(self, node: int, depth: int) -> list[int]:
        """Return the codes of *node* for the first pods on it; those of the best nodes of all classes are computed in the same step."""
        share = min(self._count, 1 + _AHEAD // len(self._classes.live))
        near = {node, *(code % self._size for live in self._classes.live for code in live.heap[:share])}
        nodes = np.array([*near], dtype=np.int64)
        self._codes.update(zip(near, self._codes_of.for_pods(nodes, depth).tolist(), strict=True))
        return self._codes[node]

    def _add_again(self, node: int, pods: int, before: NodeClass) -> NodeClass:
        """Add *node*, which has *pods* now, to its class, and return the class."""
        codes = self._codes.get(node)
        if codes is None or len(codes) <= pods:
            codes = self._look_ahead(node, 2 * pods + 2)
        after = before
        if self._moves:
            after = before.following or self._classes.following(before)
            self._classes.remove(before)
            self._classes.add(after)
        heapq.heappush(after.heap, codes[pods])
        return after

    def _remove(self, node: int, before: NodeClass) -> bool:
        """Remove *node*, which is full, from its class; return whether the scale of another score changes."""
        self._classes.remove(before)
        if before.scored and self._shrink(before):
            self._classes.rescore()
        return self._rescaled(node)

    def _shrink(self, before: NodeClass) -> bool:
        """Update the sizes of rules after a node of *before* became full; return whether raw scores can change."""
        changed = False
        for rule, domain in zip(self._classes.rules, before.domains, strict=True):
            if not rule.hostname:
                rule.left[domain] -= 1
                if rule.left[domain]:
                    continue
            rule.size -= 1
            rule.reweigh()
            # Without pods the weight makes no difference.
            changed |= any(rule.sums.values())
        return changed

    def _rescaled(self, node: int) -> bool:
        """Return whether the scale of another score changes because *node* became full: it was the last with the largest raw score."""
        for scale in self._scales:
            scale.discard(node)
        return not all(self._scales)


def _counts(tally: NodeTally, earlier: Earlier) -> Ints | None:
    """Return the number of pods by node, shape (all nodes,); None if there are no pods."""
    if not tally.by_node:
        return earlier.get(tally)
    counts = tally.domains()[:-1]
    return counts + earlier[tally] if tally in earlier else counts


def _numbered(columns: Sequence[Ints | Ids | Bools]) -> Ints | None:
    """Return equal numbers for positions with equal entries in all *columns*, from 0 and without gaps; None if all are equal."""
    number: Ints | None = None
    for column in columns:
        least, most = int(column.min()), int(column.max())
        if least < most:
            number = (0 if number is None else number * (most - least + 1)) + column.astype(np.int64) - least
            if number.max() < _DENSE:
                used = np.bincount(number) > 0
                number = number if used.all() else (np.cumsum(used) - 1)[number]
            else:
                number = np.unique(number, return_inverse=True)[1]
    return number


def _grouped(number: Ints | None, codes: Ints, count: int) -> Iterator[tuple[Ints, int]]:
    """Yield, for each number, the *count* positions with the smallest codes, in this order, and how many positions there are."""
    if number is None:
        yield smallest(codes, count), len(codes)
        return
    order = np.lexsort((codes, number))
    for members in np.split(order, np.cumsum(np.bincount(number))[:-1]):
        yield members[:count], len(members)


def _largest(raw: Ints) -> set[int]:
    """Return the positions with the largest raw score, which sets the scale."""
    return set((raw == raw.max()).nonzero()[0].tolist())
