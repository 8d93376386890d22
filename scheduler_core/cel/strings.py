"""Functions of strings (cel-go 0.29, ``ext/strings.go`` version 2); positions count code points."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.cel.values import Fault, Value, limited

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_QUOTED = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
)
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_UPPER = {lower: upper for upper, lower in _LOWER.items()}


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise Fault(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise Fault(f"index out of range: {start}")
    if not part:
        return min(start, len(text))
    return text.find(part, start)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_before(text: str, part: str, last: int) -> int:
    if last < 0:
        raise Fault(f"index out of range: {last}")
    if not part:
        return min(last, len(text))
    return -1 if last >= len(text) else text.rfind(part, 0, last + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    found = text.count(old) if count < 0 else min(count, text.count(old))
    limited(len(text) + found * max(0, len(new) - len(old)))
    return text.replace(old, new, max(-1, count))


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    parts = list(text)
    return parts if count < 0 or len(parts) <= count else [*parts[: count - 1], "".join(parts[count - 1 :])]


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise Fault(f"index out of range: {start}")
    return text[start:]


def _substring_between(text: str, start: int, end: int) -> str:
    if start > end:
        raise Fault(f"invalid substring range. start: {start}, end: {end}")
    for each in (start, end):
        if not 0 <= each <= len(text):
            raise Fault(f"index out of range: {each}")
    return text[start:end]


def _join(parts: list[Value], separator: str = "") -> str:
    for each in parts:
        if not isinstance(each, str):
            raise Fault(f"join: invalid input: {each}")
    limited(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


OVERLOADS: dict[str, Callable[..., Value]] = {
    "contains_string": lambda text, part: part in text,
    "starts_with_string": str.startswith,
    "ends_with_string": str.endswith,
    "string_char_at_int": _char_at,
    "string_index_of_string": _index_of,
    "string_index_of_string_int": _index_of,
    "string_last_index_of_string": _last_index_of,
    "string_last_index_of_string_int": _last_index_before,
    "string_lower_ascii": lambda text: text.translate(_LOWER),
    "string_upper_ascii": lambda text: text.translate(_UPPER),
    "string_replace_string_string": _replace,
    "string_replace_string_string_int": _replace,
    "string_split_string": _split,
    "string_split_string_int": _split,
    "string_substring_int": _substring,
    "string_substring_int_int": _substring_between,
    "string_trim": lambda text: text.strip(_SPACE),
    "strings_quote": lambda text: f'"{text.translate(_QUOTED)}"',
    "list_join": _join,
    "list_join_string": _join,
}
