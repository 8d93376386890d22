"""Values of expressions, with CEL's equality and order (cel-go 0.29, ``common/types``).

Booleans, integers, doubles, strings, bytes, null and lists are those of Python; the other types are classes.  An error is a value, as in
cel-go: ``||``, ``&&`` and the macros can discard it, and its cost counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from kubeapi.base_structs import Record

Value = Any
"""A value of an expression, or an Err."""

LARGEST = 4_000_000
"""Largest number of characters or elements of a value; upstream has no such limit."""
MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1


class Fault(Exception):
    """An operation that has no result; the caller turns it into an Err."""


class PanicError(Exception):
    """The evaluation ends, as Go panics; nothing discards this error."""


class Err(Record, frozen=True):
    """The error that a step results in."""

    message: str


class UInt(int):
    """Unsigned 64-bit integer."""

    __slots__ = ()


class TypeValue(Record, frozen=True):
    """A type as a value."""

    name: str


class Timestamp(Record, frozen=True):
    """Nanoseconds since the epoch."""

    nanoseconds: int


class Duration(Record, frozen=True):
    """Nanoseconds."""

    nanoseconds: int


class OptionalValue(Record, frozen=True):
    """``optional.of(value)``, or ``optional.none()`` if not *present*."""

    present: bool
    value: Value = None


NONE = OptionalValue(present=False)


class Extension:
    """A value of one of Kubernetes' types."""

    __slots__ = ()
    TYPE = ""
    UNHASHABLE = ""
    """Go's name of a type whose values it cannot look up in a set of constants."""
    computed = False
    """Whether Go cannot compare the value as the right operand of an equality."""


class Growing(list[Value]):
    """List that a macro builds; adding to it changes it, so that a loop is not quadratic."""

    __slots__ = ()


class Map:
    """Map; with a *default*, as ``device.attributes`` has, selecting an unknown key returns it."""

    __slots__ = ("default", "entries")

    def __init__(self, entries: dict[Value, Value] | None = None, default: Map | None = None) -> None:
        self.entries: dict[Value, tuple[Value, Value]] = {}
        self.default = default
        for key, value in (entries or {}).items():
            self.entries[hashed(key)] = (key, value)

    def set_entry(self, key: Value, value: Value) -> None:
        """Set the value of *key*; Fault if it cannot be a key."""
        if not isinstance(key, (bool, int, str)):
            raise Fault(f"unsupported key type: {type_name(key)}")
        self.entries[hashed(key)] = (key, value)

    def find(self, key: Value) -> tuple[Value, bool]:
        """Return the value of *key* without the default, and whether there is one."""
        entry = self.entries.get(hashed(key)) if isinstance(key, (bool, int, float, str)) else None
        return (None, False) if entry is None else (entry[1], True)

    def keys(self) -> Iterator[Value]:
        """Return the keys."""
        return (key for key, _ in self.entries.values())


class GrowingMap(Map):
    """Map that a macro builds."""

    __slots__ = ()


def hashed(key: Value) -> Value:
    """Return the key under which a map stores *key*: equal numbers of different types are one key, and a bool is no number."""
    return ("bool", key) if type(key) is bool else key


_NAMES = {
    bool: "bool", int: "int", UInt: "uint", float: "double", str: "string", bytes: "bytes", type(None): "null_type",
    list: "list", Growing: "list", Map: "map", GrowingMap: "map", TypeValue: "type", OptionalValue: "optional_type",
    Timestamp: "google.protobuf.Timestamp", Duration: "google.protobuf.Duration",
}  # fmt: skip
NUMBERS = (int, UInt, float)
_ORDERED = frozenset({bool, str, bytes, Timestamp, Duration})


def type_name(value: Value) -> str:
    """Return the name of the type of *value*."""
    return value.TYPE if isinstance(value, Extension) else _NAMES.get(type(value), "error")


