"""Causes as JSON objects, and the JSON Schema of these objects.

The form follows from the fields of a cause: a key for each field, in camel case, if it has a value.  An object is ``Kind namespace/name``, an
amount a quantity in Kubernetes' notation.  A number of nodes has the keys ``nodes`` and ``ofNodes``.  Causes of a cause are its ``causes``.
"""

from __future__ import annotations

import ast
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import inspect
import itertools
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scheduler_core.causes.attempts import AttemptResult, Feasibility
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.claims import DevicesExchanged, SharedClaims
from scheduler_core.causes.domains import AttemptFailed, DomainCause, DroppedFilter, NodeCause, PodRule
from scheduler_core.causes.filter_reasons import ReasonValue
from scheduler_core.causes.groups import ChildrenInDomain
from scheduler_core.causes.live import Awaited, BudgetConflict, EvictionRefused
from scheduler_core.causes.missed_placements import GreedyLimit
from scheduler_core.causes.node_count import Amount, NodeCount
from scheduler_core.causes.plugin_failures import PluginFailure
from scheduler_core.causes.pre_enqueue import GroupViolations, TreeViolation
from scheduler_core.causes.searches import AttemptNote
from scheduler_core.causes.volume_causes import StorageShortage
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.resource_names import exact_size
from scheduler_core.model.selector_clause import SelectorClause
from scheduler_core.wording.filter_words import failure_words, filter_words
from scheduler_core.wording.titles import titled

_WORDS: Mapping[type, str] = {
    Feasibility: "MinimumNotMet",
    DomainCause: "DomainTooSmall",
    ChildrenInDomain: "DomainTooSmallForGroups",
    DroppedFilter: "FilterDropped",
}
"""Reasons that do not have the name of their class."""
_MARKERS = (AttemptResult, AttemptNote, Awaited, PodRule)
"""Causes without fields; the reason is the name of the member."""
_PAIRS: Mapping[str, tuple[str, str]] = {
    "FitError.reasons": ("message", "nodes"),
    "MembersApart.domains": ("value", "node"),
    "NodeAffinityMismatch.node_selector": ("key", "value"),
    "HostPortsInUse.ports": ("protocol", "port"),
    "ExceededSkew.pods": ("domain", "pods"),
    "VolumesNotHeld.shared": ("volume", "claims"),
    "OptionalPods.groups": ("group", "pods"),
    "MembersGated.pods": ("pod", "gates"),
    "MembersWithoutClaims.pods": ("pod", "message"),
    "PodsAwaitDevices.pods": ("pod", "node"),
    "ObjectsAwaited.kinds": ("kind", "status"),
    "DeviceShortage.capacity": ("name", "quantity"),
}
"""Keys of the two parts of a pair, by class and field."""
_AMOUNTS = frozenset({"free", "needed", "largest"})
"""Fields of a cause about a resource that are amounts of it."""
_BYTES = frozenset({"InsufficientStorage.needed", "StorageShortage.needed", "StorageOffer.size", "NoFreeVolume.size"})
_OBJECT, _CAUSES, _MESSAGE = "object", "causes", "message"
_KEYS = {"path": _OBJECT, "group": _OBJECT, "root": _OBJECT, **dict.fromkeys(("reason", "text", "error", "detail"), _MESSAGE)}
"""Keys of fields with another name; a message is a text of kube-scheduler, a plugin, a rule or the API server."""
_TOGETHER = {"DeviceShortage.together": ("free", "needed", "nodes")}
"""Keys of the parts of one tuple, by class and field."""


def causes_json(causes: Iterable[Cause]) -> list[dict[str, object]]:
    """Return *causes* as JSON objects."""
    return [_cause(each) for each in causes]


def reasons() -> tuple[str, ...]:
    """Return all words of ``reason``, sorted."""
    words = {_word_of(kind) for kind in cause_types() if not issubclass(kind, _MARKERS)}
    return tuple(sorted(words.union(member_word(each) for kind in _MARKERS for each in kind)))


@functools.cache
def meanings() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the meaning and the keys of each word of ``reason``, from the docstrings and fields of the causes."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for kind in cause_types():
        if issubclass(kind, _MARKERS):
            # Some of them have the word of a cause with fields, which means the same.
            found = {member_word(kind(value)): (about, ()) for value, about in _described(kind)} | found
        else:
            hints = typing.get_type_hints(kind).items()
            keys = tuple(json_key(name) for name, hint in hints if name == "path" or _json_type(hint, amount=False) or hint is NodeCount)
            keys += (_MESSAGE,) if PluginFailure in dict(hints).values() else ()
            about = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
            found[_word_of(kind)] = about, keys
    return found


