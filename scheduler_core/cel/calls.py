"""Dispatch of calls to the implementations of their overloads, by the types of the arguments."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.cel import conversions, formats, lists, network, quantities, regexes, strings, text_format, times, urls, versions
from scheduler_core.cel.declarations import functions
from scheduler_core.cel.operators import OPERATORS
from scheduler_core.cel.static_types import Type
from scheduler_core.cel.values import Err, Fault, Map, OptionalValue, Value, type_name

IMPLEMENTATIONS: dict[str, Callable[..., Value]] = {
    overload: implementation
    for module in (conversions, formats, lists, network, quantities, regexes, strings, text_format, times, urls, versions)
    for overload, implementation in module.OVERLOADS.items()
}
"""Implementations by overload."""


def bind(name: str, overload: str) -> Callable[[list[Value]], Value]:
    """Return the implementation of function *name*: it returns an Err if no overload takes the arguments.

    *overload* is its only overload that can be called, or empty if several can.
    """
    operator = OPERATORS.get(name)
    if operator is not None:
        return lambda arguments: _value(operator, arguments)
    candidates = [each for each in functions()[name] if overload in {"", each.id}]

    def call(arguments: list[Value]) -> Value:
        for each in candidates:
            if len(each.params) == len(arguments) and all(map(fits, each.params, arguments)):
                return _value(IMPLEMENTATIONS[each.id], arguments)
        return Err(f"no such overload: {name}({', '.join(map(type_name, arguments))})")

    return call


def _value(implementation: Callable[..., Value], arguments: list[Value]) -> Value:
    try:
        return implementation(*arguments)
    except Fault as error:
        return Err(str(error))


def fits(declared: Type, value: Value) -> bool:
    """Return whether *value* can be an argument of the *declared* type; of a list or map, the first element is tested."""
    match declared.kind:
        case "dyn" | "param":
            return True
        case "list":
            return isinstance(value, list) and (not value or fits(declared.params[0], value[0]))
        case "map":
            if not isinstance(value, Map):
                return False
            first = next(iter(value.entries.values()), None)
            return first is None or all(map(fits, declared.params, first))
        case "opaque" if declared.name == "optional_type":
            return type(value) is OptionalValue
    return type_name(value) == declared.name
