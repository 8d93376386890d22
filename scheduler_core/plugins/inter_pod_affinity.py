"""InterPodAffinity: filter and score by affinity and anti-affinity between pods.

A node passes the filter if it passes three parts:

- affinity: it has the topology key of each required affinity term, and its domain of each key has a pod that *all* these terms select.
  If no domain has such a pod, a pod that all its own terms select passes on every node with the keys.
- anti-affinity: for each required anti-affinity term of the pod, its domain has no pod that the term selects.
- anti-affinity of existing pods: for each required anti-affinity term of a running pod that selects the pod, its domain has no such
  running pod.

Terminating pods are counted.  The score of a node sums over the pods of its domains: the weights of the pod's preferred terms that
select them, and the weights of their preferred terms (required affinity counts hardPodAffinityWeight) that select the pod.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.affinity_terms import Term, has_affinity
from scheduler_core.plugins.base import ClusterEvent, Dependence, Filters, StatefulPlugin
from scheduler_core.plugins.pod_counts import PodCounts, PodKind, SelectedPods
from scheduler_core.plugins.topology_counts import PodTally

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Tallies:
    """Counts that decide for one kind of pods."""

    affinity: tuple[PodTally, ...]
    self_matching: bool
    """True if such a pod is selected by all its own required affinity terms."""
    anti_affinity: tuple[SelectedPods, ...]
    preferred: tuple[tuple[int, SelectedPods], ...]


class InterPodAffinity(StatefulPlugin):
    """Affinity between the counted pods and an incoming pod."""

    name = "InterPodAffinity"
    weight = 2
    events = frozenset({ClusterEvent.NODE, ClusterEvent.POD, ClusterEvent.NAMESPACE})
    unresolvable = frozenset({AFFINITY})

    def __init__(self, counts: PodCounts) -> None:
        super().__init__(counts)
        self._tallies: dict[PodKind, _Tallies] = {}
        self._binds: dict[tuple[PodKind, PodKind], bool] = {}

    @classmethod
    def used_by(cls, shape: PodShape) -> bool:
        """Return whether *shape* has an affinity term, required or preferred."""
        return has_affinity(shape)

    def touches(self, pod: PodRecord) -> bool:
        """Return whether *pod* has a term, or a term of a known pod (running, assumed or pending) selects it."""
        kind = self.counts.kind(pod)
        return kind.terms.affine or self.counts.has_claims_on(kind.crowd)

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """Return the parts that apply to *pod*, in kube-scheduler's order."""
        kind = self.counts.kind(pod)
        tallies = self._tallies_of(kind)
        filters: Filters = []
        if tallies.affinity:
            filters.append((AFFINITY, _affinity_allows(tallies, nodes, within)))
        if tallies.anti_affinity:
            filters.append((ANTI_AFFINITY, _anti_affinity_allows(tallies.anti_affinity, nodes, within)))
        if (forbidden := self.counts.forbidden(kind.crowd)) is not None:
            if within is None:
                allowed = forbidden.allow(nodes)
            else:
                allowed = _anti_affinity_allows([claim.owners for claim in self.counts.forbidding(kind.crowd)], nodes, within)
            filters.append((EXISTING_ANTI_AFFINITY, allowed))
        return filters

    def allowed(self, pod: PodRecord, nodes: Nodes) -> Bools | None:
        """Return the result of the parts about anti-affinity: more pods only forbid more domains."""
        kind = self.counts.kind(pod)
        own, forbidden = self._tallies_of(kind).anti_affinity, self.counts.forbidden(kind.crowd)
        if not own and forbidden is None:
            return None
        passing = _anti_affinity_allows(own, nodes, None)
        return passing if forbidden is None else passing & forbidden.allow(nodes)

    def depends_on(self, pod: PodRecord, nodes: Nodes, found: Dependence) -> bool:
        """Add the pods that the terms of *pod* select, and the owners of terms that select it; see StatefulPlugin.

        The owners on a node change only by pods that are assumed besides, so the topology keys of their own terms suffice.
        """
        kind = self.counts.kind(pod)
        tallies, terms = self._tallies_of(kind), kind.terms
        counted: list[SelectedPods] = [*tallies.affinity, *tallies.anti_affinity, *(tally for _, tally in tallies.preferred)]
        counted += [claim.owners for claim in self.counts.scoring(kind.crowd)]
        found.values.update((tally, tally.counts_at(nodes)) for tally in counted if tally not in found.values)
        found.keys.update(term.key for term in (*terms.affinity, *terms.anti_affinity, *terms.preferred))
        if (forbidden := self.counts.forbidden(kind.crowd)) is not None:
            found.values[forbidden] = forbidden.allow(nodes).astype(np.int64)
        return True

    def related(self, pod: PodRecord, reason: str) -> list[tuple[Term, SelectedPods]]:
        """Return the required terms about which the filter with *reason* is, with the number of pods that they select, or of their owners."""
        kind = self.counts.kind(pod)
        if reason == EXISTING_ANTI_AFFINITY:
            return [(each.term, each.owners) for each in self.counts.forbidding(kind.crowd)]
        terms = {AFFINITY: kind.terms.affinity, ANTI_AFFINITY: kind.terms.anti_affinity}.get(reason, ())
        return [(term, self.counts.selected(term)) for term in terms]

    def skips(self, pod: PodRecord) -> bool:
        """Return whether *pod* has no required term, and no term of a running pod forbids it a domain."""
        kind = self.counts.kind(pod)
        tallies = self._tallies_of(kind)
        if tallies.affinity or tallies.anti_affinity:
            return False
        forbidden = self.counts.forbidden(kind.crowd)
        return forbidden is None or not forbidden.any()

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """Return the sum of the weights of matching terms."""
        kind, profile = self.counts.kind(pod), pod.shape.profile
        total: Ints = np.zeros(len(nodes), dtype=np.int64)
        preferred = self._tallies_of(kind).preferred
        if profile.ignores_preferred_terms and not preferred:
            return total
        for weight, tally in preferred:
            total += weight * tally.counts_at(nodes, within)
        for claim in self.counts.scoring(kind.crowd):
            weight = claim.term.weight or profile.hard_pod_affinity_weight
            total += weight * claim.owners.counts_at(nodes, within)
        return total

    def normalise(self, raw: Ints) -> Ints:
        """Return the scores mapped to 0-100 by minimum and maximum, in float64, truncated; all 0 if they are equal."""
        if not len(raw):
            return raw
        least = int(raw.min())
        extent = int(raw.max()) - least
        if not extent:
            return np.zeros_like(raw)
        return (100.0 * ((raw - least).astype(np.float64) / float(extent))).astype(np.int64)

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """Return whether a required term of one of the two pods selects the other."""
        one, two = self.counts.kind(pod), self.counts.kind(other)
        if (found := self._binds.get((one, two))) is None:
            found = any(one.is_in(term.pods) for term in (*two.terms.affinity, *two.terms.anti_affinity))
            found = self._binds[one, two] = found or any(two.is_in(term.pods) for term in one.terms.anti_affinity)
        return found

    def _tallies_of(self, kind: PodKind) -> _Tallies:
        if (tallies := self._tallies.get(kind)) is None:
            tallies = self._tallies[kind] = self._build(kind)
        return tallies

    def _build(self, kind: PodKind) -> _Tallies:
        terms, crowd, counts = kind.terms, kind.crowd, self.counts
        sets = {term.pods for term in terms.affinity}
        return _Tallies(
            affinity=tuple(counts.tally(key, sets) for key in sorted({term.key for term in terms.affinity})),
            self_matching=all(each.has(crowd.namespace, crowd.labels) for each in sets),
            anti_affinity=tuple(map(counts.selected, terms.anti_affinity)),
            preferred=tuple((term.weight, counts.selected(term)) for term in terms.preferred),
        )


def _affinity_allows(tallies: _Tallies, nodes: Nodes, within: Nodes | None) -> Bools:
    """Required affinity.  A pod on a node without the topology label is in no domain, so it does not count as a match anywhere."""
    passing: Bools = np.ones(len(nodes), dtype=bool)
    if tallies.self_matching and not any(tally.domains(within).any() for tally in tallies.affinity):
        for tally in tallies.affinity:
            passing &= tally.ids[nodes] >= 0
        return passing
    for tally in tallies.affinity:
        passing &= tally.counts_at(nodes, within) > 0
    return passing


def _anti_affinity_allows(tallies: Sequence[SelectedPods], nodes: Nodes, within: Nodes | None) -> Bools:
    passing: Bools = np.ones(len(nodes), dtype=bool)
    for tally in tallies:
        passing &= tally.counts_at(nodes, within) == 0
    return passing
