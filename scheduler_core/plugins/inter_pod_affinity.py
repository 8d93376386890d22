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
from scheduler_core.plugins.pod_counts import PodCounts, PodKind, PodTally
from scheduler_core.plugins.reasons import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Tied:
    """The tallies that a kind of pods asks."""

    near: tuple[PodTally, ...]
    first: bool
    """Whether such a pod is selected by all its own required affinity terms."""
    far: tuple[PodTally, ...]
    preferred: tuple[tuple[int, PodTally], ...]


class InterPodAffinity:
    """Affinity between the pods of a census and one that comes."""

    def __init__(self, census: PodCounts) -> None:
        self._census = census
        self._tied: dict[PodKind, _Tied] = {}

    def filters(self, kind: PodKind, nodes: Nodes, within: Nodes | None) -> list[tuple[str, Bools]]:
        """The parts that bind pods of *kind*, in upstream's order: why not, and on which of *nodes* one may run."""
        tied = self._ties(kind)
        found: list[tuple[str, Bools]] = []
        if tied.near:
            found.append((AFFINITY, _near(tied, nodes, within)))
        if tied.far:
            found.append((ANTI_AFFINITY, _apart(tied.far, nodes, within)))
        forbidding = [claim.owners for claim in self._census.claims_on(kind.crowd) if claim.forbids and claim.owners.by_node]
        if forbidding:
            found.append((EXISTING_ANTI_AFFINITY, _apart(forbidding, nodes, within)))
        return found

    def score(self, kind: PodKind, nodes: Nodes, within: Nodes | None) -> Ints:
        """Shape of *nodes*: the sum of weights, as it is before normalising."""
        total: Ints = np.zeros(len(nodes), dtype=np.int64)
        for weight, tally in self._ties(kind).preferred:
            total += weight * tally.near(nodes, within)
        for claim in self._census.claims_on(kind.crowd):
            if not claim.forbids and claim.owners.by_node:
                total += claim.term.weight * claim.owners.near(nodes, within)
        return total

    def _ties(self, kind: PodKind) -> _Tied:
        if (tied := self._tied.get(kind)) is None:
            tied = self._tied[kind] = self._tie(kind)
        return tied

    def _tie(self, kind: PodKind) -> _Tied:
        said, crowd, census = kind.terms, kind.crowd, self._census
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
