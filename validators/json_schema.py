"""Failures of a JSON value under a JSON Schema of the dialect in which ``schemas/`` is written.

The dialect describes the shape of an object.  A schema is a reference to a definition (``$ref``), an object (``properties`` and
``required``, or ``additionalProperties`` with the schema of all values), a list (``items``) or a scalar (``enum``, ``minimum``,
``maximum``, ``format`` of quantities).  A library for all keywords would be a third of the installation and a tenth of the time in which
``muster lint`` starts.

Edge: msgspec, which accepts most values at once: a schema becomes one of its types.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, Union

import msgspec

from kubeapi import quantity
from kubeapi.decode import Json

Place = tuple[Any, ...]
"""Position of a value: the position of its parent and its key or index; empty for the whole value.  A path for each value would cost more
than its check."""

KEYWORDS = frozenset({"$ref", "type", "properties", "required", "additionalProperties", "items", "enum", "minimum", "maximum", "format"})
"""Keywords that a value can violate, of which a schema may have no others."""
_SEEN_BEFORE_TYPES = 8
"""Values of a schema after which its type of msgspec is defined: that takes as long as the check of some ten objects."""
_TYPES: dict[str, type] = {"string": str, "boolean": bool, "object": dict, "array": list}
_NUMBERS: dict[str, Any] = {"integer": int, "number": float}


class Failure(NamedTuple):
    """Value that violates a keyword of its schema.

    Attributes:
        keyword: the keyword; ``required`` and ``additionalProperties`` have one failure for all names.
        path: keys and indexes from the whole value.
        value: the value.
        schema: the part of the schema that has the keyword.

    """

    keyword: str
    path: tuple[str | int, ...]
    value: Json
    schema: Json


class Validator:
    """Schema of the dialect, for many values."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._seen = 0

    def failures(self, value: Json) -> list[Failure]:
        """Return all failures of *value*."""
        self._seen += 1
        if self._seen > _SEEN_BEFORE_TYPES:
            try:
                msgspec.convert(value, self._type)
            except (msgspec.ValidationError, RecursionError):
                pass  # which failures it has, and whether it has any, is found below
            else:
                return []
        return [*self._failures(self._schema, value, ())]

    @functools.cached_property
    def _type(self) -> Any:
        return accepted_type(self._schema)

    def _failures(self, schema: Json, value: Json, place: Place) -> Iterator[Failure]:
        while "$ref" in schema:
            schema = _definition(self._schema, schema["$ref"])
        for keyword, is_valid in _CHECKS.items():
            if keyword in schema and not is_valid(value, schema[keyword]):
                yield Failure(keyword, _path(place), value, schema)
        if isinstance(value, dict):
            yield from self._failures_of_fields(schema, value, place)
        elif isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                yield from self._failures(schema["items"], item, (place, index))

    def _failures_of_fields(self, schema: Json, value: Json, place: Place) -> Iterator[Failure]:
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        if others is False and not value.keys() <= fields.keys():
            yield Failure("additionalProperties", _path(place), value, schema)
        for name, inner in value.items():
            field = fields.get(name, others)
            if isinstance(field, dict):
                yield from self._failures(field, inner, (place, name))


def types(schema: Json) -> list[str]:
    """Return the names of the types that a schema allows, of which it has one or a list."""
    allowed = schema["type"]
    return [allowed] if isinstance(allowed, str) else allowed


def _definition(whole: Json, reference: str) -> Json:
    return whole["$defs"][reference.removeprefix("#/$defs/")]


def _path(place: Place) -> tuple[str | int, ...]:
    parts: list[str | int] = []
    while place:
        place, part = place
        parts.append(part)
    return tuple(reversed(parts))


def _is_of_type(value: Json, allowed: str | list[str]) -> bool:
    return _is_of(value, allowed) if isinstance(allowed, str) else any(_is_of(value, each) for each in allowed)


def _is_of(value: Json, name: str) -> bool:
    if name == "integer":
        return _is_number(value) and (isinstance(value, int) or value.is_integer())
    return _is_number(value) if name == "number" else isinstance(value, _TYPES[name])


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_CHECKS: dict[str, Callable[[Json, Any], bool]] = {
    "type": _is_of_type,
    "enum": lambda value, options: not isinstance(value, bool) and value in options,
    "minimum": lambda value, limit: not _is_number(value) or value >= limit,
    "maximum": lambda value, limit: not _is_number(value) or value <= limit,
    "format": lambda value, name: name != "quantity" or not isinstance(value, str) or quantity.is_quantity(value),
    "required": lambda value, names: not isinstance(value, dict) or all(name in value for name in names),
}
"""Keywords that a value violates alone, each with whether it is valid under what the keyword says."""


def accepted_type(schema: Json) -> Any:
    """Return a type of msgspec of which only values are that have no failure; it may lack some that have none."""
    made = _AcceptedTypes(schema)
    result = made.accepted(schema)
    for struct in made.structs:
        for name in made.recursive:
            setattr(struct, name, made.definitions[name])  # msgspec looks up the name in its class when it is first used
    return result


class _AcceptedTypes:
    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self.definitions: dict[str, Any] = {}
        self.recursive: set[str] = set()
        self.structs: list[type] = []

    def accepted(self, schema: Json) -> Any:
        if "$ref" in schema:
            return self._of_definition(schema["$ref"].rpartition("/")[2], schema["$ref"])
        if "enum" in schema:
            return Literal[tuple(schema["enum"])]
        return Union[tuple(self._of_type(each, schema) for each in types(schema))] if "type" in schema else Any  # noqa: UP007 - a sequence

    def _of_definition(self, name: str, reference: str) -> Any:
        if name not in self.definitions:
            self.definitions[name] = None
            self.definitions[name] = self.accepted(_definition(self._schema, reference))
        elif self.definitions[name] is None:
            self.recursive.add(name)
            return name
        return self.definitions[name]

    def _of_type(self, name: str, schema: Json) -> Any:
        if name == "object":
            return self._of_object(schema)
        if name == "array":
            return list[self.accepted(schema.get("items", {}))]  # type: ignore[misc]
        if name in _NUMBERS:
            return Annotated[_NUMBERS[name], msgspec.Meta(ge=schema.get("minimum"), le=schema.get("maximum"))]
        if name == "string" and schema.get("format") == "quantity":
            return Annotated[str, msgspec.Meta(pattern=rf"(?a)\A{quantity.PATTERN}\Z")]
        return _TYPES[name]

    def _of_object(self, schema: Json) -> Any:
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        if not fields and others is not False:
            return dict[str, self.accepted(others) if isinstance(others, dict) else Any]  # type: ignore[misc]
        required = schema.get("required", ())
        # Fields of the API need not be names of Python.  A default is not checked: a null is refused, an absent field is not.
        names = {f"field{number}": name for number, name in enumerate(fields)}
        columns = [(column, self.accepted(fields[name]), *(() if name in required else (None,))) for column, name in names.items()]
        struct = msgspec.defstruct(
            f"Shape{len(self.structs)}",
            columns,
            rename=names,
            kw_only=True,
            forbid_unknown_fields=others is False,
            gc=False,
        )
        self.structs.append(struct)
        return struct
