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

    __slots__ = ("domains", "following", "heap", "parts", "raw", "scored", "size")

    def __init__(self, domains: tuple[int, ...], parts: tuple[int, ...], *, scored: bool) -> None:
        self.domains = domains
        """For each rule the domain, or for the hostname the number of pods on the node."""
        self.parts = parts
        """The same, but UNLABELLED for a rule whose topology key the nodes do not have."""
        self.scored = scored
        self.size = 0
        self.heap: list[int] = []
        """Codes of its best nodes."""
        self.raw = IGNORED
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
    def over(cls, rule: SoftRule, counts: Ints, nodes: Nodes, kept: Nodes, *, counted: bool) -> RuleState:
        """Return *rule* over *nodes*, of which *kept* are not ignored; *counts* has the shape (all nodes,)."""
        offset = float(rule.term.skew - 1)
        if rule.hostname:
            found = np.bincount(counts[nodes]).nonzero()[0].tolist()
            state = cls(rule.hostname, counted, offset, None, dict(zip(found, found, strict=True)), {}, len(kept))
        else:
            eligible = None if rule.eligible is None else rule.eligible[nodes].tolist()
            numbers = np.bincount(rule.ids[kept])
            left = {each: int(numbers[each]) for each in numbers.nonzero()[0].tolist()}
            domains = left if kept is nodes else np.bincount(rule.ids[nodes]).nonzero()[0].tolist()
            sums = rule.sums(counts)
            state = cls(rule.hostname, counted, offset, eligible, {each: int(sums[each]) for each in domains}, left, len(left))
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

    """

    def __init__(self, rules: list[RuleState], size: int, weight: int) -> None:
        """Prepare for *size* nodes; *weight* is the factor of the normalised score."""
        self.rules = rules
        self.live: list[NodeClass] = []
        self._parts = [rule.parts for rule in rules]
        self._factor = BEST * weight * size, weight * size
        self._classes: dict[tuple[tuple[int, ...], tuple[int, ...], bool], NodeClass] = {}

    def get(self, domains: tuple[int, ...], parts: tuple[int, ...], *, scored: bool) -> NodeClass:
        """Return the class with these attributes."""
        key = domains, parts, scored
        if (found := self._classes.get(key)) is None:
            found = self._classes[key] = NodeClass(domains, parts, scored=scored)
            for rule, pods in zip(self.rules, domains, strict=True):
                if rule.hostname:
                    rule.part_of(pods)
        return found

    def resize(self, changed: NodeClass, number: int) -> None:
        """Add a *number* of nodes to a class, or remove them (negative)."""
        before = changed.size
        changed.size += number
        if not before:
            self.score((changed,))
            self.live.append(changed)
            for rule, domain in zip(self.rules, changed.domains, strict=True):
                rule.classes.setdefault(domain, []).append(changed)
        elif not changed.size:
            self.live.remove(changed)
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
        """Compute the raw scores of *classes*."""
        for each in classes:
            if each.scored:
                total = 0.0
                for parts, index in zip(self._parts, each.parts, strict=True):
                    total += parts[index]
                # The sum is 0 or at least 1, so that this rounds exactly.
                each.raw = int(total + 0.5)

    def best(self) -> NodeClass:
        """Return the class of the best node."""
        live = self.live
        if len(live) == 1:
            return live[0]
        raws = [each.raw for each in live]
        most, least = max(raws), min(raws)
        if least == IGNORED:
            least = min((raw for raw in raws if raw != IGNORED), default=0)
        whole, factor = self._factor
        best, found = live[0].heap[0], live[0]
        for each, raw in zip(live, raws, strict=True):
            code = each.heap[0]
            if raw != IGNORED:
                code -= factor * (BEST * (most + least - raw) // most) if most else whole
            if code < best:
                best, found = code, each
        return found
