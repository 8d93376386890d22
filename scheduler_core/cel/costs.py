"""Costs of calls, and the limit for an evaluation (cel-go 0.29, ``interpreter/runtimecost.go`` and ``ext``; Kubernetes 1.37.1, ``apiserver/pkg/cel/library/cost.go``)."""

from __future__ import annotations

import math
from collections.abc import Callable

from scheduler_core.cel.formats import Format
from scheduler_core.cel.values import Err, Extension, Map, OptionalValue, Value, size

COST_LIMIT = 1_000_000
"""Limit for the evaluation of one selector: ``CELSelectorExpressionMaxCost`` of resource.k8s.io."""
_STRING, _REGEX = 0.1, 0.25
_LIST = 10

_Arguments = list[Value]


class CostExceeded(Exception):
    """The evaluation costs more than the limit; nothing discards this error."""


class CostTracker:
    """Cost of one evaluation so far."""

    __slots__ = ("cost",)

    def __init__(self) -> None:
        self.cost = 0

    def charge(self, cost: int) -> None:
        """Add to the cost.

        Raises:
            CostExceeded: it exceeds the limit.
        """
        self.cost += cost
        if self.cost > COST_LIMIT:
            raise CostExceeded


def call_cost(name: str, overload: str, arguments: _Arguments, result: Value) -> int:
    """Return the cost of a call; *overload* is empty if the types of the arguments decide it at run time."""
    by_overload = _BY_OVERLOAD.get(overload)
    if by_overload is not None:
        return by_overload(arguments, result)
    by_name = _BY_NAME.get(name)
    if by_name is not None:
        return by_name(overload, arguments, result)
    standard = _STANDARD.get("_==_" if name in {"_==_", "_!=_"} else overload)
    return standard(arguments) if standard is not None else 1


def _size(value: Value) -> int:
    length = size(value)
    if length is None and type(value) is OptionalValue and value.present:
        return _size(value.value)
    return 1 if length is None else length


def _scan(value: Value, factor: float = _STRING) -> int:
    return math.ceil(_size(value) * factor)


def _regex(text: Value, pattern_size: int) -> int:
    return math.ceil((1.0 + _size(text)) * _STRING) * math.ceil(pattern_size * _REGEX)


def _traversal(value: Value) -> int:
    """Return the cost of visiting all elements of a value."""
    if isinstance(value, str):
        return int(len(value.encode()) * _STRING)
    if isinstance(value, bytes):
        return int(len(value) * _STRING)
    if isinstance(value, list):
        return sum(map(_traversal, value))
    if isinstance(value, Map):
        return sum(_traversal(key) + _traversal(each) for key, each in value.entries.values())
    return 1


def _validate(arguments: _Arguments) -> int:
    known = arguments[0]
    return _regex(arguments[1], known.regex_size) if isinstance(known, Format) else 1


def _contains(overload: str, arguments: _Arguments, *, network: bool) -> int:
    cost = _scan(arguments[0], 2 * _STRING) if not network else math.ceil((_size(arguments[0]) * 2) * _STRING) + _scan(arguments[0]) + 1
    return cost + (_scan(arguments[1]) if overload.endswith("_string") else 0)


def _least(arguments: _Arguments) -> int:
    return math.ceil(min(_size(arguments[0]), _size(arguments[1])) * _STRING)


def _equality(arguments: _Arguments) -> int:
    return 1 if isinstance(arguments[0], Extension) else _least(arguments)


def _allocated(elements: float) -> int:
    return int(elements) + 1 + _LIST


def _flatten(arguments: _Arguments, _: Value) -> int:
    depth = float(arguments[1]) if len(arguments) == 2 and isinstance(arguments[1], int) else 1.0
    return _allocated(_size(arguments[0]) * (depth if depth >= 0 else 1.0))


def _self_compare(values: Value) -> int:
    if not isinstance(values, list) or not values:
        return _allocated(0)
    factor = 2.0 + (_STRING if isinstance(values[0], (str, bytes)) else 0)
    return _allocated(len(values) ** 2 * factor)


def _sets(factor: int) -> Callable[[_Arguments, Value], int]:
    return lambda arguments, _: 1 + _size(arguments[0]) * _size(arguments[1]) * factor


def _by_scan(factor: float = _STRING) -> Callable[[str, _Arguments, Value], int]:
    return lambda _, arguments, __: _scan(arguments[0], factor)


def _one(_: str, __: _Arguments, ___: Value) -> int:
    return 1


_NAMED_ONE = (
    "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast",
    "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub",
    "major", "minor", "patch", "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery",
)  # fmt: skip
_SCANNED = (
    "url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver",
)  # fmt: skip
_TRAVERSED = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes")

_BY_NAME: dict[str, Callable[[str, _Arguments, Value], int]] = {
    **dict.fromkeys(_NAMED_ONE, _one),
    **dict.fromkeys(_SCANNED, _by_scan()),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _by_scan(2 * _STRING)),
    **dict.fromkeys(_TRAVERSED, lambda _, arguments, __: _traversal(arguments[0])),
    **dict.fromkeys(("find", "findAll"), lambda _, arguments, __: _regex(arguments[0], _size(arguments[1]))),
    "join": lambda _, __, result: 1 if type(result) is Err else _scan(result, 2 * _STRING),
    "ip": lambda overload, arguments, _: 1 if overload == "cidr_ip" else _scan(arguments[0]),
    "containsIP": lambda overload, arguments, _: _contains(overload, arguments, network=False),
    "containsCIDR": lambda overload, arguments, _: _contains(overload, arguments, network=True),
    "validate": lambda _, arguments, __: _validate(arguments),
    "_==_": lambda _, arguments, __: _equality(arguments),
}
_BY_OVERLOAD: dict[str, Callable[[_Arguments, Value], int]] = {
    **dict.fromkeys(("list_slice", "lists_range", "list_reverse"), lambda _, result: _allocated(_size(result))),
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flatten),
    "list_distinct": lambda arguments, _: _self_compare(arguments[0]),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
for _each in ("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes"):
    _BY_OVERLOAD[f"list_{_each}_sort"] = lambda arguments, _: _self_compare(arguments[0])
    _BY_OVERLOAD[f"list_{_each}_sortByAssociatedKeys"] = lambda arguments, _: _self_compare(arguments[1])

_STANDARD: dict[str, Callable[[_Arguments], int]] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string"), lambda arguments: _scan(arguments[1])),
    **dict.fromkeys(("string_to_bytes", "bytes_to_string", "strings_quote", "string_format"), lambda arguments: _scan(arguments[0])),
    "in_list": lambda arguments: _size(arguments[1]),
    **{f"{name}_{kind}": _least for name in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")},
    "_==_": _least,
    **dict.fromkeys(("add_string", "add_bytes"), lambda arguments: math.ceil((_size(arguments[0]) + _size(arguments[1])) * _STRING)),
    **dict.fromkeys(("matches", "matches_string"), lambda arguments: _regex(arguments[0], _size(arguments[1]))),
    "contains_string": lambda arguments: _scan(arguments[0]) * _scan(arguments[1]),
}
