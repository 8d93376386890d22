"""New nodes for pods that spread over topology domains: each is added where the fewest pods can run."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.plugins.default_spread import HOSTNAME
from scheduler_core.plugins.pod_topology_spread import SpreadRule
from scheduler_core.whatif.edits.edits import Edit
from scheduler_core.whatif.edits.node_edits import NodesInDomains
from scheduler_core.whatif.remedies.node_kinds import NodeKind, kinds_by_labels
from scheduler_core.whatif.remedies.pod_bounds import PodBounds, slots_by_domain
from scheduler_core.whatif.trial.present_capacity import PresentCapacity

_MOST_KEYS = 3
_HIGHEST = 1 << 20
"""Limit of the pods in one domain that are compared."""


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadNodes:
    """New nodes in several domains.

    Attributes:
        kinds: a kind of node for each combination of values of the topology keys.
        domains: index of its value of each key; shape (keys, kinds).
        levels: number of pods that can run in each domain at present, by key.
        slots: how many pods one node holds at least.

    """

    kinds: Sequence[NodeKind]
    domains: Ints
    levels: Sequence[Ints]
    slots: int

    def more(self, count: int) -> Edit:
        """Return the edit that adds *count* of them, one after the other where the fewest pods can run, by the first key first."""
        levels = [each.copy() for each in self.levels]
        added = Counter[int]()
        for _ in range(count):
            order: Ints = np.zeros(len(self.kinds), dtype=np.int64)
            for own, domains in zip(levels, self.domains, strict=True):
                order = order * _HIGHEST + np.minimum(own[domains], _HIGHEST - 1)
            chosen = int(order.argmin())
            added[chosen] += 1
            for own, domains in zip(levels, self.domains, strict=True):
                own[domains[chosen]] += self.kinds[chosen].slots
        parts = tuple(self.kinds[number].more(more) for number, more in sorted(added.items()))
        return parts[0] if len(parts) == 1 else NodesInDomains(parts)


def spread_nodes(capacity: PresentCapacity, bounds: PodBounds) -> SpreadNodes | None:
    """Return the nodes for the most frequent pod of the root that *capacity* is about; None if it does not spread over domains of nodes."""
    nodes, shape = capacity.snapshot.nodes, capacity.subject.shape
    pod = next(each for each in capacity.subject.waiting if each.shape is shape)
    rules = {rule.spread.key: rule for rule in bounds.rules(pod) if rule.spread.key != HOSTNAME}
    keys = [*rules][:_MOST_KEYS]
    found = kinds_by_labels(capacity, keys) if keys else []
    if not found:
        return None
    like = [nodes.index[kind.like] for kind in found]
    domains = np.array([rules[key].ids[like] for key in keys])
    slots = np.minimum(bounds.slots([shape]), len(capacity.subject.waiting))
    return SpreadNodes(found, domains, [_level(rules[key], slots) for key in keys], min(kind.slots for kind in found))


def _level(rule: SpreadRule, slots: Ints) -> Ints:
    """Return how many pods that *rule* counts can run in each domain; shape (values,)."""
    counts: Ints = rule.tally.domains()[:-1] + slots_by_domain(rule, slots, rule.tally.ids >= 0)
    return counts
