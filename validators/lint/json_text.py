"""Parsing of JSON: a text to values and, on demand, to positions.

A text may have several values one after another (JSON Lines, or the output of several ``kubectl get -o json``).  All
functions raise ``Fault`` with the offset of the error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from validators.lint import scalars
from validators.lint.limits import DEEPEST, MOST_NODES
from validators.lint.places import Entry, Fault, Place

_SPACE = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r'[ \t\r\n]*("[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|[^ \t\r\n\[\]{}:,"]+)', re.DOTALL)
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class _DuplicateError(ValueError):
    """Duplicate key in an object; ``_Survey`` determines its offset."""


def values(text: str) -> Iterator[tuple[int, object]]:
    """Yield each value of *text* with its start offset."""
    offset = _skip(text, 0)
    may_hold_too_much = text.count(",") > MOST_NODES
    while offset < len(text):
        if may_hold_too_much:
            _refuse_too_much(text, offset)
        value, end = _value(text, offset)
        yield offset, value
        offset = _skip(text, end)


def survey(text: str, offset: int = 0) -> Place:
    """Return the positions of the value in *text* that begins at *offset*."""
    return _Survey(text, offset).run()


def _value(text: str, offset: int) -> tuple[object, int]:
    try:
        value, end = _DECODER.raw_decode(text, offset)
    except json.JSONDecodeError as error:
        raise Fault(error.pos, f"must be JSON: {error.msg[:1].lower()}{error.msg[1:]}") from None
    except RecursionError:
        raise Fault(offset, f"must be nested at most {DEEPEST} deep") from None
    except _DuplicateError:
        _Survey(text, offset).run()
        raise AssertionError("the survey must raise for a duplicate key") from None
    except scalars.ScalarError as error:
        raise Fault(offset, str(error)) from None
    _check_limits(value, offset)
    # Only this value is searched: a text can have many.
    return (_without_surrogates(value) if text.find("\\", offset, end) >= 0 else value), end


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _DuplicateError
    return members


def _refuse_constant(name: str) -> object:
    raise scalars.ScalarError(f"{name} must be a finite number: JSON has neither NaN nor Infinity")


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= 20 else scalars.number(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=scalars.number, parse_int=_integer, parse_constant=_refuse_constant)


def _refuse_too_much(text: str, offset: int) -> None:
    """Raise for too many values in the text at *offset*, before they are parsed: the limit protects memory."""
    depth, count = 0, 0
    for match in _TOKEN.finditer(text, offset):
        depth += (match[1] in {"{", "["}) - (match[1] in {"}", "]"})
        count += match[1] == ","
        if count > MOST_NODES:
            raise Fault(match.start(1), f"must have at most {MOST_NODES:,} values")
        if depth <= 0:
            return


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _check_limits(value: object, offset: int) -> None:
    """Raise for a value that is nested too deeply or has too many values."""
    level, depth, count = [value], 0, 0
    while level:
        depth += 1
        next_level: list[object] = []
        for each in level:
            inside = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
            count += len(inside)
            next_level += [child for child in inside if isinstance(child, (dict, list))]
        level = next_level
        if depth >= DEEPEST and level:
            raise Fault(offset, f"must be nested at most {DEEPEST} deep")
    if count > MOST_NODES:
        raise Fault(offset, f"must have at most {MOST_NODES:,} values")


def _without_surrogates(value: object) -> object:
    """Return the value with lone surrogates, which have no UTF-8, replaced by U+FFFD, as in Go."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_LONE_SURROGATE.sub("\ufffd", key): _without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    return value


class _Open:
    """Object or array that is being surveyed."""

    __slots__ = ("first", "inside", "is_object", "key", "listed", "start")

    def __init__(self, start: int, opening: str) -> None:
        self.start = start
        self.is_object = opening == "{"
        self.inside: dict[str, Entry] = {}
        self.listed: list[Place] = []
        self.first: tuple[int, int] | None = None
        self.key: tuple[str, int, int] | None = None

    def add(self, place: Place) -> None:
        if self.key is None:
            self.listed.append(place)
        else:
            name, start, end = self.key
            self.inside[name] = Entry(start, end, place)
            self.key = None

    def start_entry(self, text: str, start: int) -> None:
        """Start the entry of a key.

        Raises:
            Fault: the key is a duplicate.

        """
        name = _LONE_SURROGATE.sub("\ufffd", str(json.loads(text, strict=False)))
        if name in self.inside:
            raise Fault(start, f"the key {name!r} must occur only once in its object; remove one of the two")
        self.key = (name, start, start + len(text))
        self.first = self.first or self.key[1:]

    def close(self, end: int) -> Place:
        first = self.first or (self.start, end)
        return Place(self.start, end, *first, inside=self.inside if self.is_object else tuple(self.listed))


class _Survey:
    """Walk over the tokens of a text that is valid JSON, except for duplicate keys."""

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._stack: list[_Open] = []

    def run(self) -> Place:
        for match in _TOKEN.finditer(self._text, self._offset):
            place = self._token(match[1], match.start(1))
            if place is not None and not self._stack:
                return place
            if place is not None:
                self._stack[-1].add(place)
        raise Fault(len(self._text), "must be JSON: the text ends too early")

    def _token(self, token: str, start: int) -> Place | None:
        if token in {":", ","}:
            return None
        if token in {"{", "["}:
            self._stack.append(_Open(start, token))
            return None
        end = start + len(token)
        if token in {"}", "]"}:
            return self._stack.pop().close(end)
        if self._stack and self._stack[-1].is_object and self._stack[-1].key is None:
            self._stack[-1].start_entry(token, start)
            return None
        return Place(start, end, start, end)
