"""Places of YAML documents in the usual layout of manifests: those of all fields, or the extent of one.

Most documents with findings have one or two, and the places of all fields take ten times as long as those of one.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubeapi.field_path import Part
from validators.lint import fast_yaml, fast_yaml_lines
from validators.lint.fast_yaml import FLOW, NEXT_LIST, NEXT_MAPPING, LineShape
from validators.lint.fast_yaml_lines import Fields, LineForm
from validators.lint.places import Entry, Place


def survey(text: str) -> Place | None:
    """Return the places of the document in *text*, equal to those of ``yaml_text.survey``; None if ``mapping`` returns None.

    It is also None if the document has a list or mapping in flow style that is not empty.
    """
    listed = fast_yaml.lines(text)
    if listed is None or fast_yaml.built(*listed) is None:
        return None
    shapes, values = listed
    if any(shape.fields[2] in FLOW and value for shape, value in zip(shapes, values, strict=True)):
        return None
    texts = text.split("\n")
    offset = 0
    if len(texts) > len(shapes):  # a marker
        offset = len(texts.pop(0)) + 1
    places = _Survey(len(text))
    for shape, value, each in zip(shapes, values, texts, strict=True):
        places.add(shape.fields, value, each.removesuffix("\r"), offset)
        offset += len(each) + 1
    return places.root()


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

    def root(self) -> Place:
        """Return the place of the document, after all lines were added."""
        while len(self._stack) > 1:
            self._close(self._end)
        return self._stack[0].place(self._end)

    def add(self, fields: Fields, value: object, text: str, offset: int) -> None:
        """Add the next line, whose *text* begins at *offset*."""
        level, dashes, form, key = fields
        if level < 0:
            return
        columns = fast_yaml_lines.columns(text)
        start, stack = offset + level // 2, self._stack
        while stack and stack[-1].level > level:
            self._close(start)
        if stack and stack[-1].level == level:
            stack[-1].end_entry()
        else:
            stack.append(_Open(level, start))
        for number in range(1, dashes):
            stack.append(_Open(stack[-1].level + NEXT_LIST, start + 2 * number))
        if form < LineForm.ITEM:
            start += 2 * dashes
            if dashes:
                stack.append(_Open(stack[-1].level + NEXT_MAPPING, start))
            stack[-1].open_entry(key, start, offset + columns.key_end)
        if form != LineForm.OPEN:
            start, end = offset + columns.value, offset + columns.value_end
            inside: dict[str, Entry] | tuple[Place, ...] | None = () if isinstance(value, list) else None
            stack[-1].add(Place(start, end, start, end, {} if isinstance(value, dict) else inside))

    def _close(self, end: int) -> None:
        place = self._stack.pop().place(end)
        self._stack[-1].add(place)


def extent(text: str, parts: Sequence[Part]) -> tuple[int, int] | None:
    """Return the offsets of a field, see ``Chunk.span``, of a document that ``fast_yaml.mapping`` has read.

    A list or mapping that is an item ends with its first line here.  The result is None for fields in flow style.
    """
    lines = fast_yaml.lines(text)
    if lines is None:
        return None
    shapes, values = lines
    texts = text.split("\n")
    marker = len(texts) - len(shapes)
    found = _field_columns(shapes, values, [each.removesuffix("\r") for each in texts[marker:]], parts)
    if found is None:
        return None
    number, start, end = found
    number += marker
    offset = sum(map(len, texts[:number])) + number
    return offset + start, offset + (len(texts[number]) if end is None else end)


def _field_columns(
    shapes: Sequence[LineShape], values: Sequence[object], texts: Sequence[str], parts: Sequence[Part]
) -> tuple[int, int, int | None] | None:
    """Return the number of the line of a field with its columns; the last one is None for the end of the line."""
    at = _next(shapes, 0)
    level = shapes[at].fields[0]
    found: tuple[int, int, int | None] = (at, level // 2, fast_yaml_lines.columns(texts[at]).key_end)
    for number, part in enumerate(parts):
        at = _child(shapes, at, level, part)
        if at < 0:
            break
        outer, dashes, form, _ = shapes[at].fields
        depth = (level - outer) // 4 + 1
        if level % 2 and (form < LineForm.ITEM or depth < dashes):
            found = at, outer // 2 + 2 * depth, None
            level += NEXT_LIST if depth < dashes else NEXT_MAPPING
            continue
        columns = fast_yaml_lines.columns(texts[at])
        if level % 2:
            found = at, columns.value, columns.value_end
        else:
            below = _next(shapes, at + 1) if form == LineForm.OPEN else -1
            is_parent = below >= 0 and shapes[below].fields[0] > level
            found = at, level // 2, columns.key_end if is_parent or form in FLOW else columns.value_end
            if is_parent:
                at, level = below, shapes[below].fields[0]
                continue
        return None if form in FLOW and values[at] and number < len(parts) - 1 else found
    return found


def _next(shapes: Sequence[LineShape], start: int) -> int:
    """Return the number of the first line from *start* on that has a key or a value; -1 if there is none."""
    return next((number for number in range(start, len(shapes)) if shapes[number].fields[0] >= 0), -1)


def _child(shapes: Sequence[LineShape], first: int, level: int, part: Part) -> int:
    """Return the number of the line of a key or an item in the mapping or list of *level* that begins at line *first*; -1 if absent."""
    is_list = level % 2 == 1
    if is_list is isinstance(part, str) or (isinstance(part, int) and part < 0):
        return -1
    before = part
    for number in range(first, len(shapes)):
        each = shapes[number].fields
        if number > first and each[0] != level:
            if 0 <= each[0] < level:
                break
            continue
        if isinstance(before, int):
            if before == 0:
                return number
            before -= 1
        elif each[3] == part:
            return number
    return -1
