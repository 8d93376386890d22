"""Values of YAML scalars, under the rules of the YAML parser of kubectl (sigs.k8s.io/yaml, its goyaml.v2).

The rules are those of YAML 1.1 with three exceptions: ``1e3`` is a number, numbers of base 60 are strings, and dates are
strings.  Values are those after that parser's conversion to JSON: ``4.0`` is the number 4, and keys are strings.
"""

from __future__ import annotations

import base64
import math
import re

Scalar = str | int | float | bool | None

_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_INTEGER = re.compile(r"([-+]?)(?:0[bB]([01]+)|0[oO]?([0-7]+)|0[xX]([0-9a-fA-F]+)|(0|[1-9][0-9]*))", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_BASES = ((2, 2), (3, 8), (4, 16), (5, 10))
_WHOLE = re.compile(r"[-+]?[0-9]{1,21}", re.ASCII)
_EXPONENT_FROM = 1e21
"""Go writes doubles from this value on with an exponent."""
_MAX_DIGITS = 4096
"""Longer numbers are read as floats: no number of the API has so many digits."""


class ScalarError(ValueError):
    """Scalar without a JSON value, or without the type of its tag."""


def plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar without a tag.

    Raises:
        ScalarError: the number is infinite or ``.nan``.

    """
    if text in _WORDS:
        return _finite(_WORDS[text], text)
    if text[0] in _NUMBER_STARTS:
        return _number(text)
    return text


def tagged(tag: str, text: str) -> Scalar:
    """Return the value of a scalar with a tag.  With a tag that is not a scalar type of YAML, the value is a string.

    Raises:
        ScalarError: the text is not of that type, or JSON has no value for it.

    """
    name = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    if name == "binary":
        return _binary(text)
    types = {"bool": (bool,), "int": (int,), "float": (int, float), "null": (type(None),)}.get(name)
    if types is None:
        return text
    value = plain(text)
    if type(value) not in types:
        raise ScalarError(f"{text!r} must be of the type of its tag !!{name}")
    return value


def key(value: Scalar) -> str | None:
    """Return a scalar as the key of a JSON object; None if it cannot be one (null)."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f"{value:g}"


def number(text: str) -> int | float:
    """Return a decimal number as Go writes it in JSON: without a fraction if that is zero.

    Go reads an integer beyond 64 bits as a double too.  Where Go writes all digits of the double, the result has the digits
    of the text, so that messages show what is in the file.

    Raises:
        ScalarError: the number is too large for a double.

    """
    value = float(text)
    _finite(value, text)
    if not value.is_integer() or abs(value) >= _EXPONENT_FROM:
        return value
    return int(text) if _WHOLE.fullmatch(text) else int(value)


def _number(text: str) -> Scalar:
    digits = text.replace("_", "") if text[0] != "." else text
    match = _INTEGER.fullmatch(digits)
    if match is not None and len(digits) <= _MAX_DIGITS:
        for group, base in _BASES:
            if match[group] is not None:
                value = int(match[1] + match[group], base)
                if -(2**63) <= value < 2**64:
                    return value
    return number(digits) if _FLOAT.fullmatch(digits) else text


def _finite(value: Scalar, text: str) -> Scalar:
    if isinstance(value, float) and not math.isfinite(value):
        raise ScalarError(f"{text[:40]} must be a finite number: JSON has neither NaN nor Infinity")
    return value


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except ValueError:  # not base64, or not even ASCII
        raise ScalarError("a value tagged !!binary must be base64") from None
