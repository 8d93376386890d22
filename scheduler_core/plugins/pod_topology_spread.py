"""PodTopologySpread: filter by constraints with ``DoNotSchedule``.

A node is eligible if it has the topology keys of *all* these constraints of the pod, and the constraint's nodeAffinityPolicy (default
Honor) and nodeTaintsPolicy (default Ignore) admit it.  Eligible nodes form the domains.  Pods in the pod's namespace are counted
unless they are terminating.  A node passes a constraint if it has the topology key and placing the pod there keeps the skew within maxSkew:
the count of its domain, plus 1 if the selector matches the pod itself, minus the smallest count of any domain.  The smallest count is 0 if
there are fewer than minDomains domains.
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
    self_count: int
    """1 if the pod counts towards its own domain, else 0."""
    ids: Ids
    """Shape (nodes,): value of the topology key, -1 without the label.  The tally's ids are -1 for ineligible nodes too."""
    is_domain: Bools
    """Shape (values,): True for values that are domains."""
    tally: PodTally


class PodTopologySpread(StatefulPlugin):
    """Spread constraints of an incoming pod, over the counted pods."""

    name = "PodTopologySpread"
    events = frozenset({ClusterEvent.NODE, ClusterEvent.POD})
    unresolvable = frozenset({LACKS_TOPOLOGY})

    def __init__(self, counts: PodCounts) -> None:
        super().__init__(counts)
        self._rules: dict[PodKind, tuple[_Rule, ...]] = {}
        self._eligible: dict[tuple[PodShape, bool, bool], Bools] = {}

    @classmethod
    def used_by(cls, shape: PodShape) -> bool:
        """Return whether *shape* has a constraint with DoNotSchedule."""
        return has_hard_spread(shape)

    def touches(self, pod: PodRecord) -> bool:
        """Return whether *pod* has a constraint with DoNotSchedule."""
        return has_hard_spread(pod.shape)

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """Return whether a constraint of *other* counts *pod*."""
        kind = self.counts.kind(pod)
        return any(kind.is_in(spread.pods) for spread in self.counts.kind(other).terms.spread)

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """Return two filters for a pod with constraints.  A node is refused for one reason: the first constraint that it violates."""
        if not has_hard_spread(pod.shape):
            return []
        kind = self.counts.kind(pod)
        rules = self._rules_of(kind)
        lacking: Bools = np.zeros(len(nodes), dtype=bool)
        crowded: Bools = np.zeros(len(nodes), dtype=bool)
        for rule in rules:
            ids = rule.ids[nodes]
            open_still = ~(lacking | crowded)
            lacking |= open_still & (ids < 0)
            crowded |= open_still & (ids >= 0) & _exceeds(rule, ids, within)
        return [(LACKS_TOPOLOGY, ~lacking), (SPREAD, ~crowded)]

    def _rules_of(self, kind: PodKind) -> tuple[_Rule, ...]:
        if (rules := self._rules.get(kind)) is None:
            rules = self._rules[kind] = tuple(self._rule(spread, kind) for spread in kind.terms.spread)
        return rules

    def _rule(self, spread: SpreadTerm, kind: PodKind) -> _Rule:
        column = self.counts.nodes.column(spread.key)
        ids: Ids = np.where(self._eligible_nodes(spread, kind), column.ids, np.int32(-1))
        # Pods of one shape have the same eligible nodes; the sets differ where a constraint takes a value from the pod's labels.
        name = (kind.shape, spread.key, spread.pods, spread.affinity, spread.taints)
        tally = self.counts.watch(name, PodTally(ids, len(column.values)), (spread.pods,), living=True)
        self_count = int(admits(spread.own, kind.crowd.labels))
        return _Rule(spread, self_count, column.ids, _domains(ids, len(column.values)), tally)

    def _eligible_nodes(self, spread: SpreadTerm, kind: PodKind) -> Bools:
        """Return the nodes that are eligible to form domains of *spread*, shape (nodes,)."""
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
    """Return, for each domain id, whether one more pod would exceed the skew; undefined where the id is -1."""
    counts = rule.tally.domains(within)
    is_domain = rule.is_domain if within is None else _domains(rule.tally.ids[within], len(rule.is_domain))
    known = counts[:-1][is_domain]
    fewest = int(known.min()) if len(known) and len(known) >= rule.spread.least else 0
    return counts[ids] + rule.self_count - fewest > rule.spread.skew


def _domains(ids: Ids, size: int) -> Bools:
    is_domain: Bools = np.zeros(size + 1, dtype=bool)
    is_domain[ids] = True
    return is_domain[:-1]


def _tolerated(shape: PodShape, nodes: NodeTable) -> Bools:
    answers = {
        taints: all(taint.effect not in HARD or tolerates(shape.tolerations, taint) for taint in taints) for taints in set(nodes.taints)
    }
    return np.array([answers[taints] for taints in nodes.taints], dtype=bool)
