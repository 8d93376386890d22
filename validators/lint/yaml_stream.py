"""Markers of a YAML stream, which end its documents."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARKER = re.compile(r"\ufeff?(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_LINE_WITH_MARKER = re.compile(rf"[\r\n](?={_MARKER.pattern})")
_USUAL_MARKER = "\n---"
_SEARCHED_FOR_MARKERS = ("\n...", "\r", "\ufeff")
"""Texts with one of these can have markers other than the usual one."""
_DIRECTIVES = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n]+|%[^\r\n]*[\r\n]+)*")


def split(text: str) -> Iterator[tuple[int, str]]:
    """Yield the documents of a YAML stream with their offsets, including empty ones: split at ``---`` and after ``...``.

    Either marker at the start of a line ends a document, even inside a value.  A ``---``, and the directives before it, are
    part of the document that they begin.
    """
    start = 0
    for marker in _markers(text):
        at, is_end = marker.start(), marker.group().endswith(".")
        if is_end:
            yield start, text[start:at]
            start = _after_line(text, marker.end())
        elif at > start:
            head = _DIRECTIVES.match(text, start, at)
            if head is None or head.end() != at or "%" not in head.group():
                yield start, text[start:at]
                start = at
    yield start, text[start:]


def _markers(text: str) -> Iterator[re.Match[str]]:
    """Yield the markers at the starts of lines."""
    starts = [0]
    if any(each in text for each in _SEARCHED_FOR_MARKERS):
        starts += (match.end() for match in _LINE_WITH_MARKER.finditer(text))
    else:  # much faster than the search
        at = text.find(_USUAL_MARKER)
        while at >= 0:
            starts.append(at + 1)
            at = text.find(_USUAL_MARKER, at + 1)
    return (marker for start in starts if (marker := _MARKER.match(text, start)) is not None)


def _after_line(text: str, offset: int) -> int:
    rest = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?").match(text, offset)
    return rest.end() if rest else len(text)