def _described(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the value of each member of an enumeration, with the text below it."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    below = body.body if isinstance(body, ast.ClassDef) else []
    for member, about in itertools.pairwise(below):
        match member, about:
            case ast.Assign(value=ast.Constant(value=str(value))), ast.Expr(value=ast.Constant(value=str(text))):
                yield value, text


def member_word(member: enum.Enum) -> str:
    """Return the word of a member of an enumeration: ``NoPlacement`` for ``no-placement``."""
    return "".join(map(str.capitalize, member.value.split("-")))


def schema() -> dict[str, object]:
    """Return the JSON Schema of one cause; ``#/$defs/cause`` must be this schema."""
    known: dict[str, set[str]] = {"nodes": {"integer"}, "ofNodes": {"integer"}, _OBJECT: {"string"}}
    for kind in cause_types():
        for name, hint in {} if issubclass(kind, _MARKERS) else typing.get_type_hints(kind).items():
            if name != "path" and (found := _json_type(hint, amount=_is_amount(kind, name))):
                known.setdefault(json_key(name), set()).add(found)
    properties: dict[str, object] = {key: {"type": sorted(found) if len(found) > 1 else min(found)} for key, found in sorted(known.items())}
    below = {"type": "array", "items": {"$ref": "#/$defs/cause"}}
    return {"type": "object", "required": ["reason"], "properties": {"reason": {"enum": [*reasons()]}, **properties, _CAUSES: below}}


def _json_type(hint: Any, *, amount: bool) -> str:
    """Return the type of a field in JSON; empty if it is a cause, or another key."""
    kinds = [each for each in typing.get_args(hint) or (hint,) if each is not type(None)]
    origin = typing.get_origin(hint)
    if origin is tuple or origin is frozenset:
        return "" if any(each in cause_types() for part in kinds for each in (part, *typing.get_args(part))) else "array"
    kind = kinds[0]
    if kind in cause_types() or kind is NodeCount:
        return ""
    names = {bool: "boolean", int: "string" if amount else "integer", float: "number"}
    names |= dict.fromkeys((str, Name, dt.datetime), "string")
    return names.get(kind) or ("string" if issubclass(kind, enum.Enum) else "object")


def _cause(cause: Any) -> dict[str, object]:
    if isinstance(cause, _MARKERS):
        return {"reason": member_word(cause)}
    encoded: dict[str, object] = {"reason": _word_of(type(cause))}
    below: list[dict[str, object]] = []
    for name in _fields(cause):
        value = getattr(cause, name)
        if found := [*_causes_in(value)]:
            below += map(_cause, found)
        elif name == "path":
            encoded[_OBJECT] = titled(value[-1])
        else:
            encoded |= _entries(cause, name, value)
    return {**encoded, **({_CAUSES: below} if below else {})}


def _causes_in(value: object) -> Iterator[object]:
    """Yield *value* if it is a cause, or its members if it is a tuple of causes."""
    members = value if isinstance(value, tuple) and not hasattr(value, "_fields") else (value,)
    yield from (each for each in members if isinstance(each, cause_types()))


def _entries(owner: object, name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of a field; nothing if it has no value."""
    key = json_key(name, of_cause=isinstance(owner, cause_types()))
    if isinstance(value, NodeCount):
        yield from (("nodes", value.count), ("ofNodes", value.total))
    elif isinstance(value, PluginFailure):
        yield from ((_MESSAGE, failure_words(value)), (key, _value(value, "")))
    elif isinstance(owner, SelectorClause) and name == "bound" and owner.operator not in {"Gt", "Lt"}:
        return
    elif isinstance(value, int) and not isinstance(value, bool):
        amount = _is_amount(type(owner), name)
        yield key, exact_size(getattr(owner, "resource", "memory"), value) if amount else value
    elif value or value is True:
        encoded = _value(value, f"{type(owner).__name__}.{name}")
        if encoded not in ({}, []):
            yield key, encoded


def _value(value: object, where: str) -> object:  # noqa: C901, PLR0911 - one case for each kind of value
    """Return a value that is no cause; *where* is its class and field."""
    match value:
        case Name():
            return titled(value)
        case Domain():
            return {"key": value.key, "value": value.value} if value.key or value.value else {}
        case Amount():
            return {"resource": value.resource, "amount": exact_size(value.resource, value.value)}
        case _ if isinstance(value, ReasonValue):
            return filter_words(value)
        case enum.Enum():
            return value.value
        case str() | bool() | int() | float():
            return value
        case dt.datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        case decimal.Decimal():
            return f"{value:f}"
        case frozenset():
            return sorted(value)
        case tuple() if not hasattr(value, "_fields"):
            if where in _TOGETHER:
                return dict(zip(_TOGETHER[where], value, strict=True))
            if where in _PAIRS:
                return [dict(zip(_PAIRS[where], (_value(part, "") for part in pair), strict=True)) for pair in value]
            return [_value(each, "") for each in value]
    return dict(entry for name in _fields(value) for entry in _entries(value, name, getattr(value, name)))


def _is_amount(kind: type, name: str) -> bool:
    """Return whether a field is an amount of the resource of its cause, or of storage in bytes."""
    return f"{kind.__name__}.{name}" in _BYTES or (name in _AMOUNTS and "resource" in _annotations(kind))


def _annotations(kind: type) -> Mapping[str, object]:
    found: Mapping[str, object] = getattr(kind, "__annotations__", {})
    return found


def _fields(value: Any) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass, a struct or a named tuple."""
    if dataclasses.is_dataclass(value):
        return tuple(each.name for each in dataclasses.fields(value))
    names: tuple[str, ...] = getattr(value, "__struct_fields__", None) or value._fields
    return names


@functools.cache
def cause_types() -> tuple[type, ...]:
    """Return the classes of all causes, and of the causes in causes."""
    unions = (Cause, NodeCause, GreedyLimit, TreeViolation, BudgetConflict)
    others: tuple[type, ...] = (
        AttemptFailed,
        DomainCause,
        DroppedFilter,
        PodRule,
        ChildrenInDomain,
        StorageShortage,
        GroupViolations,
        EvictionRefused,
    )
    return (*dict.fromkeys((*(kind for union in unions for kind in typing.get_args(union)), *others, DevicesExchanged, SharedClaims)),)


@functools.cache
def json_key(name: str, *, of_cause: bool = True) -> str:
    """Return the key in JSON of a field of a cause, or of another value."""
    if of_cause and name in _KEYS:
        return _KEYS[name]
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _word_of(kind: type) -> str:
    return _WORDS.get(kind, kind.__name__)
