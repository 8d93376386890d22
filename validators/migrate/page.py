"""The text of one chunk of a file as an editor sees it: lines, comments, and edits by offset."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import re
from collections.abc import Iterable

from validators.lint import yaml_text
from validators.lint.places import Entry, Place

_COMMENT = re.compile(r"(?:(?<=[ \t\r\n])|^)#[^\r\n]*")
_LINE_END = re.compile(r"\r\n|\r|\n")
_PROPERTIES = re.compile(r"(?:(?:!<[^>]*>|[&!][^\s,\[\]{}]*)[ \t]*)*")
_COLON = re.compile(r"[ \t]*:")
_BLANK = re.compile(r"[ \t\r\n]*")
_BLANKS = frozenset(" \t\r\n")
_COLON_IN_JSON = re.compile(r"\s*:")


class CannotEdit(ValueError):
    """The text is written in a way that cannot be changed piece by piece."""


@dataclasses.dataclass(frozen=True, slots=True)
class Edit:
    """The characters from *start* to *end* give way to *text*."""

    start: int
    end: int
    text: str


class Page:
    """A chunk of YAML or JSON, of which *root* are the places.

    It knows nothing of what is changed and why.
    """

    def __init__(self, text: str, root: Place, *, is_json: bool, newline: str) -> None:
        self.text = text
        self.root = root
        self.is_json = is_json
        self.newline = newline

    def comments(self, start: int, end: int) -> list[tuple[int, int]]:
        """The comments that begin between two offsets, by their own."""
        found = self._comments
        return found[bisect.bisect_left(found, (start, 0)) : bisect.bisect_left(found, (end, 0))]

    def line_start(self, offset: int) -> int:
        """Where the line of *offset* begins."""
        return self._starts[bisect.bisect_right(self._starts, offset) - 1]

    def line_end(self, offset: int) -> int:
        """Where the line of *offset* ends, before what ends it."""
        after = self.next_line(offset)
        while after > offset and self.text[after - 1] in "\r\n":
            after -= 1
        return after

    def next_line(self, offset: int) -> int:
        """Where the line after that of *offset* begins; the end of the text where there is none."""
        line = bisect.bisect_right(self._starts, offset)
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def indentation(self, offset: int) -> str:
        """The blanks at the start of the line of *offset*."""
        start = self.line_start(offset)
        line = self.text[start : self.line_end(offset)]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def begins_its_line(self, offset: int) -> bool:
        """Whether there is nothing but blanks before *offset* on its line."""
        return not self.text[self.line_start(offset) : offset].strip(" \t\ufeff")

    def after_properties(self, place: Place) -> int:
        """Where a value begins behind its anchor and tag, if it has any."""
        if self.is_json:
            return place.start
        found = _PROPERTIES.match(self.text, place.start, max(place.start, place.end))
        return found.end() if found else place.start

    def is_flow(self, place: Place) -> bool:
        """Whether a mapping or list is written with braces or brackets."""
        start = self._content(self.after_properties(place))
        return self.text[start : start + 1] in {"{", "["}

    def after_colon(self, entry: Entry) -> int:
        """Where the value of *entry* may begin.

        Raises:
            CannotEdit: the key is written with ``?``.

        """
        found = (_COLON_IN_JSON if self.is_json else _COLON).match(self.text, entry.end)
        if found is None:
            raise CannotEdit("a key is written with ?")
        return found.end()

    def trimmed(self, offset: int) -> int:
        """*offset* without the blanks, empty lines and comments before it."""
        while True:
            while offset and self.text[offset - 1] in _BLANKS:
                offset -= 1
            last = bisect.bisect_left(self._comments, (offset, 0)) - 1
            if last < 0 or self._comments[last][1] < offset:
                return offset
            offset = self._comments[last][0]

    def content_end(self, offset: int) -> int:
        """Where the content before *offset* ends: as ``trimmed``, but for empty lines that end a block scalar."""
        end = self.trimmed(offset)
        last = bisect.bisect_right(self._extents, (end, 0)) - 1
        return max(end, self._extents[last][1]) if last >= 0 and self._extents[last][1] <= offset else end

    def cut(self, start: int, end: int) -> Edit:
        """Takes out whole lines, from that of *start* to that of *end*, but for the comments on them."""
        first, after = self.line_start(start), self.next_line(end)
        indentation = self.text[first:start] if self.begins_its_line(start) else ""
        kept = "".join(f"{indentation}{self.text[begin:stop]}{self.newline}" for begin, stop in self.comments(start, after))
        at_the_end = after == len(self.text) and self.text[-1:] not in {"\n", "\r"}
        if at_the_end:
            # The text goes on to end without a line end.
            kept = kept.removesuffix(self.newline)
            if not kept and first:
                first = len(self.text[:first].removesuffix("\n").removesuffix("\r"))
        return Edit(first, after, kept)

    @functools.cached_property
    def is_compact(self) -> bool:
        """Whether this is JSON without blanks between its parts."""
        return self.is_json and '": ' not in self.text

    @functools.cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    @functools.cached_property
    def _extents(self) -> list[tuple[int, int]]:
        return [] if self.is_json else list(yaml_text.scalar_extents(self.text))

    @functools.cached_property
    def _comments(self) -> list[tuple[int, int]]:
        if self.is_json or "#" not in self.text:
            return []
        starts = [start for start, _ in self._extents]
        found: list[tuple[int, int]] = []
        for match in _COMMENT.finditer(self.text):
            last = bisect.bisect_right(starts, match.start()) - 1
            if last < 0 or self._extents[last][1] <= match.start():
                found.append(match.span())
        return found

    def _content(self, offset: int) -> int:
        """The first character from *offset* on that is neither blank nor comment."""
        while True:
            found = _BLANK.match(self.text, offset)
            offset = found.end() if found else offset
            comment = self.comments(offset, offset + 1)
            if not comment:
                return offset
            offset = comment[0][1]


def edited(text: str, edits: Iterable[Edit]) -> str:
    """*text* after all *edits*; of two that are the same one is made, and insertions at one place stand in the order given.

    Raises:
        CannotEdit: two edits overlap.

    """
    ordered = sorted(dict.fromkeys(edits), key=lambda each: (each.start, each.end))
    pieces, done = [], 0
    for each in ordered:
        if each.start < done:
            raise CannotEdit("one text would have to become two")
        pieces += [text[done : each.start], each.text]
        done = each.end
    return "".join([*pieces, text[done:]])
