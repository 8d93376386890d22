"""Objects with one changed field: deleted, emptied, misspelt, or with another value."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Route = tuple[str | int, ...]
_TEXTS = ("", "A_b!", "UPPER", "a" * 300, "-x", "a/b/c")
_NUMBERS = (-1, 0, 101, 70000, 2**31)
_KEPT = frozenset({"apiVersion", "kind", "namespace"})


def mutants(base: Json) -> Iterator[tuple[str, Json]]:
    """Yield changed copies of an object, each with the description of its change."""
    for route, value in _walk(base, ()):
        if route and route[0] not in _KEPT and route[-1] != "namespace" and len(route) > 1:
            where = ".".join(map(str, route))
            yield f"{where} deleted", _with(base, route)
            for label, changed in _changes(value):
                yield f"{where} {label}", _with(base, route, changed)


def _walk(value: Any, route: Route) -> Iterator[tuple[Route, Any]]:
    yield route, value
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _walk(each, (*route, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _walk(each, (*route, index))


def _changes(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str):
        yield from ((f"= {each[:9]!r}", each) for each in _TEXTS)
        yield "= 3", 3
    elif isinstance(value, bool):
        yield "= 'yes'", "yes"
    elif isinstance(value, int):
        yield from ((f"= {each!r}", each) for each in (*_NUMBERS, "3"))
    elif isinstance(value, list):
        yield from (("= []", []), ("repeated", [*value, copy.deepcopy(value[0])]), ("= {}", {}), ("= [null]", [None]))
    elif value:
        (first, inner), *rest = value.items()
        yield from (("= {}", {}), ("= []", []), ("with an unknown field", {**value, "zzz": 1}))
        yield "with a misspelt field", {f"{first}x": inner, **dict(rest)}


def _with(base: Json, route: Route, *value: Any) -> Json:
    """Return a copy with another value at *route*; without it if there is no value."""
    changed = copy.deepcopy(base)
    parent: Any = changed
    for part in route[:-1]:
        parent = parent[part]
    if value:
        parent[route[-1]] = value[0]
    else:
        del parent[route[-1]]
    return changed
