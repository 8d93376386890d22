"""Comparisons with literals that an expression consists of, so that reasons can name them."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from kubeapi.base_structs import replaced
from scheduler_core.cel.expressions import Call, ListLiteral, Literal, Node, Select, children
from scheduler_core.cel.reads import path_of
from scheduler_core.model.device_comparisons import ComparedPart, Comparison, DeviceComparison, LiteralKind, SelectorLiteral

_SIGNS = {
    Comparison.EQUAL: operator.eq,
    Comparison.UNEQUAL: operator.ne,
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.GREATER: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}
_ORDERS = (-1, 0, 1)
"""Results of ``compareTo``."""
_BY_ORDERS = {tuple(sign(each, 0) for each in _ORDERS): comparison for comparison, sign in _SIGNS.items()}
"""Signs by the results of ``compareTo`` for which they are true."""
_REVERSED = {_BY_ORDERS[by_orders[::-1]]: comparison for by_orders, comparison in _BY_ORDERS.items()}
_OPPOSITE = {_BY_ORDERS[tuple(not each for each in by_orders)]: comparison for by_orders, comparison in _BY_ORDERS.items()}
_OPERATORS = {f"_{comparison}_": comparison for comparison in _SIGNS}
_METHODS_OF_ORDER = {"isGreaterThan": Comparison.GREATER, "isLessThan": Comparison.LESS}
_METHODS_OF_TEXT = {each.value: each for each in (Comparison.MATCHES, Comparison.STARTS_WITH, Comparison.ENDS_WITH, Comparison.CONTAINS)}
_CONSTRUCTORS = {"quantity": LiteralKind.QUANTITY, "semver": LiteralKind.VERSION}
_PARTS = {"attributes": ComparedPart.ATTRIBUTE, "capacity": ComparedPart.CAPACITY}
_FIELDS = frozenset({"driver", "allowMultipleAllocations"})

_Member = tuple[ComparedPart, str, str]
"""Part, domain and name."""


def comparisons(root: Node) -> tuple[DeviceComparison, ...]:
    """Return the comparisons that must all be true for the checked expression *root* to be true; empty if it has another form."""
    match root:
        case Call(function="_&&_", args=operands, target=None):
            parts = [comparisons(each) for each in operands]
            return tuple(each for part in parts for each in part) if all(parts) else ()
    compared = _comparison(root)
    return () if compared is None else (compared,)


def _comparison(node: Node) -> DeviceComparison | None:
    match node:
        case Call(function="!_", args=(operand,), target=None):
            compared = _comparison(operand)
            return None if compared is None else _negated(compared)
        case Call(function="@in", args=(operand, ListLiteral(elements=elements, optional=optional)), target=None) if not optional:
            return _compared(operand, Comparison.IN, elements)
        case Call(function=function) if function in _METHODS_OF_TEXT:
            # A method, or the function of the same name.
            operand, *arguments = children(node)
            return _compared(operand, _METHODS_OF_TEXT[function], arguments)
        case Select(test=True):
            return _compared(dataclasses.replace(node, test=False), Comparison.PRESENT)
    if (order := _order(node)) is not None:
        left, sign, right = order
        return _compared(left, sign, (right,)) or _compared(right, _REVERSED[sign], (left,))
    return _compared(node, Comparison.TRUE)


def _negated(compared: DeviceComparison) -> DeviceComparison:
    opposite = _OPPOSITE.get(compared.comparison, compared.comparison)
    negated = opposite is compared.comparison and not compared.negated
    return replaced(compared, comparison=opposite, negated=negated)


def _order(node: Node) -> tuple[Node, Comparison, Node] | None:
    """Return the sides of a comparison of order or equality, with the sign between them; None if *node* is not one."""
    match node:
        case Call(function=function, target=left, args=(right,)) if function in _METHODS_OF_ORDER and left is not None:
            return left, _METHODS_OF_ORDER[function], right
        case Call(function=function, args=(left, right), target=None) if function in _OPERATORS:
            return _order_by_result(left, _OPERATORS[function], right) or (left, _OPERATORS[function], right)
    return None


def _order_by_result(left: Node, sign: Comparison, right: Node) -> tuple[Node, Comparison, Node] | None:
    """Return the sides that ``compareTo`` compares, with the sign for which its result satisfies a comparison with a number."""
    match left, right:
        case Literal(), Call(function="compareTo"):
            return _order_by_result(right, _REVERSED[sign], left)
        case Call(function="compareTo", target=first, args=(second,)), Literal(value=int() as number) if first is not None:
            result = _BY_ORDERS.get(tuple(_SIGNS[sign](each, number) for each in _ORDERS))
            return None if result is None else (first, result, second)
    return None


def _compared(operand: Node, comparison: Comparison, values: Sequence[Node] = ()) -> DeviceComparison | None:
    """Return the comparison of *operand* with *values*; None if it is not a part of the device, or if they are not literals."""
    member, literals = _member(operand), tuple(map(_literal, values))
    if member is None or None in literals:
        return None
    return DeviceComparison(*member, comparison, tuple(each for each in literals if each is not None))


def _member(node: Node) -> _Member | None:
    """Return the part of the device that *node* is; None for another expression, and for ``has`` of a part."""
    # Only ``has`` takes optional selections: a checked expression does not compare an optional value with a literal.
    match None if isinstance(node, Select) and node.test else path_of(node):
        case (name,) if name in _FIELDS:
            return ComparedPart.FIELD, "", name
        case (kind, domain, name) if kind in _PARTS:
            return _PARTS[kind], domain, name
    return None


def _literal(node: Node) -> SelectorLiteral | None:
    match node:
        case Literal(value=bool() as value):
            return SelectorLiteral(LiteralKind.BOOLEAN, str(value).lower())
        case Literal(value=int() | float() as value):
            return SelectorLiteral(LiteralKind.NUMBER, str(value))
        case Literal(value=str() as value):
            return SelectorLiteral(LiteralKind.TEXT, value)
        case Call(function=function, args=(Literal(value=str() as value), *rest), target=None) if function in _CONSTRUCTORS and all(
            isinstance(each, Literal) for each in rest
        ):
            return SelectorLiteral(_CONSTRUCTORS[function], value)
    return None
