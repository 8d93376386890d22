"""Many equal pods with soft topology spread in one step: their order is guessed, and compared with the scores after each pod.

The guess is that only the number of pods in a domain matters, then the other scores.  It is right while the nodes of the domains are alike.
All scores that decide about each pod of the guess are computed as arrays, under the assumption that the pods before it are placed as
guessed.  The guess is right up to the first pod for which another node is better.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable, Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.placement.soft_spread.node_classes import UNLABELLED, NodeClass, NodeClasses, RuleState
from scheduler_core.plugins.base import Floats
from scheduler_core.plugins.spread_score import BEST, weight_of

LEAST = 128
"""Number of pods from which this is faster than one pod after the other."""
_MARGIN = 16
"""Number of nodes of a class that are considered beyond twice its equal share of the pods."""
_NONE, _UNKNOWN = 2**62, -(2**62)
"""Codes after the last node of a class, and after the last that is read."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Guess:
    """Order of pods; all arrays but ``codes`` have an entry or a row for each pod.

    Attributes:
        lanes: for each combination of domains the class with the best node.
        heaps: their nodes in order.
        codes: the same as an array, shape (lanes, nodes).
        lane: index in ``lanes``.
        before: shape (pods, lanes): number of earlier pods in each lane.
        nodes: position of the node.
        full: True if the pod fills its node.
        again: code of the node with this pod.

    """

    lanes: Sequence[NodeClass]
    heaps: Sequence[list[int]]
    codes: Ints
    lane: Ints
    before: Ints
    nodes: Ints
    full: Bools
    again: Ints


