"""Field that is typed at a place of a text in YAML or JSON, which need not parse.

The lines above the place are read upwards: their indentation says which collections hold the place.  Flow style and JSON are read
from their first bracket on.  Errors elsewhere have no effect.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from kubeapi.field_path import Part
from muster.commands.lsp.flow_text import ITEM, FlowPlace, flow_at, unquoted
from validators.lint import yaml_stream

_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#&*!|>%@`{}\[\],](?:[^\s:#]|[ \t]+(?=[^\s:#])|:(?!\s|$)|(?<=\S)\#)*)[ \t]*:(?=\s|$)"""
)
_PROPERTIES = re.compile(r"[ \t]*(?:[&!]\S*(?:[ \t]+|$))*")
_VALUE = re.compile(r"""(?:"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?|(?:[^\s#]|(?<=\S)\#|[ \t]+(?=[^\s#]))*)""")
_COMMENT = re.compile(r"(?:^|\s)#")
_QUOTED = re.compile(r"""(?<![^\s{\[,:-])(?:"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)""")
_LINE_END = re.compile(r"\r\n|\r|\n")
_JSON_START = re.compile(r"(?:---)?\s*(?=[{\[])")


class Collection(Protocol):
    """Mapping on the way to the place."""

    def keys(self) -> list[str]:
        """Return the keys that are written."""

    def text(self, *keys: str) -> str:
        """Return a single value below some keys; empty if it is absent or a collection."""


@dataclasses.dataclass(frozen=True, slots=True)
class TypedField:
    """Key or single value at a place of a text.

    Attributes:
        path: the field whose value is typed; of a key, the mapping that it is in, or the item of a list.
        mappings: the mapping that has each part of *path*, and for a key the one in which it is; None for lists.
        start, end: offsets of what is written of it in the text.
        tail: the text after it on its line.
        is_key: whether a key is typed, or an item of a list that has no key yet.
        column: the column at which a key begins, in block style; None in flow style.
        is_directly_after_colon: whether a space must be written before the value.

    """

    path: tuple[Part, ...]
    mappings: tuple[Collection | None, ...]
    start: int
    end: int
    tail: str
    is_key: bool = dataclasses.field(kw_only=True)
    column: int | None = dataclasses.field(default=None, kw_only=True)
    is_directly_after_colon: bool = dataclasses.field(default=False, kw_only=True)

    @property
    def route(self) -> tuple[Part, ...]:
        """Path of the object in its document: that of an item if the document is a list of objects."""
        first = self.mappings[0]
        is_list = first is not None and first.text("kind").endswith("List")
        return self.path[:2] if is_list and self.path[:2] == ("items", ITEM) and len(self.mappings) > len(self.path[:2]) else ()

    def in_object(self, *keys: str) -> str:
        """Return a single value of the object; empty if it has none."""
        whole, holder = self.mappings[0], self.mappings[len(self.route)]
        value = holder.text(*keys) if holder is not None else ""
        # Items of a typed list may omit them.
        return value or (
            whole.text(*keys).removesuffix("List") if self.route and whole is not None and keys in {("kind",), ("apiVersion",)} else ""
        )

    def sibling(self, key: str) -> str:
        """Return a single value of the mapping in which the field is."""
        holder = self.mappings[-1]
        return holder.text(key) if holder is not None else ""


def typed_at(text: str, offset: int, *, is_json: bool) -> TypedField | None:
    """Return the field that is typed at an offset of a text; None in a comment, a block scalar, or between other things."""
    base, document = 0, text
    for start, part in () if is_json else yaml_stream.split(text):
        base, document = start, part
        if offset <= start + len(part):
            break
    rows, within = _Rows(document), offset - base
    first = _JSON_START.match(document)
    try:
        if first is None or first.end() >= within:
            return _in_block(rows, base, within)
        place = flow_at(document, first.end(), within)
        return None if place is None else _in_flow(rows, base, place, ())
    except _NoFieldError:
        return None


class _NoFieldError(Exception):
    """No field is typed at the place."""


class _Row(NamedTuple):
    """Columns of the dashes on a line, its key, and the columns of key and value."""

    dashes: tuple[int, ...]
    column: int
    key: str | None
    key_end: int
    value_start: int
    value_end: int


