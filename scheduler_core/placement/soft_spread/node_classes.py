"""Feasible nodes by their raw topology spread score, while equal pods are placed on them.

Nodes that no constraint distinguishes form a class: they are in the same domains and have the same number of pods.  A class has a heap of
its nodes by all other scores.

The code of a node, a position, orders nodes by all other scores, then by position: the smallest is the best.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.plugins.spread_score import BEST, IGNORED, SoftRule, weight_of


class NodeClass:
    """Nodes that no constraint distinguishes."""

    __slots__ = ("domains", "following", "heap", "number", "parts", "scored", "size", "terms")

    def __init__(self, domains: tuple[int, ...], parts: tuple[int, ...], *, scored: bool) -> None:
        self.domains = domains
        """For each rule the domain, or for the hostname the number of pods on the node."""
        self.parts = parts
        """The same, but UNLABELLED for a rule whose topology key the nodes do not have."""
        self.scored = scored
        self.size = 0
        self.heap: list[int] = []
        """Codes of its best nodes."""
        self.number = -1
        """Its index among the classes that have nodes."""
        self.terms: tuple[tuple[dict[int, float], int], ...] = ()
        """For each rule the parts of its raw scores, and the index of this class in them."""
        self.following: NodeClass | None = None
        """Class of its nodes with one pod more."""


UNLABELLED = -1


@dataclasses.dataclass(slots=True, eq=False)
class RuleState:
    """Constraint over the feasible nodes.

    Attributes:
        hostname: True if each node is a domain of its own.
        counted: True if it counts the pods to place.
        offset: maxSkew - 1.
        eligible: by position; None if all are.
        sums: pods by domain.
        left: feasible nodes by domain.
        size: number of domains with a feasible node.
        parts: part of the raw score by domain, or for the hostname by number of pods; 0 for UNLABELLED.
        classes: classes with nodes, by domain.

    """

    hostname: bool
    counted: bool
    offset: float
    eligible: list[bool] | None
    sums: dict[int, int]
    left: dict[int, int]
    size: int
    weight: float = 0.0
    parts: dict[int, float] = dataclasses.field(default_factory=dict)
    classes: dict[int, list[NodeClass]] = dataclasses.field(default_factory=dict)

    @classmethod
    def over(cls, rule: SoftRule, counts: Ints | None, nodes: Nodes, kept: Nodes, *, counted: bool) -> RuleState:
        """Return *rule* over *nodes*, of which *kept* are not ignored; *counts* has the shape (all nodes,), or is None for no pods."""
        offset = float(rule.term.skew - 1)
        if rule.hostname:
            found = [0] if counts is None else np.bincount(counts[nodes]).nonzero()[0].tolist()
            state = cls(rule.hostname, counted, offset, None, dict(zip(found, found, strict=True)), {}, len(kept))
        else:
            eligible = None if rule.eligible is None else rule.eligible[nodes].tolist()
            numbers = np.bincount(rule.ids[kept])
            left = {each: int(numbers[each]) for each in numbers.nonzero()[0].tolist()}
            domains = left if kept is nodes else np.bincount(rule.ids[nodes]).nonzero()[0].tolist()
            sums = None if counts is None else rule.sums(counts)
            numbers_of_pods = {each: 0 if sums is None else int(sums[each]) for each in domains}
            state = cls(rule.hostname, counted, offset, eligible, numbers_of_pods, left, len(left))
        state.reweigh()
        return state

    def reweigh(self) -> None:
        """Compute the weight and all parts."""
        self.weight = weight_of(self.size)
        self.parts.update((each, number * self.weight + self.offset) for each, number in self.sums.items())
        self.parts[UNLABELLED] = 0.0

    def add(self, domain: int) -> None:
        """Count one pod more in *domain*."""
        number = self.sums[domain] = self.sums[domain] + 1
        self.parts[domain] = number * self.weight + self.offset

    def part_of(self, pods: int) -> None:
        """Compute the part of nodes with so many *pods*, of the hostname."""
        if pods not in self.sums:
            self.sums[pods] = pods
            self.parts[pods] = pods * self.weight + self.offset


class NodeClasses:
    """Classes over nodes.

    Attributes:
        rules: the constraints.
        live: the classes that have nodes.
        raws: raw score of each of them; IGNORED if it is not scored.
        keys: for each of them the code of its best node, less the weighted topology spread score: the smallest is the best.
        size: number of nodes.
        factor: factor of a normalised score in the keys.
        ignores: True if some nodes are not scored.

    """

    def __init__(self, rules: list[RuleState], size: int, weight: int) -> None:
        """Prepare for *size* nodes; *weight* is the factor of the normalised score."""
        self.rules = rules
        self.live: list[NodeClass] = []
        self.raws: list[int] = []
        self.keys: list[int] = []
        self.size = size
        self.factor = weight * size
        self.ignores = False
        self._bounds = 0, 0
        self._classes: dict[tuple[tuple[int, ...], tuple[int, ...], bool], NodeClass] = {}

    def get(self, domains: tuple[int, ...], parts: tuple[int, ...], *, scored: bool) -> NodeClass:
        """Return the class with these attributes."""
        key = domains, parts, scored
        if (found := self._classes.get(key)) is None:
            found = self._classes[key] = NodeClass(domains, parts, scored=scored)
            found.terms = tuple([(rule.parts, part) for rule, part in zip(self.rules, parts, strict=True)])
            self.ignores |= not scored
            for rule, pods in zip(self.rules, domains, strict=True):
                if rule.hostname:
                    rule.part_of(pods)
        return found

    def add(self, changed: NodeClass, number: int = 1) -> None:
        """Add a *number* of nodes to a class."""
        if not changed.size:
            changed.number = len(self.live)
            self.live.append(changed)
            self.raws.append(IGNORED)
            self.keys.append(0)
            self.score((changed,))
            self._bounds = 0, 0
            for rule, domain in zip(self.rules, changed.domains, strict=True):
                rule.classes.setdefault(domain, []).append(changed)
        changed.size += number

    def remove(self, changed: NodeClass, number: int = 1) -> None:
        """Remove a *number* of nodes from a class."""
        changed.size -= number
        if not changed.size:
            last, raw, number = self.live.pop(), self.raws.pop(), changed.number
            self.keys.pop()
            self._bounds = 0, 0
            if last is not changed:
                self.live[number], self.raws[number], last.number = last, raw, number
            for rule, domain in zip(self.rules, changed.domains, strict=True):
                rule.classes[domain].remove(changed)

    def following(self, before: NodeClass) -> NodeClass:
        """Return the class of nodes of *before* that take one pod more."""
        if (found := before.following) is None:
            more = [int(rule.hostname and rule.counted) for rule in self.rules]
            domains = tuple([each + step for each, step in zip(before.domains, more, strict=True)])
            parts = tuple([each if each == UNLABELLED else each + step for each, step in zip(before.parts, more, strict=True)])
            found = before.following = self.get(domains, parts, scored=before.scored)
        return found

    def score(self, classes: Iterable[NodeClass]) -> None:
        """Compute the raw scores of *classes*, which have nodes."""
        raws = self.raws
        for changed in classes:
            if changed.scored:
                total = 0.0
                for parts, index in changed.terms:
                    total += parts[index]
                # The sum is 0 or at least 1, so that this rounds exactly.
                raws[changed.number] = int(total + 0.5)

    def rescore(self) -> None:
        """Compute the raw scores of all classes with nodes, after a weight changed."""
        self.score(self.live)
        self._bounds = 0, 0

    def rank(self, changed: Iterable[NodeClass]) -> None:
        """Compute the keys of classes with nodes, of which only *changed* have another best node or raw score."""
        live, keys, raws = self.live, self.keys, self.raws
        if not live:
            return
        scored = [raw for raw in raws if raw != IGNORED] or [0] if self.ignores else raws
        least = min(scored)
        # If all raw scores are 0, all nodes have the best score.
        most = max(scored) or 1
        factor, both = self.factor, most + least
        if self.ignores:
            for number, each in enumerate(live):
                keys[number] = each.heap[0] - (factor * (BEST * (both - raws[number]) // most) if each.scored else 0)
        elif self._bounds != (most, least):
            self._bounds = most, least
            keys[:] = [each.heap[0] - factor * (BEST * (both - raw) // most) for each, raw in zip(live, raws, strict=True)]
        else:
            for each in changed:
                if each.size:
                    number = each.number
                    keys[number] = each.heap[0] - factor * (BEST * (both - raws[number]) // most)
