"""Quantities of resources as they are written: ``500m``, ``1.5Gi``, ``12e6``; exactly, never by way of a float.

What is accepted, and how it is rounded, is as ``resource.Quantity`` of apimachinery documents and does it (Kubernetes 1.37.1,
``pkg/api/resource``): finer than a billionth rounds away from zero, and so does a fraction of the unit asked for.  Unlike
there nothing overflows, what is beyond 64 bits counts as the largest number that they hold; and a number has a digit.
"""

from __future__ import annotations

import decimal
import functools
import re

Amount = str | int | float
"""A quantity as it is written: mostly text, and a bare number where YAML left the quotes out."""

LARGEST = 2**63 - 1
"""The largest amount there is; the smallest is its negative."""

_read = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?0*[0-9]{1,19}))?",
    re.ASCII,
).fullmatch
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_SPACE = " \t\n\v\f\r\x85\xa0"
_SHOWN = 60

# Digits beyond the 64th become one more of the 64th: whatever is rounded away from zero afterwards comes out the same.
_CONTEXT = decimal.Context(prec=64, rounding=decimal.ROUND_UP, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
_NANO = decimal.Decimal("1e-9")
_BEYOND = decimal.Decimal("1e40")
_FAR = 10**9
"""No exponent beyond this makes a difference."""


@functools.lru_cache(maxsize=8192, typed=True)
def value(written: Amount) -> int:
    """The amount in whole units.

    Raises:
        ValueError: *written* is no quantity.
    """
    return _whole(_parse(written), 0)


@functools.lru_cache(maxsize=8192, typed=True)
def milli_value(written: Amount) -> int:
    """The amount in thousandths.

    Raises:
        ValueError: *written* is no quantity.
    """
    return _whole(_parse(written), 3)


def _whole(amount: decimal.Decimal, places: int) -> int:
    scaled = amount.scaleb(places, _CONTEXT)
    return max(-LARGEST, min(LARGEST, int(scaled.to_integral_value(decimal.ROUND_UP, _CONTEXT))))


def _parse(written: Amount) -> decimal.Decimal:
    """The amount in billionths at the finest, and no further from zero than matters."""
    text = _text(written)
    found = _read(text)
    if found is None:
        raise _wrong(written)
    number, suffix, exponent = found.group("number", "suffix", "exponent")
    amount = _CONTEXT.create_decimal(number)
    power = _POWERS.get(suffix, 0) if exponent is None else max(-_FAR, min(_FAR, int(exponent)))
    amount = _CONTEXT.multiply(amount.scaleb(power, _CONTEXT), decimal.Decimal(_BINARY.get(suffix, 1)))
    if amount.copy_abs() > _BEYOND:
        return _BEYOND.copy_sign(amount)
    return amount.quantize(_NANO, context=_CONTEXT)


def _text(written: Amount) -> str:
    if isinstance(written, bool):
        raise _wrong(written)
    if isinstance(written, str):
        return written.strip(_SPACE)
    if isinstance(written, int):
        # No more digits than matter: Python refuses to write out thousands of them.
        return str(max(-LARGEST, min(LARGEST, written)))
    return repr(written)


def _wrong(written: Amount) -> ValueError:
    text = str(written)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return ValueError(f'"{shown}" is no quantity: that is a number that may end in a unit, as 500m, 2 or 1.5Gi')
