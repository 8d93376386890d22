"""Operators, and functions that do not depend on one type (cel-go 0.29, ``common/stdlib``)."""

from __future__ import annotations

import math
from collections.abc import Callable

from scheduler_core.cel.values import (
    MIN_INT,
    Duration,
    Fault,
    Growing,
    GrowingMap,
    Map,
    Timestamp,
    TypeValue,
    UInt,
    Value,
    checked_int,
    checked_uint,
    compare,
    equal,
    limited,
    no_overload,
    size,
    type_name,
)

_SECOND = 10**9
_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799


def duration(nanoseconds: int) -> Duration:
    """Return a duration; Fault if it does not fit in 64 bits."""
    if not MIN_INT <= nanoseconds < 2**63:
        raise Fault("duration overflow")
    return Duration(nanoseconds)


def timestamp(nanoseconds: int) -> Timestamp:
    """Return a timestamp; Fault if it is not in the years 1 to 9999."""
    if not _FIRST_SECOND <= nanoseconds // _SECOND <= _LAST_SECOND:
        raise Fault("timestamp overflow")
    return Timestamp(nanoseconds)


def _integer(left: Value, right: Value, result: Callable[[int, int], int]) -> Value:
    """Return the result of an operation on two integers of one type."""
    if type(left) is int and type(right) is int:
        return checked_int(result(left, right))
    if type(left) is UInt and type(right) is UInt:
        return checked_uint(result(int(left), int(right)))
    raise no_overload()


def _add(left: Value, right: Value) -> Value:
    kind = type(left)
    if isinstance(left, list) and isinstance(right, list):
        limited(len(left) + len(right))
        if kind is Growing:
            left.extend(right)
            return left
        return [*left, *right]
    if kind in {Timestamp, Duration}:
        return _add_time(left, right)
    if kind is not type(right):
        raise no_overload()
    if kind in {str, bytes}:
        limited(len(left) + len(right))
        return left + right
    if kind is float:
        return left + right
    return _integer(left, right, int.__add__)


def _add_time(left: Value, right: Value) -> Value:
    if type(left) is Duration and type(right) is Duration:
        return duration(left.nanoseconds + right.nanoseconds)
    if {type(left), type(right)} == {Timestamp, Duration}:
        return timestamp(left.nanoseconds + right.nanoseconds)
    raise no_overload()


def _subtract(left: Value, right: Value) -> Value:
    match left, right:
        case float(), float():
            return left - right
        case Timestamp(), Duration():
            return timestamp(left.nanoseconds - right.nanoseconds)
        case (Timestamp(), Timestamp()) | (Duration(), Duration()):
            return duration(left.nanoseconds - right.nanoseconds)
    return _integer(left, right, int.__sub__)


def _multiply(left: Value, right: Value) -> Value:
    if type(left) is float and type(right) is float:
        return left * right
    return _integer(left, right, int.__mul__)


def _divide(left: Value, right: Value) -> Value:
    if type(left) is float and type(right) is float:
        if right:
            return left / right
        return math.nan if not left or left != left else math.copysign(math.inf, left) * math.copysign(1, right)  # noqa: PLR0124
    if type(left) in {int, UInt} and type(right) is type(left) and not right:
        raise Fault("division by zero")
    return _integer(left, right, _quotient)


def _modulo(left: Value, right: Value) -> Value:
    if type(left) in {int, UInt} and type(right) is type(left) and not right:
        raise Fault("modulus by zero")
    if type(left) is int and left == MIN_INT and type(right) is int and right == -1:
        raise Fault("integer overflow")
    return _integer(left, right, lambda first, second: first - second * _quotient(first, second))


def _quotient(left: int, right: int) -> int:
    """Return the quotient, rounded toward zero."""
    result = abs(left) // abs(right)
    return result if (left < 0) == (right < 0) else -result


def _negate(value: Value) -> Value:
    if type(value) is int:
        return checked_int(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return duration(-value.nanoseconds)
    raise no_overload()


def _not(value: Value) -> Value:
    if type(value) is bool:
        return not value
    raise no_overload()


def contains(container: Value, element: Value) -> bool:
    """Return whether a list has an equal element, or a map the key."""
    if isinstance(container, Map):
        return container.find(element)[1]
    if not isinstance(container, list):
        raise no_overload()
    for each in container:
        try:
            if equal(element, each):
                return True
        except Fault:
            continue
    return False


def _differs(left: Value, right: Value) -> bool:
    """Return whether two values are not equal: those of different types of Kubernetes are not, while ``==`` is an error."""
    try:
        return not equal(left, right)
    except Fault:
        return True


def _size(value: Value) -> int:
    length = size(value)
    if length is None:
        raise Fault("no such overload: size")
    return length


def _insert(target: Value, *rest: Value) -> Value:
    """Add one entry, or all entries of a map, to the map that a macro builds."""
    if not isinstance(target, Map):
        raise no_overload()
    if len(rest) == 1 and not isinstance(rest[0], Map):
        raise Fault(f"no such overload: cel.@mapInsert(map, {type_name(rest[0])})")
    result = target
    if type(target) is not GrowingMap:
        result = GrowingMap()
        result.entries = dict(target.entries)
    for key, value in [rest] if len(rest) == 2 else list(rest[0].entries.values()):
        if result.find(key)[1]:
            raise Fault(f"insert failed: key {key} already exists")
        result.set_entry(key, value)
    return result


def _type(value: Value) -> TypeValue:
    return TypeValue(type_name(value))


OPERATORS: dict[str, Callable[..., Value]] = {
    "!_": _not,
    "@not_strictly_false": lambda value: value if type(value) is bool else True,
    "_==_": equal,
    "_!=_": _differs,
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _modulo,
    "-_": _negate,
    "_<_": lambda left, right: compare(left, right) < 0,
    "_<=_": lambda left, right: compare(left, right) <= 0,
    "_>_": lambda left, right: compare(left, right) > 0,
    "_>=_": lambda left, right: compare(left, right) >= 0,
    "@in": lambda element, container: contains(container, element),
    "size": _size,
    "type": _type,
    "dyn": lambda value: value,
    "cel.@mapInsert": _insert,
}
"""Implementations by the name of the function: they test the types of their operands."""
