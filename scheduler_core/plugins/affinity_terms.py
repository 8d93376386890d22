"""Terms of a pod about other pods, compiled: which pods its affinity terms select, and by which topology key; and its spread constraints."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.affinity import PodAffinity, PodAffinityTerm, terms_between_pods
from kubeapi.base_structs import Record
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.model.namespace_selectors import NAMESPACE_NAME, by_name
from scheduler_core.model.pods import PodShape
from scheduler_core.model.selectors import admits, compiled
from scheduler_core.plugins.spread_constraints import SpreadTerm, is_hard, is_soft, spread_term
from scheduler_core.plugins.topology_counts import PodSet, own_values

REQUIRED_AFFINITY_WEIGHT = 0
"""Marks a running pod's required affinity: its weight in the score of a pod it selects is hardPodAffinityWeight of that pod's profile."""
Namespaces = Mapping[str, Mapping[str, str]]
"""Labels of namespaces by name."""
NO_NAMESPACES: Namespaces = {}


class Term(Record, frozen=True):
    """Affinity or anti-affinity term.  Nodes with the same value of the label *key* are one domain."""

    key: str
    pods: PodSet
    weight: int = 0
    """Weight of a preferred term, negative for anti-affinity; 0 of a required term."""


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
    return any(True for _ in terms_between_pods(shape.affinity))


def own_keys(shape: PodShape) -> frozenset[str]:
    """Return the keys of the pod labels that ``terms`` reads: pods with equal values have equal terms."""
    of_terms = [keys for _, term in terms_between_pods(shape.affinity) for keys in (term.match_label_keys, term.mismatch_label_keys)]
    return frozenset().union(*(keys or () for keys in (*of_terms, *(constraint.match_label_keys for constraint in shape.spread))))


def terms(
    shape: PodShape,
    namespace: str,
    labels: Mapping[str, str],
    namespaces: Namespaces = NO_NAMESPACES,
    behavior: SchedulerBehavior = KUBERNETES_1_37,
) -> PodTerms:
    """Return the terms of a pod of *shape* in *namespace* with *labels*; *namespaces* are the known namespaces."""
    counts = behavior.counts_by_empty_selector
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
        tuple(spread_term(each, namespace, labels, empty_counts=counts) for each in shape.spread if is_hard(each)),
        tuple(spread_term(each, namespace, labels, empty_counts=counts) for each in shape.spread if is_soft(each)),
    )


def _pods(term: PodAffinityTerm, namespace: str, labels: Mapping[str, str], namespaces: Namespaces) -> PodSet:
    selector = term.namespace_selector
    listed = frozenset(term.namespaces or (() if selector is not None else (namespace,)))
    # The API server adds these keys to the selector of a pod that it admits; in a manifest they are still separate.
    more = (*own_values(term.match_label_keys, "In", labels), *own_values(term.mismatch_label_keys, "NotIn", labels))
    names = None if selector is None else by_name(selector)
    if selector is not None and names is None:
        clauses = compiled(selector)
        listed |= {name for name, own in namespaces.items() if admits(clauses, {**own, NAMESPACE_NAME: name})}
    return PodSet(listed, names, compiled(term.label_selector, more))
