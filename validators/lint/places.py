"""Positions in a text: offsets to lines and columns, and field paths to the text of the field.

A tree of ``Place`` mirrors a document with offsets instead of values.  The parsers of YAML and JSON create it, and only
for documents of which a position is needed.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath, Part

_FEW_FIELDS = 4
_FEW_POSITIONS = 4
LONGEST_EXCERPT = 200
"""Characters of a line that are kept with a finding; reports show fewer."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_ALIAS = re.compile(r"\*([^\s,\[\]{}*]+)")


class Fault(Exception):
    """Error at an offset of a text that cannot be read."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class Span(Record, frozen=True):
    """Range of a file.  Lines and columns count from 1, columns in characters; ``end_column`` is the first column after it."""

    line: int
    column: int
    end_line: int
    end_column: int


class Entry(NamedTuple):  # is created many times faster than a frozen dataclass
    """Entry of a mapping: the offsets of the key, and the place of its value."""

    start: int
    end: int
    value: Place


class Place(NamedTuple):
    """Offsets of a value, and the places inside it.

    An alias has its own offsets and the inside of the anchored value.  ``first`` and ``first_end`` are the offsets of the
    first key of a mapping; of other values, the offsets of the value.
    """

    start: int
    end: int
    first: int
    first_end: int
    inside: dict[str, Entry] | tuple[Place, ...] | None = None
    alias: bool = False


class Lines:
    """Lines of a text with any line ends (LF, CRLF, CR).  The text is a file, or a part that begins at a line and an offset of it.

    A file may be one long line with thousands of findings: no method but ``text`` copies a line.
    """

    def __init__(self, text: str, first: int = 1, base: int = 0) -> None:
        self._text = text
        self._above = first - 1
        self._base = base
        self._last = (0, 0, 0)
        """Cache: number of the last requested line, and the offsets of its start and end in the text."""
        self._last_excerpt = (0, "")
        """Cache: number of a line and its excerpt, which findings share."""
        self._last_content = (0, 0)
        """Cache: number of a line, and the offset of the end of its content."""
        self._positions_left = _FEW_POSITIONS
        """Number of positions to find without the starts of all lines."""

    @functools.cached_property
    def _starts(self) -> array[int]:
        # A quarter of the memory of a list: a file may have millions of lines.
        if "\r" not in self._text:
            return array("Q", itertools.accumulate((len(each) + 1 for each in self._text.split("\n")[:-1]), initial=0))
        return array("Q", (0, *(match.end() for match in _LINE_END.finditer(self._text))))

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both counted from 1."""
        within = offset - self._base
        if self._positions_left and "_starts" not in self.__dict__ and "\r" not in self._text:
            self._positions_left -= 1
            line, start = self._text.count("\n", 0, within) + 1 + self._above, self._text.rfind("\n", 0, within) + 1
            if line != self._last[0]:
                end = self._text.find("\n", within)
                self._last = line, start, end if end >= 0 else len(self._text)
            return line, within - start + 1
        line = bisect.bisect_right(self._starts, within)
        return line + self._above, within - self._starts[line - 1] + 1

    @property
    def count(self) -> int:
        """Number of lines; a line end at the end of the text begins a last, empty line."""
        return len(self._starts)

    def offset(self, line: int) -> int:
        """Return the offset of the start of a line; *line* counts from 1."""
        return self._starts[line - 1 - self._above] + self._base

    def text(self, line: int) -> str:
        """Return one line without its line end; *line* counts from 1."""
        return self._text[slice(*self._bounds(line))]

    def excerpt(self, line: int) -> str:
        """Return the first characters of a line, enough to show it; *line* counts from 1."""
        if self._last_excerpt[0] != line:
            start, end = self._bounds(line)
            self._last_excerpt = line, self._text[start : min(end, start + LONGEST_EXCERPT)]
        return self._last_excerpt[1]

    def end_column(self, line: int) -> int:
        """Return the column after the last character of a line that is not blank; *line* counts from 1."""
        start, end = self._bounds(line)
        if self._last_content[0] != line:
            self._last_content = line, start + len(self._text[start:end].rstrip())
        return self._last_content[1] - start + 1

    def span(self, start: int, end: int) -> Span:
        """Return the span between two offsets, cut at the end of its first line, as editors underline single lines."""
        line, column = self.position(start)
        last = min(end - self._base, self._bounds(line)[1])
        end_column = column + last - (start - self._base)
        if self._text[last - 1 : last].isspace():
            end_column = min(end_column, self.end_column(line))
        return Span(line, column, line, max(column, end_column))

    def _bounds(self, line: int) -> tuple[int, int]:
        """Return the offsets of start and end of a line in the text, without its line end."""
        if self._last[0] != line:
            number = line - self._above
            start, end = self._starts[number - 1], len(self._text)
            if number < len(self._starts):
                end = self._starts[number] - 1
                end -= self._text[end - 1 : end + 1] == "\r\n"
            self._last = line, start, end
        return self._last[1:]


