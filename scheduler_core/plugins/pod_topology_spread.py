"""PodTopologySpread: filter by constraints with ``DoNotSchedule``; ``spread_score`` has the score of the others.

A pod without constraints has the default constraints, if its default selector is not empty.  A node is eligible if it has the topology keys of *all* these constraints of the pod, and the constraint's nodeAffinityPolicy (default
Honor) and nodeTaintsPolicy (default Ignore) admit it.  Eligible nodes form the domains.  Pods in the pod's namespace are counted
unless they are terminating.  A node passes a constraint if it has the topology key and placing the pod there keeps the skew within maxSkew:
the count of its domain, plus 1 if the selector matches the pod itself, minus the smallest count of any domain.  The smallest count is 0 if
there are fewer than minDomains domains.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from scheduler_core.model.names import HOSTNAME
from scheduler_core.model.nodes import Bools, Ints, Nodes, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.scheduler_profile import SchedulerProfile
from scheduler_core.model.selectors import admits
from scheduler_core.plugins.affinity_terms import PodTerms
from scheduler_core.plugins.base import ClusterEvent, Dependence, Filters
from scheduler_core.plugins.node_affinity import selected_nodes
from scheduler_core.plugins.pod_counts import PodCounts, PodKind
from scheduler_core.plugins.spread_constraints import NO_DEFAULTS, SYSTEM_DEFAULTS, DefaultSpread, SpreadTerm, SpreadTerms, is_hard
from scheduler_core.plugins.spread_score import IGNORED, DomainMembers, SoftRule, SoftSpread, SpreadScoring, normalise
from scheduler_core.plugins.taint_toleration import HARD, Tolerations
from scheduler_core.plugins.topology_counts import Ids, PodTally

SPREAD = "node(s) didn't match pod topology spread constraints"
LACKS_TOPOLOGY = "node(s) didn't match pod topology spread constraints (missing required label)"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SpreadRule:
    """Constraint with DoNotSchedule of an incoming pod."""

    spread: SpreadTerm
    self_count: int
    """1 if the pod counts towards its own domain, else 0."""
    ids: Ids
    """Shape (nodes,): value of the topology key, -1 without the label.  The tally's ids are -1 for ineligible nodes too."""
    is_domain: Bools
    """Shape (values,): True for values that are domains."""
    tally: PodTally


