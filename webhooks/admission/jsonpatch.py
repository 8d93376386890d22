"""JSON Patch (RFC 6902) from one JSON value to another.

Objects are compared field by field, so unchanged fields are not in the patch.  Lists that differ are replaced whole, except
that items appended at the end are added one by one.  A part that both values share is not compared, however large it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Json = Any
Operation = dict[str, Any]


def diff(old: Json, new: Json, pointer: str = "") -> Iterator[Operation]:
    """Yield the operations, in order of field, that turn *old* into *new*; none if they are equal."""
    if old is new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            path = f"{pointer}/{escape(name)}"
            if name not in new:
                yield {"op": "remove", "path": path}
            elif name not in old:
                yield {"op": "add", "path": path, "value": new[name]}
            else:
                yield from diff(old[name], new[name], path)
    elif isinstance(old, list) and isinstance(new, list) and len(new) > len(old) and _same(old, new[: len(old)]):
        for item in new[len(old) :]:
            yield {"op": "add", "path": f"{pointer}/-", "value": item}
    elif not _same(old, new):
        yield {"op": "replace", "path": pointer, "value": new}


def apply(value: Json, operations: Iterable[Operation]) -> Json:
    """Return *value* with *operations* applied, without changing *value*; only operations as ``diff`` yields are supported."""
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
        index = int(first)
        return [*value[:index], _applied(value[index], rest, operation), *value[index + 1 :]]
    if operation["op"] == "remove" and not rest:
        return {name: each for name, each in value.items() if name != first}
    return {**value, first: _applied(value.get(first), rest, operation)}


def escape(name: str) -> str:
    """Return a field name escaped as a reference token of a JSON Pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def _same(one: Json, other: Json) -> bool:
    """Return True if two JSON values are equal; unlike in Python, 1, 1.0 and true are three values."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)
