"""Label selectors and node selectors: their errors, and the labels that a label selector matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import names
from validators.built_in.shared_checks import Content, formatted, items, text
from validators.field import FieldError

_SET = frozenset({"In", "NotIn"})
_PRESENCE = frozenset({"Exists", "DoesNotExist"})
_ORDER = frozenset({"Gt", "Lt"})


def label_selector(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of a label selector."""
    yield from names.labels(section(given, "matchLabels"), at / "matchLabels")
    for path, each in items(given, "matchExpressions", at):
        operator, values = each.get("operator"), _values(each)
        if operator in _SET and not values:
            yield field.required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in _PRESENCE and values:
            yield field.forbidden(path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        elif operator not in _SET | _PRESENCE:
            yield field.invalid(path / "operator", operator, "not a valid selector operator")
        yield from formatted(text(each, "key"), path / "key", content.label_key(text(each, "key")))
        for index, value in enumerate(values):
            yield from formatted(value, path.join(("values", index)), content.label_value(value))


def is_empty(given: Content) -> bool:
    """Return whether a label selector has no requirement."""
    return not section(given, "matchLabels") and not given.get("matchExpressions")


def matches(given: Content, labels: Mapping[str, object]) -> bool:
    """Return whether a label selector without errors matches *labels*."""
    if any(labels.get(key) != value for key, value in section(given, "matchLabels").items()):
        return False
    return all(_meets(each, labels) for _, each in items(given, "matchExpressions", FieldPath()))


def _meets(requirement: Content, labels: Mapping[str, object]) -> bool:
    key, operator = text(requirement, "key"), requirement.get("operator")
    if operator in _PRESENCE:
        return (key in labels) is (operator == "Exists")
    return (key in labels and labels[key] in _values(requirement)) is (operator == "In")


def node_selector(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the node selector of a required node affinity."""
    terms = items(given, "nodeSelectorTerms", at)
    if not terms:
        yield field.required(at / "nodeSelectorTerms", "must have at least one node selector term")
    for path, each in terms:
        yield from node_selector_term(each, path, required=True)


def node_selector_term(given: Content, at: FieldPath, *, required: bool) -> Iterator[FieldError]:
    """Yield the errors of a term; values of labels are only validated if it is *required*."""
    for path, each in items(given, "matchExpressions", at):
        operator, values = each.get("operator"), _values(each)
        yield from _wrong_number_of_values(operator, values, path)
        yield from formatted(text(each, "key"), path / "key", content.label_key(text(each, "key")))
        for index, value in enumerate(values if required else ()):
            yield from formatted(value, path.join(("values", index)), content.label_value(value))
    for path, each in items(given, "matchFields", at):
        values = _values(each)
        if each.get("operator") not in _SET:
            yield field.invalid(path / "operator", each.get("operator"), "not a valid selector operator")
        elif len(values) != 1:
            yield field.required(path / "values", "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
        if text(each, "key") != "metadata.name":
            yield field.invalid(path / "key", text(each, "key"), "not a valid field selector key")
            continue
        for index, value in enumerate(values):
            yield from formatted(value, path.join(("values", index)), content.subdomain(value))


def _wrong_number_of_values(operator: object, values: list[str], at: FieldPath) -> Iterator[FieldError]:
    if operator in _SET:
        if not values:
            yield field.required(at / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _PRESENCE:
        if values:
            yield field.forbidden(at / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in _ORDER:
        if len(values) != 1:
            yield field.required(at / "values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield field.invalid(at / "operator", operator, "not a valid selector operator")


def _values(requirement: Content) -> list[str]:
    values = requirement.get("values")
    return ["" if each is None else each for each in values] if isinstance(values, list) else []
