"""Label selectors and node selectors."""

from __future__ import annotations

from kubeapi.meta import Struct
from kubeapi.redaction import Labels, Names


class Requirement(Struct, frozen=True, gc=False):
    """An expression of a label selector or of a node selector."""

    key: str
    operator: str
    values: Names | None = None


class LabelSelector(Struct, frozen=True, gc=False):
    """metav1.LabelSelector: all parts must match; an empty selector matches everything, an absent one nothing."""

    match_labels: Labels | None = None
    match_expressions: tuple[Requirement, ...] | None = None


class NodeSelectorTerm(Struct, frozen=True, gc=False):
    """core/v1 NodeSelectorTerm: all expressions must match; an empty term matches no node."""

    match_expressions: tuple[Requirement, ...] | None = None
    match_fields: tuple[Requirement, ...] | None = None


class NodeSelector(Struct, frozen=True, gc=False):
    """core/v1 NodeSelector: one of the terms must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None
