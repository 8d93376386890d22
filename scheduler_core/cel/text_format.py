"""``string.format`` (cel-go 0.29, ``ext/formatting.go``)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from scheduler_core.cel.conversions import decoded, shortest
from scheduler_core.cel.times import duration_text, timestamp_text
from scheduler_core.cel.values import Duration, Fault, Map, Timestamp, TypeValue, UInt, Value, limited, type_name

_CLAUSE = re.compile(r"%(?:(%)|(?:\.([0-9]+))?(.))|%", re.DOTALL)
_PRECISION = 6
_LARGEST_PRECISION = 1000
_SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def clauses(text: str) -> Iterator[tuple[str, int | None, str]]:
    """Return the parts of a format string: literal text, precision and letter of the clause after it; no letter at the end.

    Raises:
        Fault: a clause has no letter.
    """
    at, literal = 0, ""
    for match in _CLAUSE.finditer(text):
        literal += text[at : match.start()]
        at = match.end()
        if match[1]:
            literal += "%"
            continue
        if match[3] is None:
            raise Fault("unexpected end of string")
        if match[3] == ".":
            raise Fault("could not parse formatting clause: error while parsing precision: could not find end of precision specifier")
        yield literal, None if match[2] is None else int(match[2][:9]), match[3]
        literal = ""
    yield literal + text[at:], None, ""


def _format(text: str, arguments: list[Value]) -> str:
    result: list[str] = []
    for index, (literal, precision, letter) in enumerate(clauses(text)):
        result.append(literal)
        if not letter:
            break
        if index >= len(arguments):
            raise Fault(f"index {index} out of range")
        result.append(_formatted(arguments[index], precision, letter))
        limited(sum(map(len, result)))
    return "".join(result)


def _formatted(value: Value, precision: int | None, letter: str) -> str:
    match letter:
        case "s":
            return _text(value)
        case "d" | "o":
            return _integer(value, letter)
        case "b" if type(value) in {bool, int, UInt}:
            return f"{int(value):b}"
        case "b":
            raise _refused(f"only integers and bools can be formatted as binary, was given {type_name(value)}")
        case "x" | "X":
            return _hex(value, letter)
        case "f" | "e":
            return _double(value, _PRECISION if precision is None else precision, letter)
    raise Fault(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')


def _refused(message: str) -> Fault:
    return Fault(f"error during formatting: {message}")


def _integer(value: Value, letter: str) -> str:
    if type(value) in {int, UInt}:
        return f"{int(value):{letter}}"
    kind = "decimal" if letter == "d" else "octal"
    raise _refused(f"{kind} clause can only be used on integers, was given {type_name(value)}")


def _hex(value: Value, letter: str) -> str:
    if type(value) in {int, UInt}:
        return f"{int(value):{letter}}"
    if isinstance(value, (str, bytes)):
        digits = (value.encode() if isinstance(value, str) else value).hex()
        return digits.upper() if letter == "X" else digits
    raise _refused(f"only integers, byte buffers, and strings can be formatted as hex, was given {type_name(value)}")


def _double(value: Value, precision: int, letter: str) -> str:
    number = _SPECIAL.get(value) if isinstance(value, str) else value
    if type(number) is not float:
        kind = "fixed-point" if letter == "f" else "scientific"
        raise _refused(f"{kind} clause can only be used on doubles, was given {type_name(value)}")
    if precision > _LARGEST_PRECISION:
        raise _refused(f"precision {precision} exceeds maximum allowed precision {_LARGEST_PRECISION}")
    if number != number:  # noqa: PLR0124 - NaN
        return "NaN"
    if number in {float("inf"), float("-inf")}:
        return "∞" if number > 0 else "-∞"
    if letter == "f":
        return f"{number:,.{precision}f}"
    mantissa, _, exponent = f"{number:.{precision}e}".partition("e")
    return f"{mantissa}×10{exponent.lstrip('+').translate(_SUPERSCRIPT)}"  # noqa: RUF001


def _text(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_member, value))}]"
    if isinstance(value, Map):
        pairs = sorted((_member(key), _member(each)) for key, each in value.entries.values())
        return f"{{{', '.join(f'{key}:{each}' for key, each in pairs)}}}"
    to_text = _TEXTS.get(type(value))
    if to_text is None:
        raise _refused(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given "
            f"{type_name(value)}"
        )
    return to_text(value)


_TEXTS: dict[type, Callable[..., str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: str,
    UInt: lambda value: str(int(value)),
    float: shortest,
    str: str,
    bytes: decoded,
    TypeValue: lambda value: value.name,
    Timestamp: timestamp_text,
    Duration: duration_text,
}


def _member(value: Value) -> str:
    """Return an element of a list or map: strings are quoted, doubles have six digits."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return f"{value:.{_PRECISION}f}"
    if isinstance(value, (Timestamp, Duration)):
        return f'{"timestamp" if isinstance(value, Timestamp) else "duration"}("{_text(value)}")'
    return f'b"{_text(value)}"' if isinstance(value, bytes) else _text(value)


OVERLOADS: dict[str, Callable[..., Value]] = {"string_format": _format}
