"""Examples of values, built from the types of their fields."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import itertools
import types
import typing
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kubeapi.base_structs import Record
from kubeapi.nodes import Taint

_PLAIN: Mapping[type, tuple[Any, ...]] = {
    str: ("x", ""),
    int: (1, 2, 0),
    bool: (True, False),
    float: (300.0,),
    Decimal: (Decimal(1),),
    dt.datetime: (dt.datetime(2026, 1, 1, tzinfo=dt.UTC),),
    type(None): (None,),
}
"""Examples of plain types, the most usual first."""
_COMBINATIONS = 4000
"""Maximum number of examples of one class."""


def members(union: Any) -> Iterator[type]:
    """Yield the classes of a closed union."""
    for each in typing.get_args(union):
        yield from members(each) if isinstance(each, types.UnionType) else (each,)


def examples(kind: type) -> Iterator[Any]:
    """Yield values of a class, or members of an enumeration: fields with few examples vary, nested values do not."""
    if issubclass(kind, enum.Enum):
        yield from kind
        return
    hints = typing.get_type_hints(kind)
    fields = {name: [*_values(hints[name], 0)] for name in field_names(kind)}
    for combination in itertools.islice(itertools.product(*fields.values()), _COMBINATIONS):
        yield kind(**dict(zip(fields, combination, strict=True)))


def field_names(kind: type) -> tuple[str, ...]:
    """Return the fields of a dataclass, of a named tuple or of an object of the API."""
    for names in ("_fields", "__struct_fields__"):
        if hasattr(kind, names):
            return tuple(getattr(kind, names))
    return tuple(each.name for each in dataclasses.fields(kind))


def types_within(kind: type) -> Iterator[type]:
    """Yield the types of a class and of its fields, at any depth."""
    known: set[type] = set()
    queue = [kind]
    while queue:
        each = queue.pop()
        if each in known:
            continue
        known.add(each)
        yield each
        if issubclass(each, Record) or dataclasses.is_dataclass(each) or hasattr(each, "_fields"):
            queue += (part for hint in typing.get_type_hints(each).values() for part in _classes(hint))


def _classes(hint: Any) -> Iterator[type]:
    """Yield the classes that an annotation names."""
    if arguments := typing.get_args(hint):
        yield from (part for each in arguments for part in _classes(each))
    elif isinstance(hint, type):
        yield hint


def _values(hint: Any, depth: int) -> Iterator[Any]:
    """Yield examples for a field: all of a plain type, none and one item of a tuple, one value of each class of a union."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        yield from _PLAIN[hint] if not depth else _PLAIN[hint][:1]
    elif isinstance(hint, types.UnionType) or origin is typing.Union:
        for each in arguments:
            yield from _values(each, depth + 1)
    elif origin is tuple:
        yield from _tuples(arguments, depth)
    elif origin is frozenset:
        yield frozenset(_values(arguments[0], depth + 1))
    elif issubclass(hint, enum.Enum):
        yield from hint if not depth else [next(iter(hint))]
    elif hint is Taint:
        yield Taint("key", "NoSchedule", "value")
    else:
        hints = typing.get_type_hints(hint)
        yield hint(**{name: next(_values(hints[name], depth + 1)) for name in field_names(hint)})


def _tuples(arguments: tuple[Any, ...], depth: int) -> Iterator[tuple[Any, ...]]:
    if arguments[-1] is not Ellipsis:
        yield tuple(next(_values(each, depth + 1)) for each in arguments)
        return
    item = next(_values(arguments[0], depth + 1), None)
    if item is not None:
        # Paths of children are longer than that of their parent.
        yield (item,) * (4 if depth else 1)
        yield (item,) * 3
