"""What a YAML scalar means: the rules of the YAML reader that kubectl is built with (sigs.k8s.io/yaml, its goyaml.v2).

They are those of YAML 1.1 but for three things: ``1e3`` is a number, numbers of base 60 are strings, and a date stays a
string.  The values are those after that reader's conversion to JSON: ``4.0`` is the number 4, and keys are strings.
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
"""From here on Go writes a double with an exponent."""
_MOST_DIGITS = 4096
"""Longer runs of digits are read as a float: no number of the API has so many."""


class ScalarError(ValueError):
    """A scalar that JSON has no value for, or that is not what its tag says."""


def plain(text: str) -> Scalar:
    """The value of an unquoted scalar without a tag.

    Raises:
        ScalarError: an infinite number, or none (``.nan``).

    """
    if text in _WORDS:
        return _finite(_WORDS[text], text)
    if text[0] in _NUMBER_STARTS:
        return _number(text)
    return text


def tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with a tag.  A tag that is no scalar type of YAML says nothing: the text is a string.

    Raises:
        ScalarError: the text is not of that type, or JSON has no value for it.

    """
    name = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    if name == "binary":
        return _binary(text)
    wanted = {"bool": (bool,), "int": (int,), "float": (int, float), "null": (type(None),)}.get(name)
    if wanted is None:
        return text
    value = plain(text)
    if type(value) not in wanted:
        raise ScalarError(f"{text!r} must be of the type that its tag !!{name} says")
    return value


def key(value: Scalar) -> str | None:
    """A scalar as the key of a JSON object; None where it cannot be one (null)."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f"{value:g}"


def number(text: str) -> int | float:
    """A decimal number as Go writes it in JSON: without a fraction where that is zero.

    An integer beyond 64 bits is a double to Go as well; as far as Go writes all its digits, they are those of the text here,
    so that messages show what is in the file.

    Raises:
        ScalarError: it is too large for a double.

    """
    value = float(text)
    _finite(value, text)
    if not value.is_integer() or abs(value) >= _EXPONENT_FROM:
        return value
    return int(text) if _WHOLE.fullmatch(text) else int(value)


def _number(text: str) -> Scalar:
    digits = text.replace("_", "") if text[0] != "." else text
    found = _INTEGER.fullmatch(digits)
    if found is not None and len(digits) <= _MOST_DIGITS:
        for group, base in _BASES:
            if found[group] is not None:
                value = int(found[1] + found[group], base)
                if -(2**63) <= value < 2**64:
                    return value
    return number(digits) if _FLOAT.fullmatch(digits) else text


def _finite(value: Scalar, text: str) -> Scalar:
    if isinstance(value, float) and not math.isfinite(value):
        raise ScalarError(f"{text[:40]} must be a finite number: JSON has no other")
    return value


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except ValueError:  # not base64, or not even ASCII
        raise ScalarError("a value tagged !!binary must be base64") from None
