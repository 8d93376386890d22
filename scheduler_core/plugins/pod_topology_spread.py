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
from scheduler_core.model.pods import PodShape
from scheduler_core.model.selectors import admits, node_mask, simple_mask
from scheduler_core.plugins.pod_counts import Ids, PodCounts, PodKind, PodTally
from scheduler_core.plugins.pod_terms import SpreadTerm
from scheduler_core.plugins.reasons import LACKS_TOPOLOGY, SPREAD
from scheduler_core.plugins.static_filters import tolerates

_HARD = frozenset({"NoSchedule", "NoExecute"})


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


class PodTopologySpread:
    """Spread constraints of a pod that comes, over the pods of a census."""

    def __init__(self, census: PodCounts) -> None:
        self._census = census
        self._rules: dict[PodKind, tuple[_Rule, ...]] = {}
        self._eligible: dict[tuple[PodShape, bool, bool], Bools] = {}

    def filters(self, kind: PodKind, nodes: Nodes, within: Nodes | None) -> list[tuple[str, Bools]]:
        """Why not, and on which of *nodes* a pod of *kind* may run; none for a pod without constraints.

        A node fails by the first constraint that it does not pass, so by one reason at most.
        """
        rules = self._ruled(kind)
        if not rules:
            return []
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
        column = self._census.nodes.column(spread.key)
        ids: Ids = np.where(self._makes_up(spread, kind), column.ids, np.int32(-1))
        # Pods of one shape have the same eligible nodes; the sets differ where a constraint takes a value from the pod's labels.
        name = (kind.shape, spread.key, spread.pods, spread.affinity, spread.taints)
        tally = self._census.watch(name, PodTally(ids, len(column.values)), (spread.pods,), living=True)
        itself = int(admits(spread.own, kind.crowd.labels))
        return _Rule(spread, itself, column.ids, _domains(ids, len(column.values)), tally)

    def _makes_up(self, spread: SpreadTerm, kind: PodKind) -> Bools:
        """Which nodes make up the domains of *spread*."""
        nodes, shape = self._census.nodes, kind.shape
        if (eligible := self._eligible.get((shape, spread.affinity, spread.taints))) is None:
            eligible = np.ones(len(nodes), dtype=bool)
            for each in kind.terms.spread:
                eligible &= nodes.column(each.key).ids >= 0
            if spread.affinity:
                eligible &= _chosen(shape, nodes)
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


def _chosen(shape: PodShape, nodes: NodeTable) -> Bools:
    """Where the pod's nodeSelector and required node affinity let it run."""
    mask = simple_mask(shape.node_selector, nodes)
    affinity = shape.affinity.node_affinity if shape.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return mask if required is None else mask & node_mask(required, nodes)


def _tolerated(shape: PodShape, nodes: NodeTable) -> Bools:
    answers = {
        taints: all(taint.effect not in _HARD or tolerates(shape.tolerations, taint) for taint in taints) for taints in set(nodes.taints)
    }
    return np.array([answers[taints] for taints in nodes.taints], dtype=bool)
