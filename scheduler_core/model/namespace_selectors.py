"""Affinity terms between pods by field path, and their namespace selectors."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.affinity import Affinity, PodAffinity, PodAffinityTerm
from kubeapi.selectors import LabelSelector
from scheduler_core.model.selectors import Clauses, compiled

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The API server sets this label of every namespace to its name."""


def needing_labels(affinity: Affinity | None) -> tuple[str, ...]:
    """Return the field paths of namespace selectors in the *affinity* of a pod that need the labels of namespaces.

    A selector that is empty (all namespaces) or uses ``kubernetes.io/metadata.name`` only needs none.
    """
    if affinity is None:
        return ()
    sides = (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity))
    return tuple(
        f"spec.affinity.{side}.{path}.namespaceSelector"
        for side, terms in sides
        for path, term in terms_of(terms)
        if term.namespace_selector is not None and by_name(term.namespace_selector) is None
    )


def terms_of(affinity: PodAffinity | None) -> Iterator[tuple[str, PodAffinityTerm]]:
    """Yield all terms with their field path below *affinity*."""
    if affinity is None:
        return
    for index, term in enumerate(affinity.required_during_scheduling_ignored_during_execution or ()):
        yield f"requiredDuringSchedulingIgnoredDuringExecution[{index}]", term
    for index, each in enumerate(affinity.preferred_during_scheduling_ignored_during_execution or ()):
        yield f"preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm", each.pod_affinity_term


def by_name(selector: LabelSelector) -> Clauses | None:
    """Return clauses about the names of namespaces; None if *selector* uses another label."""
    clauses = compiled(selector)
    if clauses is None or any(clause.key != NAMESPACE_NAME for clause in clauses):
        return None
    return clauses
