"""Validation errors of objects, with field paths.

The API server would reject these objects (Kubernetes 1.37.1, core validation); here each error is reported with its consequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi import content
from kubeapi.affinity import Affinity, terms_between_pods
from kubeapi.nodes import Taint
from kubeapi.pods import PodSpec
from kubeapi.selectors import LabelSelector, NodeSelectorTerm, Requirement
from scheduler_core.causes.input_problems import Effect, InvalidField, UnknownValue

FieldProblem = InvalidField | UnknownValue
"""Error in a field, with its consequence."""

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
SETS = ("In", "NotIn")
OF_LABELS = (*SETS, "Exists", "DoesNotExist")
OF_NODES = (*OF_LABELS, "Gt", "Lt")
_TOLERATES = ("Equal", "Exists", "Lt", "Gt")
_SPREADS = ("DoNotSchedule", "ScheduleAnyway")
_FIELD = "metadata.name"
"""The only node field that matchFields supports."""


def taints(listed: Iterable[Taint]) -> Iterator[FieldProblem]:
    """Return an error for each taint with an unknown effect."""
    for index, each in enumerate(listed):
        if each.effect not in EFFECTS:
            yield UnknownValue(f"spec.taints[{index}].effect", each.effect, EFFECTS, Effect.TAINT_LEFT_OUT)


def constraints(spec: PodSpec) -> Iterator[FieldProblem]:
    """Return the errors in a pod's tolerations, affinity and spread constraints, with their consequences."""
    for index, toleration in enumerate(spec.tolerations or ()):
        for field, value, known in (("operator", toleration.operator, _TOLERATES), ("effect", toleration.effect, EFFECTS)):
            if value and value not in known:
                yield UnknownValue(f"spec.tolerations[{index}].{field}", value, known, Effect.TOLERATES_NOTHING)
    if spec.affinity is not None:
        yield from _affinity(spec.affinity)
    for index, constraint in enumerate(spec.topology_spread_constraints or ()):
        path = f"spec.topologySpreadConstraints[{index}]"
        if constraint.when_unsatisfiable not in _SPREADS:
            yield UnknownValue(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _SPREADS, Effect.CONSTRAINT_LEFT_OUT)
        yield from selector(constraint.label_selector, f"{path}.labelSelector")


def selector(selector: LabelSelector | None, path: str) -> Iterator[FieldProblem]:
    """Return the errors of a label selector; a selector with an error matches nothing."""
    if selector is None:
        return
    labels = (Requirement(key, "In", (value,)) for key, value in (selector.match_labels or {}).items())
    for label in labels:
        if text := _requirement(label, OF_LABELS):
            yield InvalidField(f"{path}.matchLabels[{label.key}]", text, Effect.SELECTOR_MATCHES_NOTHING)
    yield from _requirements(selector.match_expressions, f"{path}.matchExpressions", OF_LABELS, Effect.SELECTOR_MATCHES_NOTHING)


def node_requirement(each: Requirement, *, of_field: bool = False) -> str:
    """Return the error of an expression about node labels, or about a node field; empty if it is valid."""
    if not of_field:
        return _requirement(each, OF_NODES)
    valid = each.key == _FIELD and each.operator in SETS and len(each.values or ()) == 1
    return "" if valid else f"must be {_FIELD}, {' or '.join(SETS)}, and one value"


def _affinity(affinity: Affinity) -> Iterator[FieldProblem]:
    if affinity.node_affinity is not None:
        for term_path, term in _node_terms(affinity):
            yield from _requirements(term.match_expressions, f"{term_path}.matchExpressions", OF_NODES, Effect.TERM_MATCHES_NOTHING)
            yield from _fields(term.match_fields, f"{term_path}.matchFields")
    for term_path, one in terms_between_pods(affinity):
        yield from selector(one.label_selector, f"{term_path}.labelSelector")
        yield from selector(one.namespace_selector, f"{term_path}.namespaceSelector")


def _node_terms(affinity: Affinity) -> Iterator[tuple[str, NodeSelectorTerm]]:
    nodes = affinity.node_affinity
    if nodes is None:
        return
    path = "spec.affinity.nodeAffinity"
    required = nodes.required_during_scheduling_ignored_during_execution
    for index, term in enumerate((required and required.node_selector_terms) or ()):
        yield f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{index}]", term
    for index, preferred in enumerate(nodes.preferred_during_scheduling_ignored_during_execution or ()):
        yield f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}].preference", preferred.preference


def _fields(listed: Iterable[Requirement] | None, path: str) -> Iterator[FieldProblem]:
    for index, each in enumerate(listed or ()):
        if text := node_requirement(each, of_field=True):
            yield InvalidField(f"{path}[{index}]", text, Effect.TERM_MATCHES_NOTHING)


def _requirements(listed: Iterable[Requirement] | None, path: str, operators: tuple[str, ...], effect: Effect) -> Iterator[FieldProblem]:
    for index, each in enumerate(listed or ()):
        if text := _requirement(each, operators):
            yield InvalidField(f"{path}[{index}]", text, effect)


def _requirement(each: Requirement, operators: tuple[str, ...]) -> str:
    values = each.values or ()
    if each.operator not in operators:
        return f'operator is "{each.operator}"; allowed: {", ".join(operators)}'
    if content.label_key(each.key):
        return f'"{each.key}" is not a valid label key'
    if invalid := [value for value in values if content.label_value(value)]:
        return f'"{invalid[0]}" is not a valid label value'
    if each.operator in SETS:
        return "" if values else f"{each.operator} needs values"
    if each.operator in OF_LABELS:
        return f"{each.operator} takes no values" if values else ""
    return "" if len(values) == 1 and values[0].lstrip("+-").isdecimal() else f"{each.operator} takes one value, a whole number"
