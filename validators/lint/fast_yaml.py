"""YAML documents in the usual layout of manifests to values and to places, many times as fast as ``yaml_text``.

A document has this layout if each of its lines has one of the forms of ``usual_lines``: then only the indents decide which
mapping or list a line belongs to.  Both functions return None for all other documents, and for errors; the caller then calls
``yaml_text``, whose results are equal.  Lines repeat within and between documents: a line is read once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from validators.lint import usual_lines
from validators.lint.limits import MOST_NODES
from validators.lint.places import Entry, Place
from validators.lint.usual_lines import LineColumns, LineForm

Line = tuple[int, int, int, str, Any, LineColumns]
"""``usual_lines.Line`` as a plain tuple, which is faster to unpack."""
_MOST_KNOWN = 20_000


class _Known(dict[str, Line]):
    """Lines that were read, by their text; a line without a usual form is missing."""

    def __missing__(self, text: str) -> Line:
        line = usual_lines.read(text)
        if line is None:
            raise KeyError(text)
        if len(self) >= _MOST_KNOWN:
            self.clear()
        self[text] = known = (*line,)
        return known


_known = _Known()
_OPEN, _FLOW_ENTRY, _ITEM = LineForm.OPEN, LineForm.FLOW_ENTRY, LineForm.ITEM
_FLOW = {LineForm.FLOW_ENTRY, LineForm.FLOW_ITEM}
NEXT_LIST, NEXT_MAPPING = 4, 3
"""Levels from a list to the list or mapping that is its item on the same line: the item is indented by two."""


def mapping(text: str) -> dict[str, object] | None:
    """Return the document in *text* if it is a mapping in the usual layout; its value equals that of ``yaml_text.values``.  Else None."""
    listed = lines(text)
    return None if listed is None else _built(listed)


def lines(text: str) -> list[Line] | None:
    """Return the lines of a document; None if one of them has no usual form."""
    if len(text) > MOST_NODES:
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    try:
        return list(map(_known.__getitem__, text.removeprefix("---\n").split("\n")))
    except KeyError:
        return None


def _built(lines: list[Line]) -> dict[str, object] | None:  # noqa: C901, PLR0912 - without calls: all lines of all files go through it
    """Return the value of a document; None if it is no mapping, a line belongs to no mapping or list, or a key occurs twice."""
    root: dict[str, object] = {}
    current: Any = root
    at = next((line[0] for line in lines if line[0] >= 0), 1)
    if at % 2:  # a list, or nothing
        return None
    outer: list[tuple[Any, int]] = [(None, -1)]
    opened = None
    for level, dashes, form, key, value, _ in lines:
        if level != at:
            if level < 0:
                continue
            if level > at:
                if opened is None:
                    return None
                outer.append((current, at))
                current[opened] = current = [] if dashes else {}
                at = level
            else:
                while level < at:
                    current, at = outer.pop()
                if level != at:
                    return None
        opened = None
        if dashes:
            for _ in range(1, dashes):
                outer.append((current, at))
                current.append(current := [])
                at += NEXT_LIST
            if form >= _ITEM:
                current.append(value if form == _ITEM else _copy(value))
                continue
            outer.append((current, at))
            current.append(current := {})
            at += NEXT_MAPPING
        if key in current:
            return None
        if form == _OPEN:
            opened = key
        current[key] = _copy(value) if form == _FLOW_ENTRY else value
    return root


def _copy(value: object) -> object:
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


def survey(text: str) -> Place | None:
    """Return the places of the document in *text*, equal to those of ``yaml_text.survey``; None if ``mapping`` returns None.

    It is also None if the document has a list or mapping in flow style that is not empty.
    """
    listed = lines(text)
    if listed is None or _built(listed) is None or any(form in _FLOW and value for _, _, form, _, value, _ in listed):
        return None
    offsets = itertools.accumulate((len(each) + 1 for each in text.split("\n")), initial=0)
    if text.startswith("---"):
        next(offsets)
    return _Survey(len(text)).run(listed, offsets)


class _Open:
    """Mapping or list that is being read."""

    __slots__ = ("entry", "first", "inside", "level", "listed", "start")

    def __init__(self, level: int, start: int) -> None:
        self.level = level
        self.start = start
        self.inside: dict[str, Entry] = {}
        self.listed: list[Place] = []
        self.first: tuple[int, int] | None = None
        self.entry: tuple[str, int, int] | None = None
        """Key without a value yet: its text and offsets."""

    def open_entry(self, key: str, start: int, end: int) -> None:
        self.first = self.first or (start, end)
        self.entry = key, start, end

    def add(self, place: Place) -> None:
        if self.entry is None:
            self.listed.append(place)
        else:
            key, start, end = self.entry
            self.inside[key] = Entry(start, end, place)
            self.entry = None

    def end_entry(self) -> None:
        """Give an open entry the empty value after its colon."""
        if self.entry is not None:
            after = self.entry[2] + 1
            self.add(Place(after, after, after, after))

    def place(self, end: int) -> Place:
        self.end_entry()
        if self.first is None:
            return Place(self.start, end, self.start, end, tuple(self.listed))
        return Place(self.start, end, *self.first, self.inside)


class _Survey:
    """Places of a document in the usual layout, whose text has *end* characters."""

    def __init__(self, end: int) -> None:
        self._end = end
        self._stack: list[_Open] = []

    def run(self, lines: Iterable[Line], offsets: Iterable[int]) -> Place:
        for line, offset in zip(lines, offsets, strict=False):
            if line[0] >= 0:
                self._add(line, offset)
        while len(self._stack) > 1:
            self._close(self._end)
        return self._stack[0].place(self._end)

    def _add(self, line: Line, offset: int) -> None:
        level, dashes, form, key, value, columns = line
        start, stack = offset + level // 2, self._stack
        while stack and stack[-1].level > level:
            self._close(start)
        if stack and stack[-1].level == level:
            stack[-1].end_entry()
        else:
            stack.append(_Open(level, start))
        for number in range(1, dashes):
            stack.append(_Open(stack[-1].level + NEXT_LIST, start + 2 * number))
        if form < _ITEM:
            start += 2 * dashes
            if dashes:
                stack.append(_Open(stack[-1].level + NEXT_MAPPING, start))
            stack[-1].open_entry(key, start, offset + columns.key_end)
        if form != _OPEN:
            start, end = offset + columns.value, offset + columns.value_end
            inside: dict[str, Entry] | tuple[Place, ...] | None = () if isinstance(value, list) else None
            stack[-1].add(Place(start, end, start, end, {} if isinstance(value, dict) else inside))

    def _close(self, end: int) -> None:
        place = self._stack.pop().place(end)
        self._stack[-1].add(place)
