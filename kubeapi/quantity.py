"""Parsing of resource quantities such as ``500m``, ``1.5Gi``, ``12e6``, exactly and without floats.

Syntax and rounding are those of ``resource.Quantity`` of apimachinery (Kubernetes 1.37.1, ``pkg/api/resource``): amounts
finer than a billionth, and fractions of the requested unit, are rounded away from zero.  Two differences: an amount
beyond 64 bits becomes the largest number of 64 bits, and a number needs at least one digit.
"""

from __future__ import annotations

import decimal
import functools
import re
from collections.abc import Callable
from typing import Annotated, Any

from kubeapi.redaction import Mark

Amount = str | int | float
"""A quantity as written: mostly text, a number where YAML has no quotes."""
Amounts = dict[Annotated[str, Mark.RESOURCE], Amount]
"""Quantities by the name of a resource."""

LARGEST = 2**63 - 1
"""The largest amount; the smallest is its negative."""

_QUANTITY = r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?0*[0-9]{1,19}))?"
_match = re.compile(_QUANTITY, re.ASCII).fullmatch
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_SPACE = " \t\n\v\f\r\x85\xa0"
PATTERN = f"[{_SPACE}]*{_QUANTITY}[{_SPACE}]*"
"""Pattern of all quantities, of ASCII characters."""
is_quantity: Callable[[str], Any] = re.compile(PATTERN, re.ASCII).fullmatch
"""Function that returns a true value if a text is a quantity."""
_MAX_SHOWN = 60

# ROUND_UP at 64 digits does not change a result that is rounded away from zero afterwards.
_CONTEXT = decimal.Context(prec=64, rounding=decimal.ROUND_UP, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
_NANO = decimal.Decimal("1e-9")
_MAX = decimal.Decimal("1e40")
_LIMIT = int(_MAX)
_MAX_EXPONENT = 10**9
"""A larger exponent makes no difference."""


@functools.lru_cache(maxsize=8192, typed=True)
def value(written: Amount) -> int:
    """Return the amount in whole units.

    Raises:
        ValueError: *written* is not a quantity.
    """
    return _whole(_parse(written), 0)


@functools.lru_cache(maxsize=8192, typed=True)
def milli_value(written: Amount) -> int:
    """Return the amount in thousandths.

    Raises:
        ValueError: *written* is not a quantity.
    """
    return _whole(_parse(written), 3)


@functools.lru_cache(maxsize=8192, typed=True)
def exact(written: Amount) -> decimal.Decimal:
    """Return the amount, rounded to billionths.

    Raises:
        ValueError: *written* is not a quantity.
    """
    return _parse(written)


@functools.lru_cache(maxsize=8192, typed=True)
def fits(written: Amount, places: int = 0) -> bool:
    """Return whether 64 bits hold the amount times ten to the power of *places*, as every version of Kubernetes counts it.

    Beyond that 1.37 counts 0, or what remains of the number, and 1.38 the largest number; with a binary unit, as ``8Ei``, both do.

    Raises:
        ValueError: *written* is not a quantity.
    """
    is_binary = isinstance(written, str) and written.rstrip(_SPACE).endswith("i")
    return (is_binary and not places) or abs(_parse(written).scaleb(places, _CONTEXT)) <= LARGEST


def _whole(amount: decimal.Decimal, places: int) -> int:
    scaled = amount.scaleb(places, _CONTEXT)
    return max(-LARGEST, min(LARGEST, int(scaled.to_integral_value(decimal.ROUND_UP, _CONTEXT))))


def _parse(written: Amount) -> decimal.Decimal:
    """Return the amount, rounded to billionths and limited to 1e40."""
    text = _text(written)
    match = _match(text)
    if match is None:
        raise _error(written)
    number, suffix, exponent = match.group("number", "suffix", "exponent")
    amount = _CONTEXT.create_decimal(number)
    power = _POWERS.get(suffix, 0) if exponent is None else max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(exponent)))
    amount = _CONTEXT.multiply(amount.scaleb(power, _CONTEXT), decimal.Decimal(_BINARY.get(suffix, 1)))
    if amount.copy_abs() > _MAX:
        return _MAX.copy_sign(amount)
    return amount.quantize(_NANO, context=_CONTEXT)


def _text(written: Amount) -> str:
    if isinstance(written, bool):
        raise _error(written)
    if isinstance(written, str):
        return written.strip(_SPACE)
    if isinstance(written, int):
        # Limited first: Python refuses to convert integers of thousands of digits to text.
        return str(max(-_LIMIT, min(_LIMIT, written)))
    return repr(written)


def _error(written: Amount) -> ValueError:
    text = str(written)
    shown = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
    return ValueError(f'"{shown}" is not a quantity: must be a number with an optional unit, such as 500m, 2 or 1.5Gi')