class PodTopologySpread(SpreadScoring):
    """Spread constraints of an incoming pod, over the counted pods."""

    name = "PodTopologySpread"
    weight = 2
    events = frozenset({ClusterEvent.NODE, ClusterEvent.POD})
    unresolvable = frozenset({LACKS_TOPOLOGY})

    def __init__(self, counts: PodCounts, defaults: DefaultSpread = NO_DEFAULTS) -> None:
        super().__init__(counts, defaults)
        self._own: dict[PodTerms, SpreadTerms] = {}
        self._rules: dict[tuple[PodKind, SpreadTerms], tuple[SpreadRule, ...]] = {}
        self._soft: dict[tuple[PodShape, SpreadTerms], SoftSpread | None] = {}
        self._geometry: dict[tuple[PodShape, str, bool, bool, int], tuple[Ids, int, Bools | None, Bools | None, DomainMembers]] = {}
        self._eligible: dict[tuple[PodShape, bool, bool, bool], Bools] = {}

    @classmethod
    def used_by(cls, shape: PodShape) -> bool:
        """Return whether *shape* has a constraint."""
        return bool(shape.spread)

    def touches(self, pod: PodRecord) -> bool:
        """Return whether *pod* has a constraint with DoNotSchedule."""
        return bool(pod.shape.spread or self.defaults.filters(pod)) and bool(self._terms_of(pod).hard)

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """Return whether a constraint of *other* with DoNotSchedule counts *pod*."""
        kind = self.counts.kind(pod)
        return any(kind.is_in(spread.pods) for spread in self._terms_of(other).hard)

    def honours(self, pod: PodRecord, *, affinity: bool) -> bool:
        """Return whether only nodes that *pod* selects, or whose taints it tolerates, form domains of a constraint with DoNotSchedule."""
        return any(each.affinity if affinity else each.taints for each in self._terms_of(pod).hard)

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """Return two filters for a pod with constraints.  A node is refused for one reason: the first constraint that it violates."""
        terms = self._terms_of(pod)
        if not terms.hard:
            return []
        lacking: Bools = np.zeros(len(nodes), dtype=bool)
        crowded: Bools = np.zeros(len(nodes), dtype=bool)
        for rule in self._rules_of(self.counts.kind(pod), terms):
            ids = rule.ids[nodes]
            open_still = ~(lacking | crowded)
            lacking |= open_still & (ids < 0)
            crowded |= open_still & (ids >= 0) & _exceeds(rule, ids, within)
        return [(LACKS_TOPOLOGY, ~lacking), (SPREAD, ~crowded)]

    def depends_on(self, pod: PodRecord, nodes: Nodes, found: Dependence) -> bool:
        """Add the counts of the constraints with DoNotSchedule, the only ones that *pod* has; see StatefulPlugin.

        The smallest count of any domain is the same for all domains that are tried, and stays the same: pods add to equal counts.
        """
        for rule in self.rules(pod):
            labelled = rule.ids >= 0
            found.values[rule.tally] = np.where(labelled, rule.tally.domains()[rule.ids], np.int64(-1))[nodes]
            eligible = (rule.tally.ids >= 0).astype(np.int64) + np.where(labelled, rule.is_domain[rule.ids], 0)
            found.values[rule.tally, "eligible"] = eligible[nodes]
            found.keys.add(rule.spread.key)
        return True

    def rules(self, pod: PodRecord) -> tuple[SpreadRule, ...]:
        """Return the constraints of *pod* with DoNotSchedule."""
        return self._rules_of(self.counts.kind(pod), self._terms_of(pod))

    def exceeded(self, pod: PodRecord, nodes: Nodes) -> list[tuple[SpreadTerm, dict[str, int]]]:
        """Return the constraints that one more *pod* would violate on any of *nodes*, with the number of counted pods by domain."""
        found = []
        for rule in self.rules(pod):
            ids = rule.ids[nodes]
            if (_exceeds(rule, ids, None) & (ids >= 0)).any():
                values, counts = self.counts.nodes.label_column(rule.spread.key).values, rule.tally.domains()
                found.append((rule.spread, {values[index]: int(counts[index]) for index in np.flatnonzero(rule.is_domain).tolist()}))
        return found

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Return the raw scores by the constraints with ScheduleAnyway; without one, no node is scored."""
        soft = self.soft(pod)
        return np.full(len(nodes), IGNORED, dtype=np.int64) if soft is None else soft.raw(nodes, within)

    def normalise(self, raw: Ints) -> Ints:
        """Return the normalised scores."""
        return normalise(raw)

    def soft(self, pod: PodRecord) -> SoftSpread | None:
        """Return the constraints of *pod* with ScheduleAnyway, the same object for equal ones; None if it has none."""
        terms = self._terms_of(pod)
        if not terms.soft or not self._weight_of(pod.shape):
            return None
        if (soft := self._soft.get((pod.shape, terms))) is None:
            soft = self._soft[pod.shape, terms] = self._soft_spread(pod.shape, terms)
        return soft

    def _weight_of(self, shape: PodShape) -> int:
        return shape.profile.weight(self.name, self.weight)

    def _terms_of(self, pod: PodRecord) -> SpreadTerms:
        if not pod.shape.spread:
            return self.defaults.terms(pod)
        own = self.counts.kind(pod).terms
        if (terms := self._own.get(own)) is None:
            terms = self._own[own] = SpreadTerms(own.spread, own.soft_spread)
        return terms

    def _rules_of(self, kind: PodKind, terms: SpreadTerms) -> tuple[SpreadRule, ...]:
        if (rules := self._rules.get((kind, terms))) is None:
            rules = self._rules[kind, terms] = tuple(self._rule(spread, kind, terms) for spread in terms.hard)
        return rules

    def _rule(self, spread: SpreadTerm, kind: PodKind, terms: SpreadTerms) -> SpreadRule:
        column = self.counts.nodes.label_column(spread.key)
        ids: Ids = np.where(self._eligible_nodes(spread, kind.shape, terms.hard), column.ids, np.int32(-1))
        # Pods of one shape have the same eligible nodes; the sets differ where a constraint takes a value from the pod's labels.
        name = (kind.shape, spread.key, spread.pods, spread.affinity, spread.taints)
        tally = self.counts.watch(name, PodTally(ids, len(column.values)), (spread.pods,), living=True)
        self_count = int(admits(spread.own, kind.crowd.labels))
        return SpreadRule(spread, self_count, column.ids, _domains(ids, len(column.values)), tally)

    def _soft_spread(self, shape: PodShape, terms: SpreadTerms) -> SoftSpread:
        required = terms.soft if terms.all_keys else ()
        rules = tuple(self._soft_rule(each, shape, required) for each in terms.soft)
        masks = [rule.labelled for rule in rules if rule.labelled is not None] if terms.all_keys else []
        return SoftSpread(rules, np.all(masks, axis=0) if masks else None, self._weight_of(shape))

    def _soft_rule(self, term: SpreadTerm, shape: PodShape, required: tuple[SpreadTerm, ...]) -> SoftRule:
        name = shape, term.key, term.affinity, term.taints, len(required)
        if (known := self._geometry.get(name)) is None:
            column = self.counts.nodes.label_column(term.key)
            labelled: Bools = column.ids >= 0
            # kube-scheduler does not distinguish a missing label from an empty value.
            empty = column.values.index("") if "" in column.values else len(column.values)
            ids: Ids = np.where(labelled, column.ids, np.int32(empty))
            eligible = self._eligible_nodes(term, shape, required, soft=True)
            masks = (None if labelled.all() else labelled, None if eligible.all() else eligible)
            known = ids, len(column.values) + 1, *masks, DomainMembers(ids)
            self._geometry[name] = known
        return SoftRule(term, self.counts.by_node(term.pods), term.key == HOSTNAME, *known)

    def _eligible_nodes(self, spread: SpreadTerm, shape: PodShape, required: tuple[SpreadTerm, ...], *, soft: bool = False) -> Bools:
        """Return the nodes that are eligible to form domains of *spread*, shape (nodes,): those with the keys of *required*."""
        nodes = self.counts.nodes
        if (eligible := self._eligible.get((shape, spread.affinity, spread.taints, soft))) is None:
            eligible = np.ones(len(nodes), dtype=bool)
            for each in required:
                eligible &= nodes.label_column(each.key).ids >= 0
            if spread.affinity and (selected := selected_nodes(shape, nodes)) is not None:
                eligible &= selected
            if spread.taints:
                eligible &= _tolerated(shape, nodes)
            self._eligible[shape, spread.affinity, spread.taints, soft] = eligible
        return eligible


def spreads_by_default(profile: SchedulerProfile) -> bool:
    """Return whether *profile* has default constraints, and filters or scores by them."""
    name, weight = PodTopologySpread.name, PodTopologySpread.weight
    filters, scores = profile.filters(name), profile.weight(name, weight) > 0
    defaults = SYSTEM_DEFAULTS.constraints if profile.default_constraints is None else profile.default_constraints
    return any(filters if is_hard(each) else scores for each in defaults)


def _exceeds(rule: SpreadRule, ids: Ids, within: Nodes | None) -> Bools:
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
    tolerations = Tolerations(shape.tolerations)
    answers = {taints: all(taint.effect not in HARD or tolerations.cover(taint) for taint in taints) for taints in set(nodes.taints)}
    return np.array([answers[taints] for taints in nodes.taints], dtype=bool)
