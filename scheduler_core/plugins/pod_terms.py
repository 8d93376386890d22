"""Affinity terms and spread constraints of a pod, compiled: which pods, and by which topology key."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from kubeapi.affinity import PodAffinity, PodAffinityTerm
from kubeapi.pods import TopologySpreadConstraint
from kubeapi.selectors import Requirement
from scheduler_core.model.namespace_selectors import NAMESPACE_NAME, by_name, terms_of
from scheduler_core.model.pods import PodShape
from scheduler_core.model.selectors import Clauses, admits, compiled

REQUIRED_AFFINITY_WEIGHT = 0
"""Marks a running pod's required affinity: its weight in the score of a pod it selects is hardPodAffinityWeight of that pod's profile."""
Namespaces = Mapping[str, Mapping[str, str]]
"""Labels of namespaces by name."""
NO_NAMESPACES: Namespaces = {}


class PodSet(NamedTuple):
    """Pods by namespace and labels.

    Attributes:
        namespaces: allowed namespaces.
        others: clauses about the names of further allowed namespaces; None for no further ones, no clauses for all.
        clauses: clauses about the labels; None selects no pod.

    """

    namespaces: frozenset[str]
    others: Clauses | None
    clauses: Clauses | None

    def has(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether a pod of *namespace* with *labels* is selected."""
        if namespace not in self.namespaces and (self.others is None or not all(clause.admits(namespace) for clause in self.others)):
            return False
        return admits(self.clauses, labels)


@dataclasses.dataclass(frozen=True, slots=True)
class Term:
    """Affinity or anti-affinity term.  Nodes with the same value of the label *key* are one domain."""

    key: str
    pods: PodSet
    weight: int = 0
    """Weight of a preferred term, negative for anti-affinity; 0 of a required term."""


class SpreadTerm(NamedTuple):
    """Topology spread constraint.

    Attributes:
        key: topology key.
        pods: counted pods.
        own: clauses about the pod's own labels; if they match, the pod counts towards its own domain.
        skew: maxSkew.
        least: minDomains, read only with DoNotSchedule.
        affinity: nodeAffinityPolicy Honor: only nodes that nodeSelector and node affinity allow form domains.
        taints: nodeTaintsPolicy Honor: only nodes whose taints the pod tolerates form domains.

    """

    key: str
    pods: PodSet
    own: Clauses | None
    skew: int
    least: int
    affinity: bool
    taints: bool


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PodTerms:
    """All terms of a pod about other pods."""

    affinity: tuple[Term, ...] = ()
    """Required affinity terms."""
    anti_affinity: tuple[Term, ...] = ()
    """Required anti-affinity terms."""
    preferred: tuple[Term, ...] = ()
    spread: tuple[SpreadTerm, ...] = ()
    """Own constraints with DoNotSchedule."""
    soft_spread: tuple[SpreadTerm, ...] = ()
    """Own constraints with ScheduleAnyway."""

    @property
    def affine(self) -> bool:
        """Return whether there is an affinity or anti-affinity term."""
        return bool(self.affinity or self.anti_affinity or self.preferred)


def has_affinity(shape: PodShape) -> bool:
    """Return whether pods of *shape* have a term of affinity or anti-affinity, required or preferred."""
    affinity = shape.affinity
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    return any(True for side in sides for _ in terms_of(side))


def own_keys(shape: PodShape) -> frozenset[str]:
    """Return the keys of the pod labels that ``terms`` reads: pods with equal values have equal terms."""
    affinity = shape.affinity
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    of_terms = [keys for side in sides for _, term in terms_of(side) for keys in (term.match_label_keys, term.mismatch_label_keys)]
    return frozenset().union(*(keys or () for keys in (*of_terms, *(each.match_label_keys for each in shape.spread))))


def terms(shape: PodShape, namespace: str, labels: Mapping[str, str], namespaces: Namespaces = NO_NAMESPACES) -> PodTerms:
    """Return the terms of a pod of *shape* in *namespace* with *labels*; *namespaces* are the known namespaces."""
    affinity = shape.affinity
    near = affinity.pod_affinity if affinity else None
    far = affinity.pod_anti_affinity if affinity else None

    def required(side: PodAffinity | None) -> tuple[Term, ...]:
        found = side.required_during_scheduling_ignored_during_execution if side else None
        return tuple(Term(each.topology_key, _pods(each, namespace, labels, namespaces)) for each in found or ())

    def preferred(side: PodAffinity | None, sign: int) -> tuple[Term, ...]:
        found = side.preferred_during_scheduling_ignored_during_execution if side else None
        pairs = [(each.pod_affinity_term, sign * each.weight) for each in found or ()]
        return tuple(Term(term.topology_key, _pods(term, namespace, labels, namespaces), weight) for term, weight in pairs)

    return PodTerms(
        required(near),
        required(far),
        (*preferred(near, 1), *preferred(far, -1)),
        tuple(spread_term(each, namespace, labels) for each in shape.spread if is_hard(each)),
        tuple(spread_term(each, namespace, labels) for each in shape.spread if is_soft(each)),
    )


def _pods(term: PodAffinityTerm, namespace: str, labels: Mapping[str, str], namespaces: Namespaces) -> PodSet:
    selector = term.namespace_selector
    listed = frozenset(term.namespaces or (() if selector is not None else (namespace,)))
    # The API server adds these keys to the selector of a pod that it admits; in a manifest they are still separate.
    more = (*_of_the_pod(term.match_label_keys, "In", labels), *_of_the_pod(term.mismatch_label_keys, "NotIn", labels))
    names = None if selector is None else by_name(selector)
    if selector is not None and names is None:
        clauses = compiled(selector)
        listed |= {name for name, own in namespaces.items() if admits(clauses, {**own, NAMESPACE_NAME: name})}
    return PodSet(listed, names, compiled(term.label_selector, more))


def _of_the_pod(keys: tuple[str, ...] | None, operator: str, labels: Mapping[str, str]) -> list[Requirement]:
    """Return requirements with the pod's own label values; keys that the pod lacks are skipped."""
    return [Requirement(key, operator, (labels[key],)) for key in keys or () if key in labels]


def is_hard(constraint: TopologySpreadConstraint) -> bool:
    """Return whether *constraint* filters nodes."""
    return constraint.when_unsatisfiable == "DoNotSchedule"


def is_soft(constraint: TopologySpreadConstraint) -> bool:
    """Return whether *constraint* scores nodes."""
    return constraint.when_unsatisfiable == "ScheduleAnyway"


def spread_term(constraint: TopologySpreadConstraint, namespace: str, labels: Mapping[str, str]) -> SpreadTerm:
    """Return *constraint* of a pod of *namespace* with *labels*."""
    clauses = compiled(constraint.label_selector, _of_the_pod(constraint.match_label_keys, "In", labels))
    # In kube-scheduler an empty selector counts no pod, but it matches the pod itself.
    return spread_of(constraint, PodSet(frozenset({namespace}), None, clauses or None), clauses)


def spread_of(constraint: TopologySpreadConstraint, pods: PodSet, own: Clauses | None) -> SpreadTerm:
    """Return *constraint* that counts *pods*, for a pod that counts if *own* matches it."""
    return SpreadTerm(
        key=constraint.topology_key,
        pods=pods,
        own=own,
        skew=constraint.max_skew,
        least=1 if constraint.min_domains is None else constraint.min_domains,
        affinity=(constraint.node_affinity_policy or "Honor") == "Honor",
        taints=constraint.node_taints_policy == "Honor",
    )
