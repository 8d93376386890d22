"""Namespace selectors of the terms between pods."""

from __future__ import annotations

from kubeapi.affinity import Affinity, terms_between_pods
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


def by_name(selector: LabelSelector) -> Clauses | None:
    """Return clauses about the names of namespaces; None if *selector* uses another label."""
    clauses = compiled(selector)
    if clauses is None or any(clause.key != NAMESPACE_NAME for clause in clauses):
        return None
    return clauses
