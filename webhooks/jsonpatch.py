"""RFC 6902: the operations that lead from one JSON value to another.

Objects are compared field by field, so what is not touched is not mentioned; lists that differ are replaced whole,
except that items appended at the end are added one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
