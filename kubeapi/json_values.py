"""JSON values of a text: one document, JSON Lines, or concatenated values; those that cannot be decoded in full are refused.

Splitting skips strings and numbers, and so do the typed decoders in fields that they do not know.  Some of these have no value: such
an object must be refused before a part of it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeapi import decode
from kubeapi.gathered import DEEP

_BOM = b"\xef\xbb\xbf"

# Matches parts of a value, none of which is an end that another value follows: inside one document, a comma is always between two values.
# Repeated by the caller: before Python 3.11.5 a possessive group can end too late, and an atomic one keeps all repetitions in memory.
_PARTS = rb'(?:[^"}]++|"(?>(?:[^"\\]++|\\.)*)"|\}(?![ \t\r\n]*+\{)){1,4096}'
_STEP = 2000
_LONG = 2 * _STEP
"""Digits.  The decoder refuses whole numbers with more."""
_two_digits = re.compile(rb"(?=[0-9]{2})").finditer
_is_blank = re.compile(rb"[ \t\r\n]*+").fullmatch


def split(text: bytes) -> Iterator[decode.Text]:
    """Return the objects of *text* in order, undecoded.

    Text that is not JSON is returned as it is, up to the next object; the reader of the value reports it.
    """
    text = text.removeprefix(_BOM)
    for decode_all in (_document, _lines):
        if (values := decode_all(text)) is not None:
            yield from values
            return
    yield from _values(text)


def _document(text: bytes) -> list[decode.Text] | None:
    try:
        return [decode.VALUE.decode(text)]
    except (ValueError, RecursionError):
        return None


def _lines(text: bytes) -> list[decode.Text] | None:
    try:
        return [*decode.VALUE.decode_lines(text)]
    except (ValueError, RecursionError):
        return None


def _values(text: bytes) -> Iterator[decode.Text]:
    view, start = memoryview(text), 0
    while start < len(text):
        end = _end(text, start)
        if end == start or text[end - 1 : end] != b"}":
            end = len(text)  # an open quote: the rest cannot be split
        if not _is_blank(text, start, end):
            yield view[start:end]
        start = end


def _end(text: bytes, start: int) -> int:
    """Return the end of the value that begins at *start*; at an open quote, its place."""
    # Compiled here, because it takes long and is rarely needed.
    match = re.compile(_PARTS, re.DOTALL).match
    while parts := match(text, start):
        start = parts.end()
    return start + 1 if text[start : start + 1] == b"}" else start


def refusal(text: decode.Text) -> str:
    """Return why *text*, from which values can be skipped, is not JSON with all of its values; empty if it is."""
    whole = bytes(text)
    # The usual case, tried first for each of very many objects.
    if (len(whole) < _LONG and whole.isascii()) or not is_doubtful(whole):
        return ""
    try:
        decode.WHOLE.decode(whole)
    except RecursionError:
        return DEEP
    except UnicodeDecodeError as error:
        return f"is not JSON: text must be UTF-8, and the byte 0x{error.object[error.start]:02x} is not: save the file as UTF-8"
    except ValueError as error:
        return f"is not JSON: {error}"
    return ""


def is_doubtful(text: bytes) -> bool:
    """Return whether *text* is not UTF-8, or has very many digits in a row; much faster than decoding it."""
    try:
        is_utf8 = text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return True
    if len(text) < _LONG:
        return not is_utf8
    # Two digits of a long number are this far from each other, and so are few others.
    starts = (each.start() * _STEP for each in _two_digits(text[::_STEP]))
    return not is_utf8 or any(text[start : start + _STEP].isdigit() for start in starts)
