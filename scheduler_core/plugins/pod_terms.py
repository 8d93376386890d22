"""What a pod says about other pods, compiled: which pods, near or far by which label of the node."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from scheduler_core.model.pods import PodShape
from scheduler_core.model.selectors import Clauses, admits, compiled
from scheduler_core.model.wire import LabelSelector, PodAffinity, PodAffinityTerm, Requirement, TopologySpreadConstraint

REQUIRED_AFFINITY_WEIGHT = 1
"""What a required affinity of a pod that runs is worth to the score of one it selects (InterPodAffinityArgs.hardPodAffinityWeight)."""
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The API server gives every namespace this label, with its name: the one label of a namespace that is known."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodSet:
    """Pods by namespace and labels.

    Attributes:
        namespaces: namespaces they may be in.
        others: further namespaces, by clauses about their names; None for none, no clauses for all.
        clauses: about their labels; None for no pod at all.

    """

    namespaces: frozenset[str]
    others: Clauses | None
    clauses: Clauses | None

    def has(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod of that namespace with *labels* is one of them."""
        if namespace not in self.namespaces and (self.others is None or not all(clause.admits(namespace) for clause in self.others)):
            return False
        return admits(self.clauses, labels)


@dataclasses.dataclass(frozen=True, slots=True)
class Term:
    """Pods near or far: nodes of one value of the label *key* are near each other."""

    key: str
    pods: PodSet
    weight: int = 0
    """Of a preference, negative where the pods are to be far; 0 of a requirement."""


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadTerm:
    """A topology spread constraint that must be met.

    Attributes:
        key: domains are told apart by this label of the node.
        pods: those that are counted.
        own: clauses about the pod's own labels: where they hold, it counts towards its own domain.
        skew: maxSkew.
        least: minDomains.
        affinity: whether only nodes that the pod's node affinity and nodeSelector allow make up domains.
        taints: whether nodes with taints that it does not tolerate do not.

    """

    key: str
    pods: PodSet
    own: Clauses | None
    skew: int
    least: int
    affinity: bool
    taints: bool


@dataclasses.dataclass(frozen=True, slots=True)
class PodTerms:
    """All that a pod says about others."""

    near: tuple[Term, ...] = ()
    """Required affinity."""
    far: tuple[Term, ...] = ()
    """Required anti-affinity."""
    preferred: tuple[Term, ...] = ()
    spread: tuple[SpreadTerm, ...] = ()

    @property
    def affine(self) -> bool:
        """Whether there is any term of affinity."""
        return bool(self.near or self.far or self.preferred)


def has_affinity(shape: PodShape) -> bool:
    """Whether pods of *shape* have a term of affinity or anti-affinity, required or preferred."""
    affinity = shape.affinity
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    return any(True for side in sides for _ in _terms_of(side))


def has_hard_spread(shape: PodShape) -> bool:
    """Whether pods of *shape* have a topology spread constraint that must be met."""
    return any(_is_hard(each) for each in shape.spread)


def own_keys(shape: PodShape) -> frozenset[str]:
    """The labels of a pod of *shape* that ``terms`` looks at: pods that agree in them say the same."""
    affinity = shape.affinity
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    of_terms = [keys for side in sides for _, term in _terms_of(side) for keys in (term.match_label_keys, term.mismatch_label_keys)]
    return frozenset().union(*(keys or () for keys in (*of_terms, *(each.match_label_keys for each in shape.spread))))


def terms(shape: PodShape, namespace: str, labels: Mapping[str, str]) -> PodTerms:
    """What a pod of *shape*, in that namespace and with *labels*, says about others."""
    affinity = shape.affinity
    near = affinity.pod_affinity if affinity else None
    far = affinity.pod_anti_affinity if affinity else None
    return PodTerms(
        _required(near, namespace, labels),
        _required(far, namespace, labels),
        (*_preferred(near, 1, namespace, labels), *_preferred(far, -1, namespace, labels)),
        tuple(_spread(each, namespace, labels) for each in shape.spread if _is_hard(each)),
    )


def unmodelled(shape: PodShape) -> tuple[str, ...]:
    """Field paths of namespace selectors that ask for labels of namespaces, which are not known.

    One that is empty (all namespaces), or asks for ``kubernetes.io/metadata.name`` only, is known.  A term with another is taken
    to select no namespace by it.
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
    """All terms, each with its field path below *affinity*."""
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
    # The API server adds these keys to the selector of a pod that it admits; a manifest has them still apart.
    more = (*_of_the_pod(term.match_label_keys, "In", labels), *_of_the_pod(term.mismatch_label_keys, "NotIn", labels))
    return PodSet(listed, None if selector is None else _by_name(selector), compiled(term.label_selector, more))


def _of_the_pod(keys: tuple[str, ...] | None, operator: str, labels: Mapping[str, str]) -> list[Requirement]:
    """Expressions about the values that the pod itself has; keys that it lacks say nothing."""
    return [Requirement(key, operator, (labels[key],)) for key in keys or () if key in labels]


def _by_name(selector: LabelSelector) -> Clauses | None:
    """Clauses about the names of namespaces; None where *selector* asks for what is not known of them."""
    clauses = compiled(selector)
    if clauses is None or any(clause.key != _NAMESPACE_NAME for clause in clauses):
        return None
    return clauses


def _is_hard(constraint: TopologySpreadConstraint) -> bool:
    return constraint.when_unsatisfiable == "DoNotSchedule"


def _spread(constraint: TopologySpreadConstraint, namespace: str, labels: Mapping[str, str]) -> SpreadTerm:
    clauses = compiled(constraint.label_selector, _of_the_pod(constraint.match_label_keys, "In", labels))
    return SpreadTerm(
        key=constraint.topology_key,
        # Upstream counts no pod by an empty selector, yet lets it match the pod itself.
        pods=PodSet(frozenset({namespace}), None, clauses or None),
        own=clauses,
        skew=constraint.max_skew,
        least=1 if constraint.min_domains is None else constraint.min_domains,
        affinity=(constraint.node_affinity_policy or "Honor") == "Honor",
        taints=constraint.node_taints_policy == "Honor",
    )