class Forecast:
    """Order of the next pods over *classes*, with *factor* for a normalised score.

    *codes_of* returns the codes of nodes for the first pods, shape (nodes, pods); *slots* and *placed* are by node.
    """

    def __init__(
        self, classes: NodeClasses, codes_of: Callable[[Ints, int], Ints], slots: Ints, placed: list[int], *, fills: bool, moves: bool
    ) -> None:
        """Prepare; the guess ends before a pod that fills its node unless *fills*, and nodes change their class with *moves*."""
        self._classes, self._codes_of, self._slots, self._placed = classes, codes_of, slots, placed
        self._fills, self._moves = fills, moves
        counted = [rule for rule in classes.rules if rule.counted and not rule.hostname]
        self.possible = not classes.ignores and all(rule.eligible is None for rule in counted)
        self._counted = counted

    def place_foreseen(self, count: int) -> list[int]:
        """Place up to *count* pods, at least ``LEAST``, and return the positions of their nodes, in order."""
        guess = self._guess(count)
        if guess is None:
            return []
        right = self._right(guess)
        number = len(right) if right.all() else int(right.argmin())
        if number:
            self._apply(guess, number)
        picks: list[int] = guess.nodes[:number].tolist()
        return picks

    def _guess(self, count: int) -> _Guess | None:
        best: dict[tuple[int, ...], NodeClass] = {}
        keys, fixed = self._classes.keys, [rule.hostname for rule in self._classes.rules]
        for live in self._classes.live:
            domains = tuple([-1 if host else domain for host, domain in zip(fixed, live.domains, strict=True)])
            if domains not in best or keys[live.number] < keys[best[domains].number]:
                best[domains] = live
        lanes = list(best.values())
        share = min(count, _MARGIN + 2 * count // len(lanes))
        heaps = [sorted(each.heap) for each in lanes]
        codes: Ints = np.full((len(lanes), share + 1), _NONE, dtype=np.int64)
        for row, heap in zip(codes, heaps, strict=True):
            row[: len(heap)] = heap[: share + 1]
        codes[:, share][codes[:, share] != _NONE] = _UNKNOWN
        step = sum((rule.weight for rule in self._counted), 0.0)
        level = np.array([self._classes.raws[each.number] for each in lanes])[:, None] + step * np.arange(share)
        level[codes[:, :share] == _NONE] = np.inf
        order = np.lexsort((codes[:, :share].ravel(), level.ravel()))[: min(count, int((codes[:, :share] != _NONE).sum()))]
        lane = order // share
        nodes = codes[lane, order % share] % self._classes.size
        placed = np.array([self._placed[node] for node in nodes.tolist()], dtype=np.int64)
        full = self._slots[nodes] - placed == 1
        end = self._end(lanes, lane, full)
        if end < LEAST:
            return None
        lane, nodes, placed, full = lane[:end], nodes[:end], placed[:end], full[:end]
        taken = lane[:, None] == np.arange(len(lanes))
        again = self._codes_of(nodes, int(placed.max()) + 2)[np.arange(end), placed + 1]
        return _Guess(lanes, heaps, codes, lane, np.cumsum(taken, axis=0) - taken, nodes, full, np.where(full, _NONE, again))

    def _end(self, lanes: Sequence[NodeClass], lane: Ints, full: Bools) -> int:
        """Return the number of pods before the first that fills a domain, or a node if this can change another score."""
        if not full.any():
            return len(lane)
        if not self._fills:
            return int(full.argmax())
        end = len(lane)
        for number, rule in enumerate(self._classes.rules):
            if not rule.hostname:
                domains = np.array([of_lane.domains[number] for of_lane in lanes])[lane]
                for domain in set(domains.tolist()):
                    filled = (full & (domains == domain)).nonzero()[0]
                    if len(filled) >= rule.left[domain]:
                        end = min(end, int(filled[rule.left[domain] - 1]))
        return end

    def _right(self, guess: _Guess) -> Bools:
        """Return for each pod whether its node is the best after the pods before it."""
        after = [self._following(each) for each in guess.lanes]
        columns = list(dict.fromkeys([*guess.lanes, *self._classes.live, *after]))
        index = {each: number for number, each in enumerate(columns)}
        to = np.array([index[each] for each in after])
        pods = np.arange(len(guess.lane))
        alive: Bools = self._sizes(guess, columns, to) > 0
        raw = self._raw(guess, columns)
        heads: Ints = np.full(raw.shape, _NONE, dtype=np.int64)
        heads[:] = [each.heap[0] if each.size else _NONE for each in columns]
        heads[:, : len(guess.lanes)] = guess.codes[np.arange(len(guess.lanes)), guess.before]
        pushed: Ints = np.full((len(pods) + 1, len(columns)), _NONE, dtype=np.int64)
        pushed[pods + 1, to[guess.lane]] = guess.again
        pushed = np.minimum.accumulate(pushed, axis=0)[:-1]
        most = np.maximum(np.where(alive, raw, 0).max(axis=1), 1)[:, None]
        least = np.where(alive, raw, _NONE).min(axis=1)[:, None]
        keys = np.minimum(heads, pushed) - self._classes.factor * (BEST * (most + least - raw) // most)
        keys[~alive] = _NONE
        best = keys.argmin(axis=1)
        right: Bools = (best == guess.lane) & (heads[pods, best] < pushed[pods, best])
        return right

    def _sizes(self, guess: _Guess, columns: Sequence[NodeClass], to: Ints) -> Ints:
        """Return the number of nodes of each class before each pod, shape (pods, classes)."""
        sizes: Ints = np.tile(np.array([each.size for each in columns], dtype=np.int64), (len(guess.lane), 1))
        moves: Ints = np.zeros((len(guess.lane) + 1, len(columns)), dtype=np.int64)
        pods = np.arange(1, len(guess.lane) + 1)
        moves[pods, guess.lane] -= 1
        moves[pods, to[guess.lane]] += ~guess.full
        return sizes + np.cumsum(moves, axis=0)[:-1]

    def _raw(self, guess: _Guess, columns: Sequence[NodeClass]) -> Ints:
        """Return the raw score of each class before each pod, shape (pods, classes)."""
        total: Floats = np.full((len(guess.lane), len(columns)), 0.0)
        before: Ints = np.cumsum(guess.full, dtype=np.int64) - guess.full
        filled: list[int] = before.tolist()
        for number, rule in enumerate(self._classes.rules):
            domains = np.array([column.domains[number] for column in columns])
            counts: Ints = np.array([rule.sums[domain] for domain in domains.tolist()], dtype=np.int64)
            weight: Floats | float = rule.weight
            if rule.hostname and guess.full.any():
                weights = {full_nodes: weight_of(rule.size - full_nodes) for full_nodes in set(filled)}
                weight = np.array([weights[full_nodes] for full_nodes in filled])[:, None]
            elif rule.counted and not rule.hostname:
                same = domains[: len(guess.lanes), None] == domains
                counts = counts + guess.before @ same.astype(np.int64)
            part = counts * weight + rule.offset
            labelled = np.array([column.parts[number] != UNLABELLED for column in columns])
            total += np.where(labelled, part, 0.0)
        raw: Ints = (total + 0.5).astype(np.int64)
        return raw

    def _following(self, each: NodeClass) -> NodeClass:
        return self._classes.following(each) if self._moves else each

    def _apply(self, guess: _Guess, number: int) -> None:
        """Place the first *number* pods of *guess*."""
        lane, full, classes = guess.lane[:number], guess.full[:number], self._classes
        for node in guess.nodes[:number].tolist():
            self._placed[node] += 1
        for row, (before, heap) in enumerate(zip(guess.lanes, guess.heaps, strict=True)):
            here = lane == row
            taken, filled = int(here.sum()), int((here & full).sum())
            if not taken:
                continue
            before.heap = heap[taken:]
            for rule, domain in zip(classes.rules, before.domains, strict=True):
                _count(rule, domain, taken, filled)
            after = self._following(before)
            if after is not before or filled:
                classes.remove(before, taken)
                if taken > filled:
                    classes.add(after, taken - filled)
            after.heap += guess.again[:number][here & ~full].tolist()
            heapq.heapify(after.heap)
        for rule in classes.rules:
            rule.reweigh()
        classes.rescore()
        classes.rank(())


def _count(rule: RuleState, domain: int, taken: int, filled: int) -> None:
    """Count pods that *taken* nodes in *domain* got; *filled* of these nodes are full."""
    if rule.hostname:
        rule.size -= filled
    else:
        rule.left[domain] -= filled
        if rule.counted:
            rule.sums[domain] += taken
