"""RFC 6902: the operations that lead from one JSON value to another.

Objects are compared field by field, so what is not touched is not mentioned; lists that differ are replaced whole,
except that items appended at the end are added one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Json = Any
Operation = dict[str, Any]


def diff(old: Json, new: Json, pointer: str = "") -> Iterator[Operation]:
    """Operations, in order of field, that turn *old* into *new*.  None where they are equal."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            here = f"{pointer}/{escape(name)}"
            if name not in new:
                yield {"op": "remove", "path": here}
            elif name not in old:
                yield {"op": "add", "path": here, "value": new[name]}
            else:
                yield from diff(old[name], new[name], here)
    elif isinstance(old, list) and isinstance(new, list) and len(new) > len(old) and _same(old, new[: len(old)]):
        for item in new[len(old) :]:
            yield {"op": "add", "path": f"{pointer}/-", "value": item}
    elif not _same(old, new):
        yield {"op": "replace", "path": pointer, "value": new}


def apply(value: Json, operations: Iterable[Operation]) -> Json:
    """*value* after *operations*, which must be of the kinds that ``diff`` makes; *value* itself is not changed."""
    for operation in operations:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        value = _applied(value, parts, operation)
    return value


def _applied(value: Json, parts: list[str], operation: Operation) -> Json:
    if not parts:
        return operation["value"]
    first, rest = parts[0], parts[1:]
    if isinstance(value, list):
        if first == "-":
            return [*value, operation["value"]]
        place = int(first)
        return [*value[:place], _applied(value[place], rest, operation), *value[place + 1 :]]
    if operation["op"] == "remove" and not rest:
        return {name: each for name, each in value.items() if name != first}
    return {**value, first: _applied(value.get(first), rest, operation)}


def escape(name: str) -> str:
    """A field name as a part of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def _same(one: Json, other: Json) -> bool:
    """Equality of JSON: 1, 1.0 and true are three values, whatever Python thinks."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)
