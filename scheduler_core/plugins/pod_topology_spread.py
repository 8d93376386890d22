"""Topology spread constraints that must be met (``DoNotSchedule``): kube-scheduler's plugin PodTopologySpread, filter only.

A node makes up a domain, and its pods count, if it has the topology keys of *all* the pod's constraints of that kind, and is let
in by the constraint's nodeAffinityPolicy (default Honor) and nodeTaintsPolicy (default Ignore).  Counted are pods of the pod's
own namespace that are not terminating.  A node passes a constraint if it has the key, and the pods of its domain, with the pod
itself where the selector matches it, exceed the domain with the fewest by maxSkew at most; the fewest are 0 where there are less
than minDomains domains.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from scheduler_core.model.nodes import Bools, Nodes, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.selectors import admits
from scheduler_core.plugins.base import ClusterEvent, Filters, StatefulPlugin
from scheduler_core.plugins.node_affinity import selected_nodes
from scheduler_core.plugins.pod_counts import Ids, PodCounts, PodKind, PodTally
from scheduler_core.plugins.pod_terms import SpreadTerm, has_hard_spread
from scheduler_core.plugins.taint_toleration import HARD, tolerates

SPREAD = "node(s) didn't match pod topology spread constraints"
LACKS_TOPOLOGY = "node(s) didn't match pod topology spread constraints (missing required label)"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    spread: SpreadTerm
    itself: int
    """1 where the pod counts towards its own domain, else 0."""
    ids: Ids
    """Shape (nodes,): value of the key, -1 without it; the tally's are -1 also where the node makes up no domain."""
    there: Bools
    """Shape (values,): which values are domains."""
    tally: PodTally


class PodTopologySpread(StatefulPlugin):
    """Spread constraints of a pod that comes, over the pods that are counted."""

    name = "PodTopologySpread"
    events = frozenset({ClusterEvent.NODE, ClusterEvent.POD})
    unresolvable = frozenset({LACKS_TOPOLOGY})

    def __init__(self, counts: PodCounts) -> None:
        super().__init__(counts)
        self._rules: dict[PodKind, tuple[_Rule, ...]] = {}
        self._eligible: dict[tuple[PodShape, bool, bool], Bools] = {}

    @classmethod
    def speaks(cls, shape: PodShape) -> bool:
        """Whether *shape* has a constraint that must be met."""
        return has_hard_spread(shape)

    def touches(self, pod: PodRecord) -> bool:
        """Whether *pod* has a constraint that must be met."""
        return has_hard_spread(pod.shape)

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """Whether a constraint of *other* counts *pod*."""
        kind = self.counts.kind(pod)
        return any(kind.is_in(spread.pods) for spread in self.counts.kind(other).terms.spread)

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """Two for a pod with constraints: a node fails by the first constraint that it does not pass, so by one reason at most."""
        if not has_hard_spread(pod.shape):
            return []
        kind = self.counts.kind(pod)
        rules = self._ruled(kind)
        lacking: Bools = np.zeros(len(nodes), dtype=bool)
        crowded: Bools = np.zeros(len(nodes), dtype=bool)
        for rule in rules:
            ids = rule.ids[nodes]
            open_still = ~(lacking | crowded)
            lacking |= open_still & (ids < 0)
            crowded |= open_still & (ids >= 0) & _exceeds(rule, ids, within)
        return [(LACKS_TOPOLOGY, ~lacking), (SPREAD, ~crowded)]

    def _ruled(self, kind: PodKind) -> tuple[_Rule, ...]:
        if (rules := self._rules.get(kind)) is None:
            rules = self._rules[kind] = tuple(self._rule(spread, kind) for spread in kind.terms.spread)
        return rules

    def _rule(self, spread: SpreadTerm, kind: PodKind) -> _Rule:
        column = self.counts.nodes.column(spread.key)
        ids: Ids = np.where(self._makes_up(spread, kind), column.ids, np.int32(-1))
        # Pods of one shape have the same eligible nodes; the sets differ where a constraint takes a value from the pod's labels.
        name = (kind.shape, spread.key, spread.pods, spread.affinity, spread.taints)
        tally = self.counts.watch(name, PodTally(ids, len(column.values)), (spread.pods,), living=True)
        itself = int(admits(spread.own, kind.crowd.labels))
        return _Rule(spread, itself, column.ids, _domains(ids, len(column.values)), tally)

    def _makes_up(self, spread: SpreadTerm, kind: PodKind) -> Bools:
        """Which nodes make up the domains of *spread*."""
        nodes, shape = self.counts.nodes, kind.shape
        if (eligible := self._eligible.get((shape, spread.affinity, spread.taints))) is None:
            eligible = np.ones(len(nodes), dtype=bool)
            for each in kind.terms.spread:
                eligible &= nodes.column(each.key).ids >= 0
            if spread.affinity and (selected := selected_nodes(shape, nodes)) is not None:
                eligible &= selected
            if spread.taints:
                eligible &= _tolerated(shape, nodes)
            self._eligible[shape, spread.affinity, spread.taints] = eligible
        return eligible


def _exceeds(rule: _Rule, ids: Ids, within: Nodes | None) -> Bools:
    """Shape of *ids*: whether one more pod in that domain would be too many; of no meaning where the id is -1."""
    counts = rule.tally.domains(within)
    there = rule.there if within is None else _domains(rule.tally.ids[within], len(rule.there))
    known = counts[:-1][there]
    fewest = int(known.min()) if len(known) and len(known) >= rule.spread.least else 0
    return counts[ids] + rule.itself - fewest > rule.spread.skew


def _domains(ids: Ids, size: int) -> Bools:
    there: Bools = np.zeros(size + 1, dtype=bool)
    there[ids] = True
    return there[:-1]


def _tolerated(shape: PodShape, nodes: NodeTable) -> Bools:
    answers = {
        taints: all(taint.effect not in HARD or tolerates(shape.tolerations, taint) for taint in taints) for taints in set(nodes.taints)
    }
    return np.array([answers[taints] for taints in nodes.taints], dtype=bool)
