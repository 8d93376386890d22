"""Text of one chunk of a file, with its lines and comments, and edits by offset."""

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
    """Text that cannot be changed in pieces because of the way it is written."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextReplacement:
    """Replacement of the characters from *start* to *end* by *text*."""

    start: int
    end: int
    text: str


class Page:
    """Chunk of YAML or JSON with its Place tree *root*.  It is independent of the changes that are made."""

    def __init__(self, text: str, root: Place, *, is_json: bool, newline: str) -> None:
        self.text = text
        self.root = root
        self.is_json = is_json
        self.newline = newline

    def comments(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the offsets of the comments that begin between two offsets."""
        comments = self._comments
        return comments[bisect.bisect_left(comments, (start, 0)) : bisect.bisect_left(comments, (end, 0))]

    def line_start(self, offset: int) -> int:
        """Return the start of the line of *offset*."""
        return self._starts[bisect.bisect_right(self._starts, offset) - 1]

    def line_end(self, offset: int) -> int:
        """Return the end of the line of *offset*, without its line end."""
        after = self.next_line(offset)
        while after > offset and self.text[after - 1] in "\r\n":
            after -= 1
        return after

    def next_line(self, offset: int) -> int:
        """Return the start of the line after that of *offset*; the end of the text if there is none."""
        line = bisect.bisect_right(self._starts, offset)
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def indentation(self, offset: int) -> str:
        """Return the blanks at the start of the line of *offset*."""
        start = self.line_start(offset)
        line = self.text[start : self.line_end(offset)]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def begins_its_line(self, offset: int) -> bool:
        """Return whether only blanks are before *offset* on its line."""
        return not self.text[self.line_start(offset) : offset].strip(" \t\ufeff")

    def after_properties(self, place: Place) -> int:
        """Return the start of a value after its anchor and tag."""
        if self.is_json:
            return place.start
        match = _PROPERTIES.match(self.text, place.start, max(place.start, place.end))
        return match.end() if match else place.start

    def is_flow(self, place: Place) -> bool:
        """Return whether a mapping or list is written with braces or brackets."""
        start = self._content(self.after_properties(place))
        return self.text[start : start + 1] in {"{", "["}

    def after_colon(self, entry: Entry) -> int:
        """Return the offset after the colon of *entry*.

        Raises:
            CannotEdit: the key is written with ``?``.

        """
        match = (_COLON_IN_JSON if self.is_json else _COLON).match(self.text, entry.end)
        if match is None:
            raise CannotEdit("a key is written with ?")
        return match.end()

    def trimmed(self, offset: int) -> int:
        """Return *offset*, moved before the blanks, empty lines and comments that precede it."""
        while True:
            while offset and self.text[offset - 1] in _BLANKS:
                offset -= 1
            last = bisect.bisect_left(self._comments, (offset, 0)) - 1
            if last < 0 or self._comments[last][1] < offset:
                return offset
            offset = self._comments[last][0]

    def content_end(self, offset: int) -> int:
        """Return the end of the content before *offset*: as ``trimmed``, but empty lines at the end of a block scalar are content."""
        end = self.trimmed(offset)
        last = bisect.bisect_right(self._extents, (end, 0)) - 1
        return max(end, self._extents[last][1]) if last >= 0 and self._extents[last][1] <= offset else end

    def cut(self, start: int, end: int) -> TextReplacement:
        """Return the edit that removes whole lines, from that of *start* to that of *end*, but keeps their comments."""
        first, after = self.line_start(start), self.next_line(end)
        indentation = self.text[first:start] if self.begins_its_line(start) else ""
        kept = "".join(f"{indentation}{self.text[begin:stop]}{self.newline}" for begin, stop in self.comments(start, after))
        at_the_end = after == len(self.text) and self.text[-1:] not in {"\n", "\r"}
        if at_the_end:
            # The text had no line end at its end, and must not get one.
            kept = kept.removesuffix(self.newline)
            if not kept and first:
                first = len(self.text[:first].removesuffix("\n").removesuffix("\r"))
        return TextReplacement(first, after, kept)

    @functools.cached_property
    def is_compact(self) -> bool:
        """True if the text is JSON without blanks between its parts."""
        return self.is_json and '": ' not in self.text

    @functools.cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @functools.cached_property
    def _extents(self) -> list[tuple[int, int]]:
        return [] if self.is_json else list(yaml_text.scalar_extents(self.text))

    @functools.cached_property
    def _comments(self) -> list[tuple[int, int]]:
        if self.is_json or "#" not in self.text:
            return []
        starts = [start for start, _ in self._extents]
        comments: list[tuple[int, int]] = []
        for match in _COMMENT.finditer(self.text):
            last = bisect.bisect_right(starts, match.start()) - 1
            if last < 0 or self._extents[last][1] <= match.start():
                comments.append(match.span())
        return comments

    def _content(self, offset: int) -> int:
        """Return the offset of the first character from *offset* on that is neither blank nor comment."""
        while True:
            match = _BLANK.match(self.text, offset)
            offset = match.end() if match else offset
            comment = self.comments(offset, offset + 1)
            if not comment:
                return offset
            offset = comment[0][1]


def edited(text: str, edits: Iterable[TextReplacement]) -> str:
    """Return *text* after all *edits*.  Equal edits are applied once; insertions at one offset keep their order.

    Raises:
        CannotEdit: two edits overlap.

    """
    ordered = sorted(dict.fromkeys(edits), key=lambda each: (each.start, each.end))
    pieces, done = [], 0
    for each in ordered:
        if each.start < done:
            raise CannotEdit("two changes overlap")
        pieces += [text[done : each.start], each.text]
        done = each.end
    return "".join([*pieces, text[done:]])
