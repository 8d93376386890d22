"""Validation of one object: schema, decoding, defaults, rules.

``validate`` is for requests: the object as the API server sends it, where only a wrong JSON type ends the validation
early.  ``examine`` and ``validate_document`` are two passes over files: first every document by itself, so that all
objects are known, then each document with the others as its lookup.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping

from kubeapi import decode
from kubeapi.base_structs import Record
from kubeapi.decode import Json, Source, WrongShapeError
from kubeapi.field_path import FieldPath, Part
from kubeapi.meta import ObjectMeta, replaced
from kubeapi.versions import served_versions
from kubeapi.versions.conversion import HUB, Form
from validators import applicable_rules, document_head, field, known_kinds, object_lookup, pod_templates, rules, schema, whole_documents
from validators.defaults import drop, fill
from validators.document_head import Head
from validators.field import ErrorType, FieldError
from validators.hierarchy.tree import GroupTree
from validators.model import objects, traits
from validators.model.controllers import Controller, raw_templates
from validators.model.objects import KINDS, Named, Object
from validators.model.own_gangs import OWN_KINDS, own_gang
from validators.model.templates import Templates
from validators.object_lookup import Lookup
from validators.rules.base import Context, Operation, Rule, Settings, Severity

_UNREADABLE_VALUES = frozenset({"schema-type", "schema-limit"})
"""Rules about values that do not fit into the type of their field."""


class Violation(Record, frozen=True):
    """FieldError with its severity; the origin of the error is the rule."""

    error: FieldError
    severity: Severity
    by_plugin: bool = False
    """True if the API server reports this error from an admission plugin: HTTP 403."""


class Examined(Record, frozen=True):
    """Result of examining one document by itself.

    ``object`` is the object for the lookup of other documents: only its name if the document has errors, None if it has
    no name.  A ``foreign`` object is of a kind without rules.
    """

    object: Object | None
    violations: tuple[Violation, ...]
    foreign: bool = False
    form: Form = HUB
    templates: Templates | None = None
    """The templates of a Workload or a group, if they were computed."""
    further: tuple[Violation, ...] = ()
    """Violations in fields that rules do not read, with ``Settings.whole_documents``: the object is compared with others all the same."""


def validate(
    kind: str,
    new: Source,
    old: Source | None,
    operation: Operation,
    *,
    api_version: str = "",
    subresource: str = "",
    settings: Settings,
    lookup: Lookup = object_lookup.NOTHING,
) -> tuple[Violation, ...]:
    """Return the violations of a request, in order of field path.

    *api_version* is that of the objects; it is needed for retired versions.  There are no rules for deletions, nor for
    subresources other than ``status``.

    Raises:
        NotJson: an object is not JSON.
    """
    if operation is Operation.DELETE or subresource not in {"", "status"}:
        return ()
    form = served_versions.form_of(api_version)
    settings = settings.for_form(form)
    try:
        typed = _decoded(kind, form, new)
        previous = None if old is None else _decoded(kind, form, old)
    except WrongShapeError as error:
        return _wrong_types(kind, api_version, error.content)
    typed, previous, dropped = _as_stored(typed, previous, settings)
    sources = None if old is None else (new, old)
    context = Context(typed, previous, operation, settings=settings, lookup=lookup, form=form, sources=sources)
    # No rule about the status reads templates: their traits are not computed.
    object_traits = traits.ANY if subresource else context.traits
    applicable = applicable_rules.rules_for_object(kind, form, operation, subresource, settings, object_traits)
    violations = _run(applicable, context)
    if dropped:
        violations += _gate_warnings(dropped, settings)
    return _in_order(violations, form) if violations else ()


def examine(content: Mapping[str, Json], settings: Settings) -> Examined:
    """Return the result of examining one document of a file by itself: kind, API version, shape."""
    api_version, kind = content.get("apiVersion"), content.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
        return Examined(None, _with_severity(document_head.errors(api_version, kind), settings))
    head = document_head.head(api_version, kind, settings.minor)
    examined = _examine_by_rules(head, content, settings)
    return _with_further(examined, head, content, settings) if settings.whole_documents else examined


def _examine_by_rules(head: Head, content: Mapping[str, Json], settings: Settings) -> Examined:
    kind = head.kind
    if not head.has_rules:
        return _examine_controller(head.group, kind, content, settings) or Examined(None, (), foreign=True)
    if head.error is not None:
        violations = _with_severity([head.error], settings)
        return Examined(_named(kind, content) if kind in KINDS else None, violations)
    examined = _examine_shape(kind, head.api_version, content, settings)
    # Other documents must not be compared with values that were removed from an invalid one.
    return replaced(examined, object=_named(kind, content)) if examined.violations else examined


def validate_document(
    new: Object, settings: Settings, *, lookup: Lookup, tree: GroupTree | None = None, form: Form = HUB, templates: Templates | None = None
) -> tuple[Violation, ...]:
    """Return the violations of a document that ``examine`` has returned without violations and with *templates*, in order of field path."""
    settings = settings.for_form(form)
    typed, _, dropped = _as_stored(new, None, settings, fill_in=False)
    # With dropped fields, the shape is another one, and the tree contains the object as written.
    context = Context(typed, None, Operation.CREATE, settings=settings, lookup=lookup, tree=tree if typed is new else None, form=form)
    if typed is new and templates is not None:
        context.keep_templates(templates)
    applicable = applicable_rules.rules_for_document(new.kind, form, settings, context.traits, shape=False)
    if typed is not new:
        applicable = applicable_rules.rules_for_object(new.kind, form, Operation.CREATE, "", settings, context.traits)
    violations = _run(applicable, context)
    if dropped:
        violations = [*_gate_warnings(dropped, settings), *violations]
    return _in_order(violations, form) if violations else ()


def validate_change(
    new: Object, old: Object, settings: Settings, *, lookup: Lookup, tree: GroupTree | None = None, form: Form = HUB
) -> tuple[Violation, ...]:
    """Return the violations of replacing *old* by the document *new*; both have a valid shape."""
    settings = settings.for_form(form)
    typed, previous, _ = _as_stored(new, old, settings)
    context = Context(typed, previous, Operation.UPDATE, settings=settings, lookup=lookup, tree=tree if typed is new else None, form=form)
    applicable = applicable_rules.rules_for_object(new.kind, form, Operation.UPDATE, "", settings, context.traits)
    return _in_order(_run(applicable, context), form)


def _with_further(examined: Examined, head: Head, content: Mapping[str, Json], settings: Settings) -> Examined:
    """Return *examined* with the violations in the fields that rules do not read, and in the group and kind of a foreign object."""
    if whole_documents.is_known(head):
        found = whole_documents.errors(head, content, settings.minor)
    elif examined.foreign and (misspelt := known_kinds.error(head.api_version, head.kind)) is not None:
        found = [misspelt]
    else:
        return examined
    if not found:
        return replaced(examined, foreign=False) if examined.foreign else examined
    known, reported = rules.discover(), {each.error.path.parts for each in examined.violations}
    applicable = [each for each in found if known[each.origin].has(settings.profile, settings.minor)]
    new = [each for each in applicable if not _within(each.path, reported)]
    return replaced(examined, further=_with_severity(new, settings), foreign=False)


def _named(kind: str, content: Mapping[str, Json]) -> Named:
    """Return the object with its name only, empty if absent; a number is used as a name."""
    metadata = content.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    name, namespace = (fields.get(each) for each in ("name", "namespace"))
    name, namespace = ("" if each is None else str(each) for each in (name, namespace))
    meta = ObjectMeta(name=name, namespace=namespace, owner_references=fields.get("ownerReferences"))
    api_version = content.get("apiVersion")
    return Named(kind, meta, api_version if isinstance(api_version, str) else "")


def _decoded(kind: str, form: Form, source: Source) -> Object:
    return objects.decode_kind(kind, source if form.is_current else form.to_hub(decode.parse(source)))


def _as_stored(new: Object, old: Object | None, settings: Settings, *, fill_in: bool = True) -> tuple[Object, Object | None, drop.Dropped]:
    """Return both objects as the API server validates them: gated fields dropped, defaults set; and the dropped fields."""
    dropped: drop.Dropped = []
    if settings.gates.off:
        new, dropped = drop.drop_disabled_fields(new, old, settings.gates)
    if fill_in:
        new = fill.fill(new, settings.gates, settings.minor)
        old = None if old is None else fill.fill(old, settings.gates, settings.minor)
    return new, old, dropped


def _wrong_types(kind: str, api_version: str, content: Json) -> tuple[Violation, ...]:
    """Return the violations of an object that cannot be decoded: values of a wrong type, and numbers out of range."""
    errors = schema.check(served_versions.schema_of(api_version, kind), decode.as_plain(content))
    errors = [error for error in errors if error.origin in _UNREADABLE_VALUES]
    # The schemas are as strict as the model.  If one is less strict by mistake, the object is still refused.
    unknown = field.type_invalid(FieldPath(), None, "must have the fields of its kind, each with its type")
    errors = errors or [dataclasses.replace(unknown, origin="schema-type")]
    return tuple(Violation(error, Severity.ERROR) for error in errors)


def _examine_shape(kind: str, api_version: str, content: Json, settings: Settings) -> Examined:
    form = served_versions.form_of(api_version)
    settings = settings.for_form(form)
    content, errors = schema.check_with_nulls(served_versions.schema_of(api_version, kind), content)
    wrong = [error.path for error in errors if error.origin in _UNREADABLE_VALUES]
    try:
        typed = _decoded(kind, form, schema.without_paths(content, wrong))
    except WrongShapeError:
        return Examined(None, _with_severity(errors, settings), form=form)
    context = Context(typed, None, Operation.CREATE, settings=settings, lookup=object_lookup.NOTHING, form=form)
    applicable = applicable_rules.rules_for_document(kind, form, settings, context.traits, shape=True)
    violations = _run(applicable, context)
    if not violations and not errors:
        return Examined(typed, (), form=form, templates=context.known_templates)
    removed, reported = {path.parts for path in wrong}, {(error.path, error.origin) for error in errors}
    for each in violations:
        path = form.written(each.error.path)
        # A value that was removed for its type is not reported as missing too.
        if (path, each.error.origin) not in reported and not _within(path, removed):
            reported.add((path, each.error.origin))
            errors.append(dataclasses.replace(each.error, path=path))
    return Examined(typed, _with_severity(errors, settings), form=form, templates=context.known_templates)


def _examine_controller(group: str, kind: str, content: Mapping[str, Json], settings: Settings) -> Examined | None:
    """Return the result for a controller without rules of its own: the shape of its pod templates that name a group or claims.

    It is None if there is none, and the controller makes no gang of its pods.
    """
    templates, gang = raw_templates(group, kind, content), own_gang(group, kind, content)
    if not templates and gang is None:
        return None
    kind = OWN_KINDS.get((group, kind), kind)
    named = _named(kind, content)
    pods, errors = pod_templates.decoded(templates)
    has_group = any(each.group for each in pods)
    controller = Controller(kind, named.metadata, pods, None if has_group else gang)
    context = Context(controller, None, Operation.CREATE, settings=settings, lookup=object_lookup.NOTHING)
    applicable = applicable_rules.rules_for_document(kind, HUB, settings, traits.ANY, shape=True)
    errors += [each.error for each in _run(applicable, context)]
    violations = _with_severity(errors, settings)
    return Examined(named if violations else controller, violations)


def _within(path: FieldPath, ancestors: Collection[tuple[Part, ...]]) -> bool:
    """Return whether *path* is one of *ancestors* or lies below one; the cost does not depend on the number of ancestors."""
    return bool(ancestors) and any(path.parts[:length] in ancestors for length in range(len(path.parts) + 1))


def _with_severity(errors: Iterable[FieldError], settings: Settings) -> tuple[Violation, ...]:
    """Return the violations of rules that are not off, and unreadable values even then: no other rule must take them for absent."""
    violations = [
        Violation(error, severity)
        for error in errors
        if (severity := _severity(rules.discover()[error.origin], settings, error)) is not Severity.OFF
        or error.origin in _UNREADABLE_VALUES
    ]
    return tuple(sorted(violations, key=_sort_key))


def _run(applicable: Iterable[Rule], context: Context) -> list[Violation]:
    return [
        Violation(dataclasses.replace(error, origin=rule.id), _severity(rule, context.settings, error), rule.by_plugin)
        for rule in applicable
        for error in rule.check(context)
    ]


def _severity(rule: Rule, settings: Settings, error: FieldError) -> Severity:
    configured = dict(settings.severities).get(rule.id)
    if configured is not None:
        return configured
    if not settings.linting:
        # The other object may be created a moment later.
        if error.type is ErrorType.NOT_FOUND:
            return Severity.WARNING
        if rule.at_admission is not None:
            return rule.at_admission
    return Severity.WARNING if error.is_warning else rule.severity_for(settings.minor)


def _gate_warnings(dropped: drop.Dropped, settings: Settings) -> Iterator[Violation]:
    for path, gate in dropped:
        error = field.forbidden(path, f"the feature gate {gate} is off: the API server drops this field silently")
        severity = dict(settings.severities).get("gate-off", Severity.WARNING)
        if severity is not Severity.OFF:
            yield Violation(dataclasses.replace(error, origin="gate-off"), severity)


def _in_order(violations: list[Violation], form: Form) -> tuple[Violation, ...]:
    if len(violations) > 1:
        violations.sort(key=_sort_key)
    if form.is_current:
        return tuple(violations)
    return tuple(replaced(each, error=dataclasses.replace(each.error, path=form.written(each.error.path))) for each in violations)


def _sort_key(violation: Violation) -> tuple[tuple[tuple[bool, int, str], ...], str, str]:
    """Return the sort key: field path with indices as numbers, then rule, then detail."""
    error = violation.error
    return tuple(map(_sort_key_of_part, error.path.parts)), error.origin, error.detail


@functools.lru_cache(maxsize=1024)
def _sort_key_of_part(part: Part) -> tuple[bool, int, str]:
    # Cached: paths share nearly all of their parts, and thousands of keys would each hold copies.
    return (True, part, "") if isinstance(part, int) else (False, 0, part)


def decode_for_lookup(content: Mapping[str, Json]) -> Object | None:
    """Return the typed object of a document that is looked up but not validated; None if it is foreign or cannot be decoded."""
    api_version, kind = content.get("apiVersion"), content.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    if not document_head.has_rules(api_version.rpartition("/")[0], kind):
        examined = _examine_controller(api_version.rpartition("/")[0], kind, content, Settings(linting=True))
        return examined.object if examined else None
    try:
        return _decoded(kind, served_versions.form_of(api_version), content)
    except WrongShapeError:
        return None
