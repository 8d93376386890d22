"""Where in a text something stands: offsets to lines and columns, and a field path to the text it was written as.

A ``Place`` tree mirrors a document with offsets instead of values.  It is made by the readers of YAML and JSON, and only
for documents of which a place is asked.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import re
from array import array
from collections.abc import Callable, Sequence

from validators.field import FieldPath, Part

_LINE_END = re.compile(r"\r\n|\r|\n")


class Fault(Exception):
    """The text cannot be read, at the offset given."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a file.  Lines and columns count from 1, columns in characters; ``end_column`` is the first one after it."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping, by the offsets of the key's text, and what it holds."""

    start: int
    end: int
    value: Place


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A value's text by its offsets, and what is inside it.

    An alias has its own offsets and the inside of what it stands for.  ``first`` and ``first_end`` are the first key of a
    mapping, wherever it is written; of all else the value's own offsets.
    """

    start: int
    end: int
    first: int
    first_end: int
    inside: dict[str, Entry] | tuple[Place, ...] | None = None
    alias: bool = False


class Lines:
    """The lines of a text, whatever ends them (LF, CRLF, CR)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last = (0, "")
        """The line that was asked for last, with its text."""

    @functools.cached_property
    def _starts(self) -> array[int]:
        found = array("Q", [0])  # a quarter of the memory of a list: a file may have millions of lines
        found.extend(match.end() for match in _LINE_END.finditer(self._text))
        return found

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both from 1."""
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def text(self, line: int) -> str:
        """One line without its end; *line* counts from 1."""
        # A file may be one line, and each of its thousands of findings holds that line: they share one text.
        if self._last[0] != line:
            start = self._starts[line - 1]
            end = self._starts[line] if line < len(self._starts) else len(self._text)
            self._last = line, self._text[start:end].rstrip("\r\n")
        return self._last[1]

    def span(self, start: int, end: int) -> Span:
        """The span of two offsets, cut at the end of its first line: an editor underlines one line well, a block badly."""
        line, column = self.position(start)
        end = max(start, min(end, self._starts[line - 1] + len(self.text(line).rstrip())))
        return Span(line, column, line, end - start + column)


class Chunk:
    """A part of a file that is read by itself: one YAML document, or one JSON value.

    ``survey`` makes the Place tree of ``text``, which begins at offset ``base`` of the file; ``is_json`` tells in which of
    the two languages it was read.
    """

    def __init__(self, lines: Lines, base: int, text: str, survey: Callable[[str], Place], *, is_json: bool = False) -> None:
        self.lines = lines
        self.base = base
        self.text = text
        self.is_json = is_json
        self._survey = survey

    @functools.cached_property
    def root(self) -> Place:
        """The places of the whole chunk."""
        return self._survey(self.text)

    def span(self, route: Sequence[Part], path: FieldPath) -> Span:
        """Where the field *path* of the object at *route* stands; see ``Document.span``."""
        whole = self.root
        for part in route:
            inner = _below(whole, part)
            whole = inner.value if isinstance(inner, Entry) else inner or whole
        start, end = self._extent(whole, path.parts)
        return self.lines.span(self.base + start, self.base + end)

    def _extent(self, whole: Place, parts: Sequence[Part]) -> tuple[int, int]:
        extent = whole.first, whole.first_end
        for part in parts:
            inner = _below(whole, part)
            if inner is None:
                break
            if isinstance(inner, Entry):
                whole = inner.value
                extent = inner.start, max(inner.end, whole.end if self._is_short(inner) else inner.end)
            else:
                whole = inner
                extent = whole.start, whole.end
        return extent

    def _is_short(self, entry: Entry) -> bool:
        """Whether key and value are one piece to the eye: a scalar or an alias on the key's own line."""
        whole = entry.value
        return (whole.inside is None or whole.alias) and not _LINE_END.search(self.text, entry.start, whole.end)


def _below(place: Place, part: Part) -> Entry | Place | None:
    inside = place.inside
    if isinstance(inside, dict):
        return inside.get(part) if isinstance(part, str) else None
    if isinstance(inside, tuple) and isinstance(part, int) and 0 <= part < len(inside):
        return inside[part]
    return None
