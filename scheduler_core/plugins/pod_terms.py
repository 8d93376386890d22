"""Affinity terms and spread constraints of a pod, compiled: which pods, and by which topology key."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from scheduler_core.model.pods import PodShape
from scheduler_core.model.selectors import Clauses, admits, compiled
from scheduler_core.model.wire import LabelSelector, PodAffinity, PodAffinityTerm, Requirement, TopologySpreadConstraint

REQUIRED_AFFINITY_WEIGHT = 0
"""Marks a running pod's required affinity: its weight in the score of a pod it selects is hardPodAffinityWeight of that pod's profile."""
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The API server sets this label of every namespace to its name.  Other labels of namespaces are not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodSet:
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


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadTerm:
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
    return any(True for side in sides for _ in _terms_of(side))


def own_keys(shape: PodShape) -> frozenset[str]:
    """Return the keys of the pod labels that ``terms`` reads: pods with equal values have equal terms."""
    affinity = shape.affinity
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    of_terms = [keys for side in sides for _, term in _terms_of(side) for keys in (term.match_label_keys, term.mismatch_label_keys)]
    return frozenset().union(*(keys or () for keys in (*of_terms, *(each.match_label_keys for each in shape.spread))))


def terms(shape: PodShape, namespace: str, labels: Mapping[str, str]) -> PodTerms:
    """Return the terms of a pod of *shape* in *namespace* with *labels*."""
    affinity = shape.affinity
    near = affinity.pod_affinity if affinity else None
    far = affinity.pod_anti_affinity if affinity else None
    return PodTerms(
        _required(near, namespace, labels),
        _required(far, namespace, labels),
        (*_preferred(near, 1, namespace, labels), *_preferred(far, -1, namespace, labels)),
        tuple(spread_term(each, namespace, labels) for each in shape.spread if is_hard(each)),
        tuple(spread_term(each, namespace, labels) for each in shape.spread if is_soft(each)),
    )


def unmodelled(shape: PodShape) -> tuple[str, ...]:
    """Return the field paths of namespace selectors that need labels of namespaces, which are not known.

    A selector that is empty (all namespaces) or uses ``kubernetes.io/metadata.name`` only is evaluated.  Any other selects no namespace.
    """
    if shape.affinity is None:
        return ()
    sides = (("podAffinity", shape.affinity.pod_affinity), ("podAntiAffinity", shape.affinity.pod_anti_affinity))
    return tuple(
        f"spec.affinity.{side}.{path}.namespaceSelector"
        for side, affinity in sides
        for path, term in _terms_of(affinity)
        if term.namespace_selector is not None and _by_name(term.namespace_selector) is None
    )


def _terms_of(affinity: PodAffinity | None) -> Iterator[tuple[str, PodAffinityTerm]]:
    """Yield all terms with their field path below *affinity*."""
    if affinity is None:
        return
    for index, term in enumerate(affinity.required_during_scheduling_ignored_during_execution or ()):
        yield f"requiredDuringSchedulingIgnoredDuringExecution[{index}]", term
    for index, each in enumerate(affinity.preferred_during_scheduling_ignored_during_execution or ()):
        yield f"preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm", each.pod_affinity_term


def _required(affinity: PodAffinity | None, namespace: str, labels: Mapping[str, str]) -> tuple[Term, ...]:
    found = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return tuple(Term(each.topology_key, _pods(each, namespace, labels)) for each in found or ())


def _preferred(affinity: PodAffinity | None, sign: int, namespace: str, labels: Mapping[str, str]) -> tuple[Term, ...]:
    found = affinity.preferred_during_scheduling_ignored_during_execution if affinity else None
    return tuple(
        Term(each.pod_affinity_term.topology_key, _pods(each.pod_affinity_term, namespace, labels), sign * each.weight)
        for each in found or ()
    )


def _pods(term: PodAffinityTerm, namespace: str, labels: Mapping[str, str]) -> PodSet:
    selector = term.namespace_selector
    listed = frozenset(term.namespaces or (() if selector is not None else (namespace,)))
    # The API server adds these keys to the selector of a pod that it admits; in a manifest they are still separate.
    more = (*_of_the_pod(term.match_label_keys, "In", labels), *_of_the_pod(term.mismatch_label_keys, "NotIn", labels))
    return PodSet(listed, None if selector is None else _by_name(selector), compiled(term.label_selector, more))


def _of_the_pod(keys: tuple[str, ...] | None, operator: str, labels: Mapping[str, str]) -> list[Requirement]:
    """Return requirements with the pod's own label values; keys that the pod lacks are skipped."""
    return [Requirement(key, operator, (labels[key],)) for key in keys or () if key in labels]


def _by_name(selector: LabelSelector) -> Clauses | None:
    """Return clauses about the names of namespaces; None if *selector* uses another label."""
    clauses = compiled(selector)
    if clauses is None or any(clause.key != _NAMESPACE_NAME for clause in clauses):
        return None
    return clauses


def is_hard(constraint: TopologySpreadConstraint) -> bool:
    """Return whether *constraint* filters nodes."""
    return constraint.when_unsatisfiable == "DoNotSchedule"


def is_soft(constraint: TopologySpreadConstraint) -> bool:
    """Return whether *constraint* scores nodes."""
    return constraint.when_unsatisfiable == "ScheduleAnyway"


def spread_term(constraint: TopologySpreadConstraint, namespace: str, labels: Mapping[str, str]) -> SpreadTerm:
    """Return *constraint* of a pod of *namespace* with *labels*."""
    clauses = compiled(constraint.label_selector, _of_the_pod(constraint.match_label_keys, "In", labels))
    return SpreadTerm(
        key=constraint.topology_key,
        # In kube-scheduler an empty selector counts no pod, but it matches the pod itself.
        pods=PodSet(frozenset({namespace}), None, clauses or None),
        own=clauses,
        skew=constraint.max_skew,
        least=1 if constraint.min_domains is None else constraint.min_domains,
        affinity=(constraint.node_affinity_policy or "Honor") == "Honor",
        taints=constraint.node_taints_policy == "Honor",
    )