class StreamPart(NamedTuple):
    """Part of a file between two markers: its offset in characters, and the number of its first object in the file."""

    offset: int
    first: int


_WHOLE = StreamPart(0, 0)


class Chunk:
    """Part of a file that is parsed by itself: one YAML document, or one JSON value.

    ``survey`` creates the Place tree of ``text``, which begins at offset ``base`` of the file.  ``part`` is the part of the file
    that has it.  ``is_json`` is whether it was parsed as JSON.  ``find`` returns the offsets of one field if it can, which
    is faster for a few.
    """

    def __init__(
        self,
        lines: Lines,
        base: int,
        text: str,
        survey: Callable[[str], Place],
        *,
        part: StreamPart = _WHOLE,
        is_json: bool = False,
        find: Callable[[str, Sequence[Part]], tuple[int, int] | None] | None = None,
    ) -> None:
        self.lines = lines
        self.base = base
        self.text = text
        self.part = part
        self.is_json = is_json
        self._survey = survey
        self._find = find
        self._fields_left = _FEW_FIELDS
        """Number of fields to search one by one."""

    @functools.cached_property
    def root(self) -> Place:
        """The Place tree of the whole chunk."""
        return self._survey(self.text)

    def span(self, route: Sequence[Part], path: FieldPath) -> Span:
        """Return the position of the field *path* of the object at *route*; see ``Document.span``."""
        start, end = self._extent_of_one(route, path) or self._extent_at(route, path)
        return self.lines.span(self.base + start, self.base + end)

    @functools.cached_property
    def aliases(self) -> frozenset[str]:
        """Names that seem to be those of aliases in the text."""
        return frozenset(_ALIAS.findall(self.text))

    def _extent_of_one(self, route: Sequence[Part], path: FieldPath) -> tuple[int, int] | None:
        if self._find is None or route or not self._fields_left or "root" in self.__dict__:
            return None
        self._fields_left -= 1
        return self._find(self.text, path.parts)

    def _extent_at(self, route: Sequence[Part], path: FieldPath) -> tuple[int, int]:
        place = self.root
        for part in route:
            child = _below(place, part)
            place = child.value if isinstance(child, Entry) else child or place
        return self._extent(place, path.parts)

    def way_to(self, route: Sequence[Part], path: FieldPath) -> list[Entry | Place]:
        """Return the places from the root to a field; empty if the field is absent, or written by an alias or a merged mapping."""
        place = self.root
        way: list[Entry | Place] = [place]
        for part in (*route, *path.parts):
            child = _below(place, part)
            if child is None or place.alias or not place.start <= child.start <= place.end:
                return []
            way.append(child)
            place = child.value if isinstance(child, Entry) else child
        return way

    def _extent(self, place: Place, parts: Sequence[Part]) -> tuple[int, int]:
        extent = place.first, place.first_end
        for part in parts:
            child = _below(place, part)
            if child is None:
                break
            if isinstance(child, Entry):
                place = child.value
                extent = child.start, max(child.end, place.end if self._is_short(child) else child.end)
            else:
                place = child
                extent = place.start, place.end
        return extent

    def _is_short(self, entry: Entry) -> bool:
        """Return whether the value is a scalar or an alias on the line of its key."""
        value = entry.value
        return (value.inside is None or value.alias) and not _LINE_END.search(self.text, entry.start, value.end)


def _below(place: Place, part: Part) -> Entry | Place | None:
    inside = place.inside
    if isinstance(inside, dict):
        return inside.get(part) if isinstance(part, str) else None
    if isinstance(inside, tuple) and isinstance(part, int) and 0 <= part < len(inside):
        item: Place = inside[part]
        return item
    return None