class _Rows:
    """Lines of one document."""

    def __init__(self, document: str) -> None:
        self.document = document
        ends = [match.span() for match in _LINE_END.finditer(document)] if "\r" in document else []
        if ends:
            self.starts = [0, *(end for _, end in ends)]
            stops = [*(start for start, _ in ends), len(document)]
            self.lines = [document[start:end] for start, end in zip(self.starts, stops, strict=True)]
        else:
            self.lines = document.split("\n")
            self.starts = [*itertools.accumulate((len(each) + 1 for each in self.lines[:-1]), initial=0)]
        if self.lines[0].startswith("---"):
            self.lines[0] = "   " + self.lines[0][3:]

    def row(self, line: int) -> _Row:
        text = self.lines[line]
        column, dashes = _indent(text), []
        while text[column : column + 1] == "-" and text[column + 1 : column + 2] in {"", " "}:
            dashes.append(column)
            column += 1 + _indent(text[column + 1 :])
        match = _KEY.match(text, column)
        properties = _PROPERTIES.match(text, match.end() if match else column)
        start = properties.end() if properties else column
        value = _VALUE.match(text, start)
        end = value.end() if value and text[start : start + 1] != "#" else start
        return _Row(tuple(dashes), column, unquoted(match[1]) if match else None, match.end(1) if match else column, start, end)

    def is_blank(self, line: int) -> bool:
        text = self.lines[line].strip()
        return not text or text[0] == "#"

    def tail(self, within: int) -> str:
        """Return the text from an offset to the end of its line."""
        line = bisect.bisect_right(self.starts, within) - 1
        return self.lines[line][within - self.starts[line] :]


class _BlockMapping:
    """Mapping in block style that has a key, or space for one, at a line and column."""

    def __init__(self, rows: _Rows, line: int, column: int) -> None:
        self._rows, self._line, self._column = rows, line, column

    def keys(self) -> list[str]:
        return [*self._entries]

    def text(self, *keys: str) -> str:
        line, row = self._entries.get(keys[0], (0, None))
        if row is None:
            return ""
        value = self._rows.lines[line][row.value_start : row.value_end]
        if len(keys) == 1:
            return unquoted(value) if value[:1] not in {"{", "[", "|", ">"} else ""
        if value.startswith("{"):
            start = self._rows.starts[line] + row.value_start
            place = flow_at(self._rows.document, start, start + 1)
            return place.open[0].text(*keys[1:]) if place else ""
        below = next((each for each in range(line + 1, len(self._rows.lines)) if not self._rows.is_blank(each)), None)
        inner = 0 if below is None else _indent(self._rows.lines[below])
        return "" if value or below is None or inner <= row.column else _BlockMapping(self._rows, below, inner).text(*keys[1:])

    @functools.cached_property
    def _entries(self) -> dict[str, tuple[int, _Row]]:
        above, below = range(self._line, -1, -1), range(self._line + 1, len(self._rows.lines))
        first = self._rows.row(self._line)
        begins_here = first.column == self._column and bool(first.dashes)
        return dict((*self._keys(above[:1] if begins_here else above), *self._keys(below)))

    def _keys(self, lines: Iterable[int]) -> Iterator[tuple[str, tuple[int, _Row]]]:
        """Yield the keys at the column until the mapping ends; on its first line a dash can be before the key."""
        column = self._column
        for line in lines:
            text = self._rows.lines[line]
            if text[:column].strip(" ") == "" and text[column : column + 1] in {" ", ""}:
                continue  # deeper, or blank
            if self._rows.is_blank(line):
                continue
            row = self._rows.row(line)
            if row.column == column and row.key is not None and (line <= self._line or not row.dashes):
                yield row.key, (line, row)
            if _indent(text) < column:
                return


Level = tuple[Part, Collection | None]
"""Part of a path, and the mapping that has it; None for a list."""


