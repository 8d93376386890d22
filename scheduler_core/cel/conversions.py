"""Conversions between simple types: ``int()``, ``string()`` and the like (cel-go 0.29, ``common/types``)."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable

from scheduler_core.cel.values import MAX_INT, MAX_UINT, MIN_INT, Fault, UInt, Value, checked_int, checked_uint

_DECIMAL = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_UNSIGNED = re.compile(r"[0-9]+", re.ASCII).fullmatch
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_FLOAT = re.compile(rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?", re.ASCII).fullmatch
_HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+", re.ASCII).fullmatch
_SPECIAL = re.compile(r"[+-]?(?:inf|infinity)|nan", re.ASCII | re.IGNORECASE).fullmatch
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_PLAIN = 6
"""Doubles with more digits before the point are printed with an exponent."""
_LONGEST = 400
"""More digits than a number of 64 bits has; Python refuses to convert very long ones."""


def _refused(target: str) -> Fault:
    return Fault(f"type conversion error from 'string' to '{target}'")


def _to_bool(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise _refused("bool")


def _to_int(text: str) -> int:
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(("-" if text.startswith("-") else "") + digits) if _DECIMAL(text) and len(digits) < _LONGEST else None
    if value is None or not MIN_INT <= value <= MAX_INT:
        raise _refused("int")
    return value


def _to_uint(text: str) -> UInt:
    digits = text.lstrip("0") or "0"
    value = int(digits) if _UNSIGNED(text) and len(digits) < _LONGEST else None
    if value is None or value > MAX_UINT:
        raise _refused("uint")
    return UInt(value)


def _to_double(text: str) -> float:
    if _HEX_FLOAT(text):
        try:
            return float.fromhex(text)
        except (OverflowError, ValueError):
            raise _refused("double") from None
    if not (_FLOAT(text) or _SPECIAL(text)):
        raise _refused("double")
    value = float(text)
    if math.isinf(value) and not _SPECIAL(text):
        raise _refused("double")
    return value


def _double_to_int(value: float) -> int:
    if not math.isfinite(value) or not -(2.0**63) < value < 2.0**63:
        raise Fault("integer overflow")
    return checked_int(int(value))


def _double_to_uint(value: float) -> UInt:
    if not math.isfinite(value) or not 0 <= value < 2.0**64:
        raise Fault("unsigned integer overflow")
    return checked_uint(int(value))


def decoded(value: bytes) -> str:
    """Return bytes as a string.

    Raises:
        Fault: they are not UTF-8.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Fault("invalid UTF-8 in bytes, cannot convert to string") from None


def shortest(value: float) -> str:
    """Return a double as Go's ``%g`` prints it."""
    if not math.isfinite(value):
        return "NaN" if value != value else ("+Inf" if value > 0 else "-Inf")  # noqa: PLR0124
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    shown, power = "".join(map(str, digits)), len(digits) + int(exponent) - 1
    if value and not -4 <= power < _PLAIN:
        return f"{'-' * sign}{shown[0]}{'.' * (len(shown) > 1)}{shown[1:]}e{'-' if power < 0 else '+'}{abs(power):02d}"
    return f"{decimal.Decimal(repr(value)).normalize():f}"


def _identity(value: Value) -> Value:
    return value


OVERLOADS: dict[str, Callable[..., Value]] = {
    **dict.fromkeys(
        ("bool_to_bool", "bytes_to_bytes", "double_to_double", "int64_to_int64", "string_to_string", "uint64_to_uint64"), _identity
    ),
    "string_to_bool": _to_bool,
    "string_to_bytes": str.encode,
    "int64_to_double": float,
    "uint64_to_double": float,
    "string_to_double": _to_double,
    "double_to_int64": _double_to_int,
    "string_to_int64": _to_int,
    "uint64_to_int64": lambda value: checked_int(int(value)),
    "double_to_uint64": _double_to_uint,
    "int64_to_uint64": checked_uint,
    "string_to_uint64": _to_uint,
    "bool_to_string": lambda value: "true" if value else "false",
    "bytes_to_string": decoded,
    "double_to_string": shortest,
    "int64_to_string": str,
    "uint64_to_string": lambda value: str(int(value)),
}
