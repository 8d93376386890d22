"""Restrictions of the nodes of a pod: affinity, tolerations, topology spread constraints, scheduling gates."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import selectors
from validators.built_in.shared_checks import Content, duplicates, formatted, integer, items, number, one_of, text
from validators.field import FieldError

_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ORDER = frozenset({"Gt", "Lt"})
_HIGHEST_WEIGHT = 100


def affinity(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of node affinity, pod affinity and pod anti-affinity."""
    nodes, path = section(given, "nodeAffinity"), at / "nodeAffinity"
    if nodes.get(_REQUIRED) is not None:
        yield from selectors.node_selector(section(nodes, _REQUIRED), path / _REQUIRED)
    for term, each in items(nodes, _PREFERRED, path):
        yield from _weight(each, term)
        yield from selectors.node_selector_term(section(each, "preference"), term / "preference", required=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        for term, each in items(section(given, kind), _REQUIRED, at / kind):
            yield from _pod_term(each, term)
        for term, each in items(section(given, kind), _PREFERRED, at / kind):
            yield from _weight(each, term)
            yield from _pod_term(section(each, "podAffinityTerm"), term / "podAffinityTerm")


def _weight(term: Content, at: FieldPath) -> Iterator[FieldError]:
    if not 0 < number(term, "weight") <= _HIGHEST_WEIGHT:
        yield field.invalid(at / "weight", number(term, "weight"), f"must be in the range 1-{_HIGHEST_WEIGHT}")


def _pod_term(term: Content, at: FieldPath) -> Iterator[FieldError]:
    for name in ("labelSelector", "namespaceSelector"):
        yield from selectors.label_selector(section(term, name), at / name)
    key = text(term, "topologyKey")
    if not key:
        yield field.required(at / "topologyKey", "can not be empty")
    else:
        yield from formatted(key, at / "topologyKey", content.label_key(key))
    listed = term.get("namespaces")
    for index, name in enumerate(listed if isinstance(listed, list) else ()):
        yield from formatted(name or "", at.join(("namespaces", index)), content.label(name or ""))
    yield from _match_label_keys(term, at)


def _match_label_keys(term: Content, at: FieldPath) -> Iterator[FieldError]:
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        listed = term.get(name)
        judged = listed if isinstance(listed, list) and term.get("labelSelector") is not None else ()
        for index, key in enumerate(judged):
            yield from formatted(key, at.join((name, index)), content.label_key(key))
        other = term.get("mismatchLabelKeys") if name == "matchLabelKeys" else ()
        for index, key in enumerate(listed if isinstance(listed, list) else ()):
            if key in (other if isinstance(other, list) else ()):
                yield field.invalid(at.join((name, index)), key, "exists in both matchLabelKeys and mismatchLabelKeys")
        if listed and term.get("labelSelector") is None:
            yield field.forbidden(at / name, "must not be specified when labelSelector is not set")


def tolerations(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the tolerations of a pod."""
    for path, each in items(spec, "tolerations", at):
        key, operator, value = text(each, "key"), text(each, "operator") or "Equal", text(each, "value")
        if key:
            yield from formatted(key, path / "key", content.label_key(key))
        elif operator != "Exists":
            yield field.invalid(
                path / "operator", operator, 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            )
        if each.get("tolerationSeconds") is not None and text(each, "effect") != "NoExecute":
            yield field.invalid(path / "effect", text(each, "effect"), "effect must be 'NoExecute' when `tolerationSeconds` is set")
        yield from _comparison(operator, value, path)
        if text(each, "effect"):
            yield from one_of(each, "effect", path, _EFFECTS)


def _comparison(operator: str, value: str, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the operator of a toleration and of its value."""
    if operator == "Equal":
        yield from formatted(value, at / "operator", content.label_value(value))
    elif operator == "Exists":
        if value:
            yield field.invalid(at / "operator", "Exists", "value must be empty when `operator` is 'Exists'")
    elif operator in _ORDER and not integer(value):
        yield field.invalid(at / "value", value, "must be a decimal integer of 64 bits")
    elif operator not in _ORDER:
        yield field.not_supported(at / "operator", operator, ("Equal", "Exists"))


def spread(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the topology spread constraints of a pod."""
    constraints = items(spec, "topologySpreadConstraints", at)
    for path, each in constraints:
        key, when = text(each, "topologyKey"), text(each, "whenUnsatisfiable")
        if number(each, "maxSkew") <= 0:
            yield field.invalid(path / "maxSkew", number(each, "maxSkew"), "must be greater than zero")
        if not key:
            yield field.required(path / "topologyKey", "can not be empty")
        if when not in {"DoNotSchedule", "ScheduleAnyway"}:
            yield field.not_supported(path / "whenUnsatisfiable", when, ("DoNotSchedule", "ScheduleAnyway"))
        if each.get("minDomains") is not None:
            yield from _minimum_of_domains(each, path, when)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from one_of(each, name, path, ("Honor", "Ignore"), has_default=False)
        yield from selectors.label_selector(section(each, "labelSelector"), path / "labelSelector")
        yield from _match_label_keys(each, path)
    pairs = ((path, f"{{{each.get('topologyKey')}, {each.get('whenUnsatisfiable')}}}") for path, each in constraints)
    # Of two that are equal, the API server names the first.
    yield from duplicates((path.join(("{topologyKey, whenUnsatisfiable}",)), pair) for path, pair in reversed([*pairs]))


def _minimum_of_domains(constraint: Content, at: FieldPath, when: str) -> Iterator[FieldError]:
    least = number(constraint, "minDomains")
    if least <= 0:
        yield field.invalid(at / "minDomains", least, "must be greater than zero")
    if when != "DoNotSchedule":
        yield field.invalid(at / "minDomains", least, "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway")


def gates(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the scheduling gates of a pod."""
    listed = items(spec, "schedulingGates", at)
    for path, each in listed:
        yield from formatted(text(each, "name"), path / "name", content.label_key(text(each, "name")))
    yield from duplicates((path / "name", each.get("name")) for path, each in listed)
