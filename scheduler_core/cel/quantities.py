"""Kubernetes' quantities (1.37.1: ``apimachinery/pkg/api/resource``, ``apiserver/pkg/cel/library/quantity.go``)."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from scheduler_core.cel.values import MAX_INT, MIN_INT, Extension, Fault, Value

_SYNTAX = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII).fullmatch
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_NANO = -9
_DIGITS = 18
"""Decimal digits that always fit in 64 bits."""
_MOST_DIGITS = 4000
"""Longer numbers are refused: Python does not read them."""
_LARGEST_EXPONENT = 1000
"""Larger exponents of ten are refused: the number would have too many digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity(Extension):
    """``unscaled * 10**scale``; *wide* if resource.Quantity represents it by an ``inf.Dec``, which it never converts to an integer.

    *computed* if a function has computed it: upstream such a quantity is a pointer, and equal to nothing if it is the right operand.
    """

    TYPE = "kubernetes.Quantity"
    unscaled: int
    scale: int
    wide: bool = False
    computed: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __hash__(self) -> int:
        unscaled, scale = self.unscaled, self.scale
        while unscaled and not unscaled % 10:
            unscaled, scale = unscaled // 10, scale + 1
        return hash((unscaled, scale if unscaled else 0))


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """Return the quantity that *text* has; it keeps the representation that upstream gives it.

    Raises:
        Fault: it is not a quantity.
    """
    match = _SYNTAX(text)
    if not text or match is None:
        raise Fault(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" if _has_digits(text) else _WRONG
        )
    sign, whole, fraction, suffix = match.groups()
    whole, fraction = whole or "0", fraction or ""
    if len(whole) + len(fraction) > _MOST_DIGITS:
        raise Fault(f"quantity has more than {_MOST_DIGITS} digits")
    if suffix in _BINARY:
        result = _binary(int(whole + fraction), len(whole), len(fraction), _BINARY[suffix])
    else:
        result = _decimal(whole, fraction, _exponent(suffix))
    return Quantity(-result.unscaled, result.scale, result.wide) if sign == "-" else result


_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def _has_digits(text: str) -> bool:
    return any(each.isdigit() for each in text)


def _exponent(suffix: str) -> int:
    power = _DECIMAL.get(suffix)
    if power is not None:
        return power
    digits = suffix[1:].lstrip("+-")
    if suffix[0] not in "eE" or not digits.isdigit() or len(digits) > 20 or int(digits) > _LARGEST_EXPONENT:
        raise Fault("unable to parse quantity's suffix")
    return int(suffix[1:])


def _binary(number: int, whole: int, fraction: int, exponent: int) -> Quantity:
    precision = 15 - whole - int(exponent * 3 / 10) - 1
    value = number << exponent
    if not fraction and precision >= 0 and value <= MAX_INT:
        return Quantity(value, 0)
    return _rounded(min(value, MAX_INT * 10**fraction), -fraction)


def _decimal(whole: str, fraction: str, exponent: int) -> Quantity:
    number, scale = int(whole + fraction), exponent - len(fraction)
    if len(whole) + len(fraction) <= _DIGITS and scale >= _NANO:
        return Quantity(number, scale)
    return _rounded(number, scale)


def _rounded(number: int, scale: int) -> Quantity:
    """Return a wide quantity, rounded up to billionths."""
    if scale < _NANO:
        number, scale = -(-number // 10 ** (_NANO - scale)), _NANO
    return Quantity(number, scale, wide=True)


def of_capacity(value: str | float) -> Quantity:
    """Return the quantity of a capacity: the API server stores it in canonical form, where whole numbers are integers.

    Raises:
        Fault: it is not a quantity.
    """
    parsed = parse(value.strip() if isinstance(value, str) else str(value))
    number, scale = parsed.unscaled, parsed.scale
    if scale < 0 and not number % 10**-scale:
        number, scale = number // 10**-scale, 0
    whole = number * 10**scale if scale >= 0 else None
    if whole is not None and MIN_INT < whole <= MAX_INT:
        return Quantity(whole, 0)
    return parsed


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    scale = min(left.scale, right.scale)
    return left.unscaled * 10 ** (left.scale - scale), right.unscaled * 10 ** (right.scale - scale), scale


def _compare(left: Quantity, right: Quantity) -> int:
    first, second, _ = _aligned(left, right)
    return (first > second) - (first < second)


def _add(left: Quantity, right: Quantity) -> Quantity:
    first, second, scale = _aligned(left, right)
    fits = all(MIN_INT <= each <= MAX_INT for each in (first, second, first + second))
    if left.wide or right.wide or not fits:
        return Quantity(first + second, scale, wide=True, computed=True)
    if not left.unscaled or not right.unscaled:
        return replace(left if not right.unscaled else right, computed=True)
    return Quantity(first + second, scale, computed=True)


def _subtract(left: Quantity, right: Quantity) -> Quantity:
    # Go cannot negate the least integer.
    negated = right.unscaled if right.unscaled == MIN_INT and not right.wide else -right.unscaled
    return _add(left, Quantity(negated, right.scale, right.wide))


def _integer(value: Quantity) -> int | None:
    if value.wide or value.scale < 0:
        return None
    result = value.unscaled * 10**value.scale
    return result if MIN_INT <= result <= MAX_INT else None


def _as_integer(value: Quantity) -> int:
    result = _integer(value)
    if result is None:
        raise Fault("cannot convert value to integer")
    return result


def _is_quantity(text: str) -> bool:
    try:
        parse(text)
    except Fault:
        return False
    return True


def _sign(value: Quantity) -> int:
    return (value.unscaled > 0) - (value.unscaled < 0)


def _approximate(value: Quantity) -> float:
    return float(value.unscaled) * math.pow(10, value.scale) if value.scale else float(value.unscaled)


OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_to_quantity": parse,
    "is_quantity_string": _is_quantity,
    "quantity_sign": _sign,
    "quantity_is_integer": lambda value: _integer(value) is not None,
    "quantity_get_int": _as_integer,
    "quantity_get_float": _approximate,
    "quantity_is_greater_than": lambda left, right: _compare(left, right) > 0,
    "quantity_is_less_than": lambda left, right: _compare(left, right) < 0,
    "quantity_compare_to": _compare,
    "quantity_add": _add,
    "quantity_add_int": lambda left, right: _add(left, Quantity(right, 0)),
    "quantity_sub": _subtract,
    "quantity_sub_int": lambda left, right: _subtract(left, Quantity(right, 0)),
}