def no_overload(value: Value = None) -> Fault:  # noqa: ARG001
    """Return the error for an operand of a wrong type."""
    return Fault("no such overload")


def equal(left: Value, right: Value) -> bool:
    """Return whether two values are equal: numbers of all types by value, other types never.

    Raises:
        Fault: *left* is a quantity, version or other type of Kubernetes, and *right* has another type, or is a computed quantity.
    """
    kind = type(left)
    if left is None or right is None:
        return left is right
    if kind in NUMBERS:
        return type(right) in NUMBERS and compare_numbers(left, right) == 0
    if isinstance(left, Extension) and (type(right) is not kind or right.computed):
        raise no_overload()
    if isinstance(left, (list, Map, OptionalValue)):
        return _equal_containers(left, right)
    return kind is type(right) and bool(left == right)


def _equal_containers(left: Value, right: Value) -> bool:
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(_not_unequal, left, right))
    if isinstance(left, Map):
        return isinstance(right, Map) and _equal_maps(left, right)
    if type(right) is not OptionalValue or left.present != right.present:
        return False
    return not left.present or equal(left.value, right.value)


def _not_unequal(left: Value, right: Value) -> bool:
    """Return whether two elements are equal; as upstream, elements that cannot be compared do not make their lists unequal."""
    try:
        return equal(left, right)
    except Fault:
        return True


def _equal_maps(left: Map, right: Map) -> bool:
    if len(left.entries) != len(right.entries):
        return False
    for key, value in left.entries.values():
        other, found = right.find(key)
        if not found or not _not_unequal(value, other):
            return False
    return True


def compare_numbers(left: float, right: float) -> int | None:
    """Return -1, 0 or 1 by value; None if one is not a number."""
    if left != left or right != right:  # noqa: PLR0124 - NaN
        return None
    # cel-go compares an integer with a double as doubles, inside the range of the integers.
    if type(left) is float or type(right) is float:
        left, right = _double(left), _double(right)
    return (left > right) - (left < right)


def _double(value: float) -> float:
    return value if type(value) is float else float(value)


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1: strings compare by code point, which is the order of their UTF-8 bytes.

    Raises:
        Fault: the two have no order.
    """
    kind = type(left)
    if kind in NUMBERS and type(right) in NUMBERS:
        result = compare_numbers(left, right)
        if result is None:
            raise Fault("NaN values cannot be ordered")
        return result
    if kind is not type(right) or kind not in _ORDERED:
        raise no_overload()
    first, second = (left.nanoseconds, right.nanoseconds) if kind in {Timestamp, Duration} else (left, right)
    return int(first > second) - int(first < second)


def is_ordered(value: Value) -> bool:
    """Return whether values of the type of *value* have an order."""
    return type(value) in NUMBERS or type(value) in _ORDERED


def size(value: Value) -> int | None:
    """Return the number of characters, bytes or elements; None if *value* has no size."""
    if isinstance(value, (str, bytes, list)):
        return len(value)
    if isinstance(value, Map):
        return len(value.entries)
    length = getattr(value, "size", None) if isinstance(value, Extension) else None
    return length if isinstance(length, int) else None


def limited(length: int) -> None:
    """Raise Fault if a value of *length* characters or elements is too large."""
    if length > LARGEST:
        raise Fault(f"value is larger than {LARGEST} characters or elements")


def checked_int(value: int) -> int:
    """Return *value* if it is a signed 64-bit integer; Fault otherwise."""
    if MIN_INT <= value <= MAX_INT:
        return value
    raise Fault("integer overflow")


def checked_uint(value: int) -> UInt:
    """Return *value* if it is an unsigned 64-bit integer; Fault otherwise."""
    if 0 <= value <= MAX_UINT:
        return UInt(value)
    raise Fault("unsigned integer overflow")


def is_integral(value: float) -> bool:
    """Return whether a double has no fraction."""
    return math.isfinite(value) and value == math.floor(value)
