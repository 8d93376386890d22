"""Validation of JSON against the schemas of the kinds: field errors with the ids of the ``schema-*`` rules.

The JSON Schemas are in ``schemas/`` under the names of ``versions.served.schema_of``.  They describe only the shape.  A name with a
colon is that of a kind in a file of several kinds.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import pkgutil
import re
from collections.abc import Iterator, Sequence
from typing import Any

from kubeapi import decode
from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field, field_synonyms, json_schema
from validators.field import FieldError, Fix, Repair
from validators.json_schema import Failure, Validator

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_QUANTITY = "must be a quantity, such as 2, 500m or 1Gi"
_FREE_MAPS = frozenset({"labels", "annotations"})
_TYPE_NAMES = {
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}


def check(name: str, content: Json) -> list[FieldError]:
    """Return all errors of *content* under the schema *name*, in order of path.  Null values must be removed before."""
    schema, validator = _validator(name)
    errors = [error for failure in validator.failures(content) for error in _errors(schema, failure)]
    return sorted(errors, key=lambda error: (str(error.path), error.origin))


def check_with_nulls(name: str, content: Json) -> tuple[Json, list[FieldError]]:
    """Return *content*, without null values if it has errors, and its errors as ``check``.

    With null values, content is only valid if the schema says nothing about these properties.
    """
    if not _validator(name)[1].failures(content):
        return content, []
    content = decode.plain(content)
    return content, check(name, content)


def document(name: str) -> Json:
    """Return the schema *name*, which must not be changed."""
    return _validator(name)[0]


def without_paths(content: Json, paths: Sequence[FieldPath]) -> Json:
    """Return *content* without the values at *paths*, so that the rest can be validated; list items become empty objects."""
    if not paths:
        return content
    copy = json.loads(json.dumps(content))
    for path in sorted(paths, key=lambda each: len(each.parts)):
        _remove(copy, path.parts)
    return copy


def _remove(value: Json, parts: tuple[Any, ...]) -> None:
    for part in parts[:-1]:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return  # already removed with a parent
    if isinstance(value, dict):
        value.pop(parts[-1], None)
    elif isinstance(value, list) and isinstance(parts[-1], int) and parts[-1] < len(value):
        value[parts[-1]] = {}


@functools.cache
def stored(name: str) -> Json:
    """Return the file of a schema."""
    return json.loads(pkgutil.get_data("validators", f"schemas/{name}.json") or b"")


@functools.cache
def _validator(name: str) -> tuple[Json, Validator]:
    file, _, kind = name.partition(":")
    schema = stored(file)
    if kind:
        schema = {**schema["kinds"][kind], "$defs": schema["$defs"]}
    return schema, Validator(schema)


def _errors(schema: Json, failure: Failure) -> Iterator[FieldError]:
    path, name, value, shape = _path(failure.path), failure.keyword, failure.value, failure.schema
    if name == "required":
        for missing in shape["required"]:
            if missing not in value:
                yield _with_rule("schema-required", field.required(path / missing, "this field must be given"))
    elif name == "additionalProperties":
        known = sorted(shape["properties"])
        beyond = sorted(value.keys() - shape["properties"].keys())
        for unknown in beyond:
            inner = field_synonyms.moved_out(unknown, value, known)
            similar = inner or field_synonyms.other_names(unknown, shape, schema)
            similar = similar or next(iter(difflib.get_close_matches(unknown, known, n=1)), "")
            detail = _unknown_field(unknown, similar, is_inside=bool(inner))
            error = _with_rule("schema-unknown-field", field.invalid_struct(path / unknown, detail))
            yield dataclasses.replace(error, fix=_renamed(unknown, known, value, beyond), suggestion=similar)
    elif name == "enum":
        yield _with_rule("schema-enum", field.not_supported(path, value, shape["enum"]))
    elif name in {"minimum", "maximum"}:
        side, more = ("at most", "more") if name == "maximum" else ("at least", "less")
        detail = f"must be {side} {shape[name]}: {more} does not fit into this field's type"
        yield _with_rule("schema-limit", field.invalid(path, value, detail))
    elif name == "format":
        yield _with_rule("schema-format", field.invalid(path, value, _QUANTITY))
    else:
        types = json_schema.types(shape)
        error = field.type_invalid(path, value, f"must be {' or '.join(_TYPE_NAMES[each] for each in types)}")
        yield dataclasses.replace(_with_rule("schema-type", error), fix=_converted(value, types))


def _with_rule(rule: str, error: FieldError) -> FieldError:
    return dataclasses.replace(error, origin=rule)


def _path(instance_path: Sequence[str | int]) -> FieldPath:
    parts: list[str | int] = []
    for part in instance_path:
        in_map = isinstance(part, str) and len(parts) > 1 and parts[-1] in _FREE_MAPS and parts[-2] == "metadata"
        parts.append(Key(part) if in_map else part)
    return FieldPath(*parts)


def _renamed(name: str, known: Sequence[str], value: Json, beyond: Sequence[str]) -> Fix | None:
    """Return the fix of a misspelt field; None if there is a field of the right name, or another one to be renamed to it."""
    fix = field.nearest(name, known, Repair.RENAME)
    if fix is None or fix.value in value:
        return None
    rivals = (field.nearest(each, known, Repair.RENAME) for each in beyond if each != name)
    return None if any(each is not None and each.value == fix.value for each in rivals) else fix


def _converted(value: Json, types: Sequence[str]) -> Fix | None:
    """Return the fix of a number that is written as a string, or of a string that is written as another scalar."""
    if "integer" in types and isinstance(value, str) and _INTEGER.fullmatch(value):
        return Fix(Repair.REPLACE, int(value), is_safe=True)
    return Fix(Repair.QUOTE, is_safe=True) if "string" in types and isinstance(value, bool | int | float) else None


def _unknown_field(name: str, similar: str, *, is_inside: bool) -> str:
    if is_inside:
        return f"unknown field {name!r}: the API server would drop it with what is in it; write its {similar!r} in place of it"
    return f"unknown field {name!r}" + (f"; did you mean {similar!r}?" if similar else ": the API server would drop it")
