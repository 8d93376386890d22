"""Inter-pod affinity and anti-affinity: kube-scheduler's plugin InterPodAffinity, filter and score.

The filter has three parts.  A node passes

- affinity, if each required affinity term's topology key is a label of it and its domain of each has a pod that *all* the terms
  select; or if no such pod is in any domain anywhere, and the pod would be the first: it is selected by all its own terms;
- anti-affinity, if none of its domains has a pod that the required anti-affinity term of that key selects;
- existing pods' anti-affinity, if no pod in one of its domains has a required anti-affinity term of that key that selects the pod.

Terminating pods count as all others.  The score of a node sums, over the pods in its domains: the weights of the pod's preferred
terms that select them, and the weights of their preferred terms (required affinity counting 1) that select the pod.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.base import ClusterEvent, Filters, StatefulPlugin
from scheduler_core.plugins.pod_counts import PodCounts, PodKind, PodTally
from scheduler_core.plugins.pod_terms import has_affinity

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Tied:
    """The tallies that a kind of pods asks."""

    near: tuple[PodTally, ...]
    first: bool
    """Whether such a pod is selected by all its own required affinity terms."""
    far: tuple[PodTally, ...]
    preferred: tuple[tuple[int, PodTally], ...]


class InterPodAffinity(StatefulPlugin):
    """Affinity between the pods that are counted and one that comes."""

    name = "InterPodAffinity"
    weight = 2
    events = frozenset({ClusterEvent.NODE, ClusterEvent.POD})
    unresolvable = frozenset({AFFINITY})

    def __init__(self, counts: PodCounts) -> None:
        super().__init__(counts)
        self._tied: dict[PodKind, _Tied] = {}
        self._binds: dict[tuple[PodKind, PodKind], bool] = {}

    @classmethod
    def speaks(cls, shape: PodShape) -> bool:
        """Whether *shape* has any term, required or preferred."""
        return has_affinity(shape)

    def touches(self, pod: PodRecord) -> bool:
        """Whether *pod* has a term, or one of a pod that is known (running, assumed or pending) selects it."""
        kind = self.counts.kind(pod)
        return kind.terms.affine or bool(self.counts.claims_on(kind.crowd))

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:
        """The parts that bind *pod*, in upstream's order."""
        kind = self.counts.kind(pod)
        tied = self._ties(kind)
        found: Filters = []
        if tied.near:
            found.append((AFFINITY, _near(tied, nodes, within)))
        if tied.far:
            found.append((ANTI_AFFINITY, _apart(tied.far, nodes, within)))
        forbidding = [claim.owners for claim in self.counts.claims_on(kind.crowd) if claim.forbids and claim.owners.by_node]
        if forbidding:
            found.append((EXISTING_ANTI_AFFINITY, _apart(forbidding, nodes, within)))
        return found

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:
        """The sum of weights."""
        kind = self.counts.kind(pod)
        total: Ints = np.zeros(len(nodes), dtype=np.int64)
        for weight, tally in self._ties(kind).preferred:
            total += weight * tally.near(nodes, within)
        for claim in self.counts.claims_on(kind.crowd):
            if not claim.forbids and claim.owners.by_node:
                total += claim.term.weight * claim.owners.near(nodes, within)
        return total

    def normalise(self, raw: Ints) -> Ints:
        """Spread over 0 to 100: in float64, cut off; all 0 where they are equal."""
        if not len(raw):
            return raw
        least = int(raw.min())
        extent = int(raw.max()) - least
        if not extent:
            return np.zeros_like(raw)
        return (100.0 * ((raw - least).astype(np.float64) / float(extent))).astype(np.int64)

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """By a requirement of one of them."""
        one, two = self.counts.kind(pod), self.counts.kind(other)
        if (found := self._binds.get((one, two))) is None:
            found = any(one.is_in(term.pods) for term in (*two.terms.near, *two.terms.far))
            found = self._binds[one, two] = found or any(two.is_in(term.pods) for term in one.terms.far)
        return found

    def _ties(self, kind: PodKind) -> _Tied:
        if (tied := self._tied.get(kind)) is None:
            tied = self._tied[kind] = self._tie(kind)
        return tied

    def _tie(self, kind: PodKind) -> _Tied:
        said, crowd, census = kind.terms, kind.crowd, self.counts
        sets = {term.pods for term in said.near}
        return _Tied(
            near=tuple(census.tally(key, sets) for key in sorted({term.key for term in said.near})),
            first=all(each.has(crowd.namespace, crowd.labels) for each in sets),
            far=tuple(census.tally(term.key, (term.pods,)) for term in said.far),
            preferred=tuple((term.weight, census.tally(term.key, (term.pods,))) for term in said.preferred),
        )


def _near(tied: _Tied, nodes: Nodes, within: Nodes | None) -> Bools:
    """Whether any such pod is anywhere is asked of the domains: one on a node without the labels is in none, and does not count."""
    passing: Bools = np.ones(len(nodes), dtype=bool)
    if tied.first and not any(tally.domains(within).any() for tally in tied.near):
        for tally in tied.near:
            passing &= tally.ids[nodes] >= 0
        return passing
    for tally in tied.near:
        passing &= tally.near(nodes, within) > 0
    return passing


def _apart(tallies: tuple[PodTally, ...] | list[PodTally], nodes: Nodes, within: Nodes | None) -> Bools:
    passing: Bools = np.ones(len(nodes), dtype=bool)
    for tally in tallies:
        passing &= tally.near(nodes, within) == 0
    return passing
