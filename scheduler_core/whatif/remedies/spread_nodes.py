"""Nodes for pods that spread over topology domains: each new or uncordoned node is one where the fewest pods can run."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.model.names import HOSTNAME
from scheduler_core.model.nodes import Ints
from scheduler_core.plugins.pod_topology_spread import SpreadRule
from scheduler_core.plugins.topology_counts import Ids
from scheduler_core.whatif.edits.edits import Edit
from scheduler_core.whatif.edits.node_edits import NodesInDomains
from scheduler_core.whatif.remedies.node_kinds import NodeKind, kinds_by_labels
from scheduler_core.whatif.remedies.pod_bounds import PodBounds, slots_by_domain
from scheduler_core.whatif.trial.present_capacity import PresentCapacity

_MOST_KEYS = 3
_HIGHEST = 1 << 20
"""Limit of the pods in one domain that are compared."""


class _Levels:
    """Numbers of pods that can run in each domain of each topology key.

    Attributes:
        keys: the topology keys.

    """

    def __init__(self, ids: Mapping[str, Ids], levels: Sequence[Ints]) -> None:
        self.keys = [*ids]
        self._ids, self._levels = ids, levels

    def domains(self, nodes: Sequence[int]) -> Ints:
        """Return the domains of *nodes*, shape (keys, nodes); -1 without a domain."""
        return np.array([ids[list(nodes)] for ids in self._ids.values()])

    def copy(self) -> _Levels:
        """Return a copy that can be changed."""
        return _Levels(self._ids, [each.copy() for each in self._levels])

    def lowest(self, domains: Ints) -> int:
        """Return the first index of *domains*, shape (keys, any), where the fewest pods can run, by the first key first."""
        order: Ints = np.zeros(domains.shape[1], dtype=np.int64)
        for levels, ids in zip(self._levels, domains, strict=True):
            order = order * _HIGHEST + np.minimum(levels[ids], _HIGHEST - 1)
        return int(order.argmin())

    def add(self, domains: Ints, slots: int) -> None:
        """Let *slots* more pods run in *domains*, one of each key."""
        for levels, domain in zip(self._levels, domains.tolist(), strict=True):
            levels[domain] += slots


class SpreadNodes(Record, frozen=True):
    """New nodes in several domains.

    Attributes:
        kinds: a kind of node for each combination of values of the topology keys.
        domains: index of its value of each key; shape (keys, kinds).
        levels: number of pods that can run in each domain at present.
        slots: how many pods one node holds at least.

    """

    kinds: Sequence[NodeKind]
    domains: Ints
    levels: _Levels
    slots: int

    def more(self, count: int) -> Edit:
        """Return the edit that adds *count* of them, one after the other where the fewest pods can run."""
        levels, added = self.levels.copy(), Counter[int]()
        for _ in range(count):
            chosen = levels.lowest(self.domains)
            added[chosen] += 1
            levels.add(self.domains[:, chosen], self.kinds[chosen].slots)
        parts = tuple(self.kinds[number].more(more) for number, more in sorted(added.items()))
        return parts[0] if len(parts) == 1 else NodesInDomains(parts)


def spread_nodes(capacity: PresentCapacity, bounds: PodBounds) -> SpreadNodes | None:
    """Return the nodes for the most frequent pod of the root that *capacity* is about; None if it does not spread over domains of nodes."""
    levels = _levels(capacity, bounds)
    found = kinds_by_labels(capacity, levels.keys) if levels.keys else []
    if not found:
        return None
    domains = levels.domains([capacity.snapshot.nodes.index[kind.like] for kind in found])
    return SpreadNodes(found, domains, levels, min(kind.slots for kind in found))


def by_lowest_domain(nodes: Sequence[int], slots: Sequence[int], capacity: PresentCapacity, bounds: PodBounds) -> list[int]:
    """Return *nodes*, which will hold *slots* pods each, in an order in which each is in a domain where the fewest pods can run.

    Of nodes with the same domains the order is kept; nodes without a domain are last.  *capacity* is that before they hold pods.
    """
    levels = _levels(capacity, bounds)
    if not levels.keys:
        return [*nodes]
    queues: dict[tuple[int, ...], deque[int]] = {}
    for position, domains in enumerate(zip(*levels.domains(nodes).tolist(), strict=True)):
        queues.setdefault(domains, deque()).append(position)
    last = [nodes[position] for domains in [*queues] if -1 in domains for position in queues.pop(domains)]
    ordered: list[int] = []
    while queues:
        combinations = np.array([*queues]).T
        chosen = levels.lowest(combinations)
        queue = queues[name := tuple(combinations[:, chosen].tolist())]
        position = queue.popleft()
        ordered.append(nodes[position])
        levels.add(combinations[:, chosen], slots[position])
        if not queue:
            del queues[name]
    return [*ordered, *last]


def _levels(capacity: PresentCapacity, bounds: PodBounds) -> _Levels:
    """Return the levels for the most frequent pod of the root, by its topology keys except that of single nodes."""
    shape = capacity.subject.shape
    pod = next(each for each in capacity.subject.waiting if each.shape is shape)
    rules = {rule.spread.key: rule for rule in bounds.rules(pod) if rule.spread.key != HOSTNAME}
    slots = np.minimum(bounds.slots([shape]), len(capacity.subject.waiting))
    keys = [*rules][:_MOST_KEYS]
    return _Levels({key: rules[key].ids for key in keys}, [_level(rules[key], slots) for key in keys])


def _level(rule: SpreadRule, slots: Ints) -> Ints:
    """Return how many pods that *rule* counts can run in each domain; shape (values,)."""
    counts: Ints = rule.tally.domains()[:-1] + slots_by_domain(rule, slots, rule.tally.ids >= 0)
    return counts