def _in_block(rows: _Rows, base: int, within: int) -> TypedField:
    """Return the field at an offset of a document in block style.  Raises _NoFieldError."""
    line = bisect.bisect_right(rows.starts, within) - 1
    text, at, row = rows.lines[line], within - rows.starts[line], rows.row(line)
    if _COMMENT.search(_QUOTED.sub(lambda match: "_" * len(match.group()), text[:at])):
        raise _NoFieldError
    after_dashes = row.dashes[-1] + 1 if row.dashes else 0
    is_blank = not text[row.column :].strip()
    column = at if is_blank and at >= after_dashes else row.column
    if at < column:
        raise _NoFieldError
    levels, flow = _levels_above(rows, line, within, column=row.dashes[0] if row.dashes else column, is_list=bool(row.dashes))
    mapping = _BlockMapping(rows, line, column)
    if flow is None:
        levels += [(ITEM, None)] * len(row.dashes)
        if row.key is not None and at > row.key_end:
            levels.append((row.key, mapping))
        if text[row.value_start : row.value_start + 1] in {"{", "["} and row.value_start < at:
            flow = _flow(rows, line, row, within)
    if flow is not None:
        return _in_flow(rows, base, flow, levels)
    start, path, mappings = base + rows.starts[line], *_split(levels)
    if row.key is not None and at > row.key_end:
        begin, end = _value_extent(text, row, at)
        lacks_space = text[at - 1 : at] == ":" and begin == at
        return TypedField(path, mappings, start + begin, start + end, text[end:], is_key=False, is_directly_after_colon=lacks_space)
    begin, end = (at, at) if is_blank else _key_extent(text, row, at)
    return TypedField(path, (*mappings, mapping), start + begin, start + end, text[end:], is_key=True, column=column)


def _key_extent(text: str, row: _Row, at: int) -> tuple[int, int]:
    """Return the columns of the key that is typed at a column, or of the text that may become one.  Raises _NoFieldError."""
    end = row.key_end if row.key is not None else max(at, row.value_end)
    is_quoted = text[row.column] in {'"', "'"}
    if at > end or (not is_quoted and any(each.isspace() for each in text[row.column : at])):
        raise _NoFieldError
    return row.column, end


def _value_extent(text: str, row: _Row, at: int) -> tuple[int, int]:
    """Return the columns of the single value that is typed at a column.  Raises _NoFieldError."""
    if row.value_start == row.value_end:
        return at, at
    if text[row.value_start] in {"|", ">", "*"} or at > row.value_end:
        raise _NoFieldError
    return min(row.value_start, at), row.value_end


def _levels_above(rows: _Rows, line: int, within: int, *, column: int, is_list: bool) -> tuple[list[Level], FlowPlace | None]:
    """Return the levels above a collection that begins at a line and column, the outermost first, and the flow that holds the offset *within*.

    Raises:
        _NoFieldError: the collection cannot be there.
    """
    levels: list[Level] = []
    flow: FlowPlace | None = None
    for above in range(line - 1, -1, -1):
        begin = rows.lines[above][: column + 1].lstrip(" ")
        if not begin or (is_list and begin == "-") or rows.is_blank(above):
            continue  # deeper, or another item
        row = rows.row(above)
        value = rows.lines[above][row.value_start : row.value_start + 1] if row.value_end > row.value_start else ""
        if row.column < column or (row.column == column and is_list and row.key is not None):
            if value in {"{", "["}:
                flow = _flow(rows, above, row, within)
                levels.clear()
            elif value:
                raise _NoFieldError  # a single value has nothing below
            if row.key is not None:
                levels.append((row.key, _BlockMapping(rows, above, row.column)))
            if row.key is not None or value:
                column, is_list = row.column, False
        for dash in reversed(row.dashes):
            if dash < column:
                levels.append((ITEM, None))
                column, is_list = dash, True
    return levels[::-1], flow


def _flow(rows: _Rows, line: int, row: _Row, within: int) -> FlowPlace:
    """Return the place of an offset in the flow that is the value on a line.  Raises _NoFieldError: the flow ends before."""
    place = flow_at(rows.document, rows.starts[line] + row.value_start, within)
    if place is None:
        raise _NoFieldError
    return place


def _in_flow(rows: _Rows, base: int, place: FlowPlace, levels: Sequence[Level]) -> TypedField:
    """Return the field at a place of a flow that is the value of the last of *levels*."""
    path, mappings = _split(levels)
    inner = (*(None if each.is_list else each for each in place.open), *((None,) if place.open[-1].is_list else ()))
    start, end, tail = base + place.start, base + place.end, rows.tail(place.end)
    return TypedField((*path, *place.path), (*mappings, *inner), start, end, tail, is_key=place.is_key)


def _split(levels: Iterable[Level]) -> tuple[tuple[Part, ...], tuple[Collection | None, ...]]:
    listed = [*levels]
    return tuple(part for part, _ in listed), tuple(mapping for _, mapping in listed)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
