"""JSON Schemas of causes: one for each word of ``reason``, and one for each kind of object in a cause."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import inspect
import re
import types
import typing
from collections.abc import Iterable
from typing import Any

from muster.render.cause_keys import CAUSES, INLINED, MARKERS, MESSAGE, CauseField, fields, kinds_by_word
from scheduler_core.causes.plugin_failures import PluginFailure
from scheduler_core.model.names import Name

Schema = dict[str, object]
PLUGIN_FAILURES = frozenset(typing.get_args(PluginFailure))

_CAUSE: Schema = {"$ref": "#/$defs/cause"}
_TYPES: dict[object, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    **{each: {"type": "string"} for each in (str, Name, decimal.Decimal)},
    dt.datetime: {"type": "string", "format": "date-time"},
}
_ATTRIBUTES = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
"""Attributes of a docstring."""


def definitions() -> dict[str, dict[str, Any]]:
    """Return the schemas for ``$defs``: ``cause``, those of the words, and those of the objects in causes by their classes.

    Causes below a cause are in the schema ``cause`` only, so that a validator need not compare them with each word.
    """
    found: dict[str, Schema] = {}
    words = kinds_by_word()
    known = {word: _of_word(word, kinds, found) for word, kinds in words.items()}
    below: Schema = {"type": "array", "items": _CAUSE}
    properties = {"reason": {"enum": [*words]}, CAUSES: below}
    cause = {"type": "object", "required": ["reason"], "properties": properties, "oneOf": [{"$ref": f"#/$defs/{word}"} for word in words]}
    return {"cause": cause, **known, **dict(sorted(found.items()))}


def _of_word(word: str, kinds: Iterable[type], found: dict[str, Schema]) -> Schema:
    """Return the schema of causes with *word*; keys are required if all *kinds* have them."""
    schemas = sorted((_object(kind, found) for kind in kinds), key=lambda each: -len(each["properties"]))
    properties: Schema = {"reason": {"const": word}}
    for schema in schemas:
        properties |= schema["properties"]
    required = [key for key in properties if key == "reason" or all(key in schema["required"] for schema in schemas)]
    return {**schemas[0], "required": required, "properties": properties}


def _object(kind: type, found: dict[str, Schema]) -> dict[str, Any]:
    """Return the schema of an object with the fields of *kind*; the schemas of objects in it are added to *found*."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    about = _about(kind)
    for field in fields(kind):
        own, needed = _keys(field, found)
        described = {"description": about[field.name]} if field.name in about else {}
        properties |= {key: {**schema, **described} if key == field.key else schema for key, schema in own.items()}
        required += needed if field.required else ()
    whole = {"description": about[""]} if about[""] else {}
    return {"type": "object", **whole, "required": required, "properties": properties}


def _about(kind: type) -> dict[str, str]:
    """Return the descriptions in the docstring of *kind*: its first paragraph by an empty name, and those of fields."""
    if kind in MARKERS:
        return {"": ""}
    keys = {each.name: CAUSES if each.holds_causes else each.key for each in fields(kind)}
    first, _, rest = re.sub(r"\*(\w+)\*", lambda named: f"`{keys[named[1]]}`", inspect.cleandoc(kind.__doc__ or "")).partition("\n\n")
    return {"": first, **{name: " ".join(text.split()) for name, text in _ATTRIBUTES.findall(rest)}}


def _keys(field: CauseField, found: dict[str, Schema]) -> tuple[dict[str, Schema], list[str]]:
    """Return the schemas of the keys of a field, and those that are present whenever it has a value."""
    if field.holds_causes:
        return {CAUSES: {"type": "array"}}, [CAUSES] if all(typing.get_origin(each) is not tuple for each in _members(field.type)) else []
    members = [each for each in _members(field.type) if each in INLINED]
    parts = [_object(each, found) for each in members]
    properties = {key: schema for part in parts for key, schema in part["properties"].items()}
    if len(members) == len(_members(field.type)):
        return properties, parts[0]["required"]
    if PLUGIN_FAILURES.issuperset(_members(field.type)):
        properties[MESSAGE] = {"type": "string"}
    plain = {"type": "string"} if field.unit or members or field.name == "path" else _of_type(field.type, found)
    return {field.key: plain, **properties}, [field.key, *(each for each in properties if each == MESSAGE)]


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type itself."""
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)


def _of_type(hint: Any, found: dict[str, Schema]) -> Schema:
    """Return the schema of a value that is no cause."""
    # Fields of objects of the API have the marks that redaction reads.
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    members, arguments = _members(hint), typing.get_args(hint)
    if len(members) > 1:
        return {"anyOf": [_of_type(each, found) for each in members]}
    if typing.get_origin(hint) in (tuple, frozenset):
        item = arguments[0]
        if typing.get_origin(item) is tuple:
            return {"type": "object", "additionalProperties": _of_type(typing.get_args(item)[1], found)}
        return {"type": "array", "items": _of_type(item, found)}
    if hint in _TYPES:
        return _TYPES[hint]
    if issubclass(hint, enum.Enum):
        return {"enum": [each.value for each in hint]}
    if hint.__name__ not in found:
        found[hint.__name__] = {}
        found[hint.__name__] = _object(hint, found)
    return {"$ref": f"#/$defs/{hint.__name__}"}
