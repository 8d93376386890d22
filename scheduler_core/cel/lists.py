"""Functions of lists, sets and optional values (cel-go 0.29, ``ext``; Kubernetes 1.37.1, ``apiserver/pkg/cel/library/lists.go``)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from scheduler_core.cel.operators import OPERATORS, contains
from scheduler_core.cel.values import (
    NONE,
    Duration,
    Err,
    Extension,
    Fault,
    Map,
    OptionalValue,
    UInt,
    Value,
    compare,
    equal,
    is_ordered,
    limited,
    no_overload,
    type_name,
)

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZERO: dict[str, Value] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}
_LONGEST_RANGE = 1_000_000
_FULL = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}


def _same(left: Value, right: Value) -> bool:
    """Return whether two values are equal; values that cannot be compared are not."""
    try:
        return equal(left, right)
    except Fault:
        return False


def _order(left: Value, right: Value) -> int:
    """Return the order of two values; as upstream, 0 if they have none but have one among values of their own type."""
    if not is_ordered(right):
        raise no_overload()
    try:
        return compare(left, right)
    except Fault:
        return 0


def _is_sorted(values: list[Value]) -> bool:
    return all(_order(left, right) <= 0 for left, right in itertools.pairwise(values))


def _sum(kind: str) -> Callable[[list[Value]], Value]:
    def total(values: list[Value]) -> Value:
        return functools.reduce(OPERATORS["_+_"], values, _ZERO[kind])

    return total


def _extreme(name: str, sign: int) -> Callable[[list[Value]], Value]:
    def select(values: list[Value]) -> Value:
        if not values:
            raise Fault(f"{name} called on empty list")
        return functools.reduce(lambda best, each: each if _order(best, each) == sign else best, values)

    return select


def _reversed(values: list[Value]) -> list[Value]:
    return values[::-1]


def _index_of(values: list[Value], element: Value) -> int:
    return next((index for index, each in enumerate(values) if _same(each, element)), -1)


def _last_index_of(values: list[Value], element: Value) -> int:
    return next((index for index in range(len(values) - 1, -1, -1) if _same(values[index], element)), -1)


def _includes(target: Value, element: Value) -> bool:
    return any(_same(each, element) for each in target) if isinstance(target, list) else _same(target, element)


def _slice(values: list[Value], start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise Fault(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise Fault(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(values) < end:
        raise Fault(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise Fault("level must be non-negative")
    result: list[Value] = []
    for each in values:
        result.extend(_flatten(each, depth - 1) if isinstance(each, list) and depth else [each])
        limited(len(result))
    return result


def _sort(values: list[Value], keys: list[Value]) -> list[Value]:
    if len(values) != len(keys):
        raise Fault(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got "
            f"{len(values)} and {len(keys)} elements respectively"
        )
    if any(type_name(each) != type_name(keys[0]) for each in keys):
        raise Fault("list elements must have the same type")
    in_order = functools.cmp_to_key(compare)
    order = sorted(range(len(keys)), key=lambda index: in_order(keys[index]))
    return [values[index] for index in order]


def _sort_values(values: list[Value]) -> list[Value]:
    return _sort(values, values)


def _range(count: int) -> list[Value]:
    if count < 0:
        raise Fault(f"lists.range: size must be non-negative, got {count}")
    if count > _LONGEST_RANGE:
        raise Fault(f"lists.range: size {count} exceeds maximum allowed ({_LONGEST_RANGE})")
    return list(range(count))


def _distinct(values: list[Value]) -> list[Value]:
    result: list[Value] = []
    for each in values:
        if not any(_same(each, other) for other in result):
            result.append(each)
    return result


def _contains_all(values: list[Value], others: list[Value]) -> bool:
    return all(contains(values, each) for each in others)


def _present(value: Value) -> OptionalValue:
    return OptionalValue(present=True, value=value)


def _non_zero(value: Value) -> OptionalValue:
    if isinstance(value, (Map, OptionalValue)):
        zero = not (value.entries if isinstance(value, Map) else value.present)
    else:
        zero = not isinstance(value, Extension) and (value == Duration(0) or not value)
    return NONE if zero else _present(value)


def _optional_value(value: OptionalValue) -> Value:
    return value.value if value.present else Err("optional.none() dereference")


def _unwrap(values: list[Value]) -> list[Value]:
    return [each.value for each in values if each.present]


OVERLOADS: dict[str, Callable[..., Value]] = {
    **{f"list_{each}_is_sorted_bool": _is_sorted for each in _COMPARABLE},
    **{f"list_{each}_min_{each}": _extreme("min", 1) for each in _COMPARABLE},
    **{f"list_{each}_max_{each}": _extreme("max", -1) for each in _COMPARABLE},
    **{f"list_{each}_sum_{each}": _sum(each) for each in _ZERO},
    **{f"list_{_FULL.get(each, each)}_sort": _sort_values for each in _COMPARABLE},
    **{f"list_{_FULL.get(each, each)}_sortByAssociatedKeys": _sort for each in _COMPARABLE},
    "list_a_index_of_int": _index_of,
    "list_a_last_index_of_int": _last_index_of,
    "list_includes_dyn_dyn": _includes,
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reversed,
    "list_distinct": _distinct,
    "list_sets_contains_list": _contains_all,
    "list_sets_equivalent_list": lambda left, right: _contains_all(left, right) and _contains_all(right, left),
    "list_sets_intersects_list": lambda left, right: any(contains(right, each) for each in left),
    "list_first": lambda values: _present(values[0]) if values else NONE,
    "list_last": lambda values: _present(values[-1]) if values else NONE,
    "optional_of": _present,
    "optional_ofNonZeroValue": _non_zero,
    "optional_none": lambda: NONE,
    "optional_unwrap": _unwrap,
    "optional_unwrapOpt": _unwrap,
    "optional_value": _optional_value,
    "optional_hasValue": lambda value: value.present,
}
