"""One object in, everything that is wrong with it out: shape, decoding, defaults, rules.

Two ways in.  ``validate`` judges a request: the object as the API server sends it, where only a wrong JSON type ends
the judging early.  ``examine`` and ``judge`` are the two passes over files: first every document by itself, so that
all inputs are known, then each again among the others.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping

from validators import applicable_rules, field, lookup, rules, schema
from validators.defaults import drop, fill
from validators.field import ErrorType, FieldError, FieldPath, Part
from validators.hierarchy.tree import GroupTree
from validators.lookup import Lookup
from validators.model import decode, traits
from validators.model.decode import Json, Source, WrongShapeError
from validators.model.meta import ObjectMeta
from validators.model.objects import KINDS, Named, Object
from validators.rules.base import About, Context, Operation, Rule, Settings, Severity
from validators.versions import served
from validators.versions.form import HUB, Form


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """A FieldError (whose origin is the rule) and what it leads to."""

    error: FieldError
    severity: Severity
    by_plugin: bool = False
    """Whether the API server would answer it as a plugin does: HTTP 403."""


@dataclasses.dataclass(frozen=True, slots=True)
class Examined:
    """What one document is by itself.

    ``object`` is what others may find when they look it up: its name alone where something is wrong with it, None where
    it has none.  A ``foreign`` object is of a kind that no rule speaks of.
    """

    object: Object | None
    judged: tuple[Judged, ...]
    foreign: bool = False
    form: Form = HUB


def is_judged(group: str, kind: str) -> bool:
    """Whether there are rules for this kind of this API group."""
    return kind in KINDS and served.serves(group, kind)


def validate(
    kind: str,
    new: Source,
    old: Source | None,
    operation: Operation,
    *,
    api_version: str = "",
    subresource: str = "",
    settings: Settings,
    lookup: Lookup = lookup.NOTHING,
) -> tuple[Judged, ...]:
    """Everything that is wrong with a request, in order of field path.

    *api_version* is that of the objects, needed for retired ones.  Requests for a subresource other than ``status``, and
    deletions, are nothing that rules speak of.

    Raises:
        NotJson: an object is not JSON.
    """
    if operation is Operation.DELETE or subresource not in {"", "status"}:
        return ()
    form = served.form_of(api_version)
    try:
        typed = _decoded(kind, form, new)
        before = None if old is None else _decoded(kind, form, old)
    except WrongShapeError as error:
        return _wrong_types(kind, api_version, error.content)
    typed, before, dropped = _as_stored(typed, before, settings)
    context = Context(typed, before, operation, settings=settings, lookup=lookup, form=form)
    # No rule about the status looks at templates: they are not walked for it.
    seen = traits.ANY if subresource else context.traits
    asked = applicable_rules.rules_for_object(kind, form, operation, subresource, settings, seen)
    found = [*_run(asked, context)]
    if dropped:
        found += _gate_warnings(dropped, settings)
    return _in_order(found, form) if found else ()


def examine(content: Mapping[str, Json], settings: Settings) -> Examined:
    """One document of a file by itself: is its kind one of ours, is its version served, has it the right shape?"""
    api_version, kind = content.get("apiVersion"), content.get("kind")
    head = list(_head(api_version, kind))
    if head or not isinstance(api_version, str) or not isinstance(kind, str):
        return Examined(None, _with_severity(head, settings))
    group, _, version = api_version.rpartition("/")
    api_version = served.named(group, version)  # "/v1" is "v1"
    if not _is_ours(api_version, kind):
        return Examined(None, (), foreign=True)
    if problem := _unserved(api_version, kind, settings.minor):
        judged = _with_severity([problem], settings)
        return Examined(_named(kind, content) if kind in KINDS else None, judged)
    examined = _examine_shape(kind, api_version, decode.plain(content), settings)
    # What was taken out of a faulty document must not be compared with by its neighbours.
    return dataclasses.replace(examined, object=_named(kind, content)) if examined.judged else examined


def judge(new: Object, settings: Settings, *, lookup: Lookup, tree: GroupTree | None = None, form: Form = HUB) -> tuple[Judged, ...]:
    """What all rules have to say of a document whose shape is right, in order of field path."""
    typed, _, dropped = _as_stored(new, None, settings, fill_in=False)
    if typed is not new:
        tree = None  # it holds the object as written
    context = Context(typed, None, Operation.CREATE, settings=settings, lookup=lookup, tree=tree, form=form)
    asked = applicable_rules.rules_for_object(new.kind, form, Operation.CREATE, "", settings, context.traits)
    found = [*_gate_warnings(dropped, settings), *_run(asked, context)]
    return _in_order(found, form)


def _is_ours(api_version: str, kind: str) -> bool:
    """Return whether rules judge such an object, or it must be of a kind that they judge.

    A kind of a CustomResourceDefinition can have versions that are not known here: their objects are not ours.
    """
    group = api_version.rpartition("/")[0]
    if not is_judged(group, kind):
        return group in served.WORKLOAD_GROUPS
    return group not in served.CUSTOM or served.find(api_version, kind) is not None


def _named(kind: str, content: Mapping[str, Json]) -> Named:
    """The object by name alone, as far as it has one; a number that was meant as a name counts as that."""
    metadata = content.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    name, namespace = (given.get(each) for each in ("name", "namespace"))
    meta = ObjectMeta(name="" if name is None else str(name), namespace="" if namespace is None else str(namespace))
    return Named(kind, meta)


def _decoded(kind: str, form: Form, source: Source) -> Object:
    return decode.decode(kind, source if form is HUB else form.to_hub(decode.parse(source)))


def _as_stored(new: Object, old: Object | None, settings: Settings, *, fill_in: bool = True) -> tuple[Object, Object | None, drop.Dropped]:
    """Both objects as the API server holds them when it validates: gated fields dropped, defaults filled in."""
    dropped: drop.Dropped = []
    if settings.gates.off:
        new, dropped = drop.drop_disabled_fields(new, old, settings.gates)
    if fill_in:
        new = fill.fill(new, settings.gates)
        old = None if old is None else fill.fill(old, settings.gates)
    return new, old, dropped


def _wrong_types(kind: str, api_version: str, content: Json) -> tuple[Judged, ...]:
    """The values of a wrong type, and numbers that do not fit: all that can be said of such an object."""
    told = {"schema-type", "schema-limit"}
    found = [error for error in schema.check(served.schema_of(api_version, kind), decode.plain(content)) if error.origin in told]
    # The schemas look at what the model looks at; should one be laxer, the object is refused all the same.
    found = found or [dataclasses.replace(field.type_invalid(FieldPath(), None, "must have the shape of its kind"), origin="schema-type")]
    return tuple(Judged(error, Severity.ERROR) for error in found)


def _head(api_version: Json, kind: Json) -> Iterator[FieldError]:
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if value is None or value == "":
            yield dataclasses.replace(field.required(FieldPath(name), "a Kubernetes object says what it is"), origin="schema-required")
        elif not isinstance(value, str):
            yield dataclasses.replace(field.type_invalid(FieldPath(name), value, "must be a string"), origin="schema-type")


def _unserved(api_version: str, kind: str, minor: int) -> FieldError | None:
    group = api_version.rpartition("/")[0]
    if kind not in KINDS:
        return dataclasses.replace(field.not_supported(FieldPath("kind"), kind, sorted(served.kinds_of(group))), origin="schema-enum")
    found = served.find(api_version, kind)
    if found is None or found.since > minor:
        known = served.versions_served(kind, minor)
        error = field.not_supported(FieldPath("apiVersion"), api_version, known)
        return dataclasses.replace(error, detail=error.detail if known else f"Kubernetes 1.{minor} has no {kind}", origin="schema-enum")
    if found.until < minor:
        instead = f"{group}/{' or '.join(row.version for row in served.current(kind, group))}"
        detail = (
            f"{kind} of this version is no longer served since Kubernetes 1.{found.until + 1}; {instead} replaced it: run muster migrate"
        )
        return dataclasses.replace(field.not_supported(FieldPath("apiVersion"), api_version, ()), detail=detail, origin="retired-version")
    return None


def _examine_shape(kind: str, api_version: str, content: Json, settings: Settings) -> Examined:
    form = served.form_of(api_version)
    found = schema.check(served.schema_of(api_version, kind), content)
    wrong = [error.path for error in found if error.origin in {"schema-type", "schema-limit"}]
    readable = schema.without_paths(content, wrong)
    try:
        typed = _decoded(kind, form, readable)
    except WrongShapeError:
        return Examined(None, _with_severity(found, settings), form=form)
    context = Context(typed, None, Operation.CREATE, settings=settings, lookup=lookup.NOTHING, form=form)
    asked = [
        rule
        for rule in applicable_rules.rules_for_object(kind, form, Operation.CREATE, "", settings, context.traits)
        if rule.about is About.SHAPE
    ]
    gone, told = {path.parts for path in wrong}, {(error.path, error.origin) for error in found}
    for each in _run(asked, context):
        path = form.written(each.error.path)
        # A value that was taken out for its type is not missing besides.
        if (path, each.error.origin) not in told and not _within(path, gone):
            told.add((path, each.error.origin))
            found.append(dataclasses.replace(each.error, path=path))
    return Examined(typed, _with_severity(found, settings), form=form)


def _within(path: FieldPath, places: Collection[tuple[Part, ...]]) -> bool:
    """Whether *path* is one of *places*, or lies inside one; what it costs does not grow with their number."""
    return bool(places) and any(path.parts[:length] in places for length in range(len(path.parts) + 1))


def _with_severity(found: Iterable[FieldError], settings: Settings) -> tuple[Judged, ...]:
    judged = [
        Judged(error, severity) for error in found if (severity := _severity(_rule(error.origin), settings, error)) is not Severity.OFF
    ]
    return tuple(sorted(judged, key=_place))


def _rule(identity: str) -> Rule:
    return rules.discover()[identity]


def _run(asked: Iterable[Rule], context: Context) -> Iterator[Judged]:
    for rule in asked:
        for error in rule.check(context):
            yield Judged(dataclasses.replace(error, origin=rule.id), _severity(rule, context.settings, error), rule.by_plugin)


def _severity(rule: Rule, settings: Settings, error: FieldError) -> Severity:
    chosen = dict(settings.severities).get(rule.id)
    if chosen is not None:
        return chosen
    if not settings.linting:
        # The other object may arrive a moment later.
        if error.type is ErrorType.NOT_FOUND:
            return Severity.WARNING
        if rule.at_admission is not None:
            return rule.at_admission
    return rule.severity


def _gate_warnings(dropped: drop.Dropped, settings: Settings) -> Iterator[Judged]:
    for path, gate in dropped:
        error = field.forbidden(path, f"the feature gate {gate} is off: the API server drops this field without a word")
        severity = dict(settings.severities).get("gate-off", Severity.WARNING)
        if severity is not Severity.OFF:
            yield Judged(dataclasses.replace(error, origin="gate-off"), severity)


def _in_order(found: list[Judged], form: Form) -> tuple[Judged, ...]:
    if len(found) > 1:
        found.sort(key=_place)
    if form is HUB:
        return tuple(found)
    return tuple(dataclasses.replace(each, error=dataclasses.replace(each.error, path=form.written(each.error.path))) for each in found)


def _place(judged: Judged) -> tuple[tuple[tuple[bool, int, str], ...], str, str]:
    """Sorts by field path, numbers as numbers, then by rule."""
    return tuple(map(_rank, judged.error.path.parts)), judged.error.origin, judged.error.detail


@functools.lru_cache(maxsize=1024)
def _rank(part: Part) -> tuple[bool, int, str]:
    # Kept, because paths share nearly all of their parts: thousands of them would each hold as many copies.
    return (True, part, "") if isinstance(part, int) else (False, 0, part)


def decode_for_lookup(content: Mapping[str, Json]) -> Object | None:
    """The typed object of a document that is looked up and never judged; None where it is foreign or unreadable."""
    api_version, kind = content.get("apiVersion"), content.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    if not is_judged(api_version.rpartition("/")[0], kind):
        return None
    try:
        return _decoded(kind, served.form_of(api_version), content)
    except WrongShapeError:
        return None
