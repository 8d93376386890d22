"""Affinity terms between pods by field path, and their namespace selectors."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.affinity import Affinity, PodAffinityTerm
from kubeapi.selectors import LabelSelector
from scheduler_core.model.selectors import Clauses, compiled

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The API server sets this label of every namespace to its name."""


def needing_labels(affinity: Affinity | None) -> tuple[str, ...]:
    """Return the field paths of namespace selectors in the *affinity* of a pod that need the labels of namespaces.

    A selector that is empty (all namespaces) or uses ``kubernetes.io/metadata.name`` only needs none.
    """
    return tuple(
        f"{path}.namespaceSelector"
        for path, term in terms_between_pods(affinity)
        if term.namespace_selector is not None and by_name(term.namespace_selector) is None
    )


def terms_between_pods(affinity: Affinity | None) -> Iterator[tuple[str, PodAffinityTerm]]:
    """Yield the terms of affinity and anti-affinity of a pod, required and preferred, with their field paths."""
    sides = (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)) if affinity is not None else ()
    for name, side in sides:
        required = side.required_during_scheduling_ignored_during_execution if side is not None else None
        for index, term in enumerate(required or ()):
            yield f"spec.affinity.{name}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", term
        preferred = side.preferred_during_scheduling_ignored_during_execution if side is not None else None
        for index, each in enumerate(preferred or ()):
            yield f"spec.affinity.{name}.preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm", each.pod_affinity_term


def by_name(selector: LabelSelector) -> Clauses | None:
    """Return clauses about the names of namespaces; None if *selector* uses another label."""
    clauses = compiled(selector)
    if clauses is None or any(clause.key != NAMESPACE_NAME for clause in clauses):
        return None
    return clauses
