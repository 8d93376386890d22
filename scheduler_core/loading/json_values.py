"""One text to the JSON values in it, as they stand: a document, JSON Lines, or values one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler_core.model import wire

_BOM = b"\xef\xbb\xbf"

# Up to the end of the first value that another one follows: between two values of one document there is always a comma.
_up_to_next = re.compile(rb'(?:[^"}]++|"(?:[^"\\]++|\\.)*+"|\}(?![ \t\r\n]*+\{))*+\}?', re.DOTALL).match
_is_blank = re.compile(rb"[ \t\r\n]*+").fullmatch


def split(text: bytes) -> Iterator[wire.Text]:
    """The objects of *text*, in order, none of them read further than to find its end.

    What is no JSON comes as it is, as far as the next object: whoever reads it tells.
    """
    text = text.removeprefix(_BOM)
    for whole in (_document, _lines):
        if (found := whole(text)) is not None:
            yield from found
            return
    yield from _values(text)


def _document(text: bytes) -> list[wire.Text] | None:
    try:
        return [wire.VALUE.decode(text)]
    except (ValueError, RecursionError):
        return None


def _lines(text: bytes) -> list[wire.Text] | None:
    try:
        return [*wire.VALUE.decode_lines(text)]
    except (ValueError, RecursionError):
        return None


def _values(text: bytes) -> Iterator[wire.Text]:
    view, start = memoryview(text), 0
    while start < len(text):
        found = _up_to_next(text, start)
        end = found.end() if found else start
        if end == start or text[end - 1 : end] != b"}":
            end = len(text)  # a quote is open: what follows cannot be told apart
        if not _is_blank(text, start, end):
            yield view[start:end]
        start = end
