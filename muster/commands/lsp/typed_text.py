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
from muster.commands.lsp.flow_text import ITEM, FlowCollection, FlowPlace, flow_at, unquoted
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
        is_key: whether a key is typed, or an item of a list that has no key yet.
        start, end: offsets of what is written of it in the text.
        column: the column at which the key begins, in block style; None in flow style.
        tail: the text after it on its line.
        is_directly_after_colon: whether a space must be written before the value.

    """

    path: tuple[Part, ...]
    mappings: tuple[Collection | None, ...]
    is_key: bool
    start: int
    end: int
    column: int | None
    tail: str
    is_directly_after_colon: bool = False

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
    if not is_json:
        for base, document in yaml_stream.split(text):  # noqa: B007 - the last one is used
            if offset <= base + len(document):
                break
    within = offset - base
    start = _JSON_START.match(document)
    if start is not None and start.end() < within:
        place = flow_at(document, start.end(), within)
        return None if place is None else _in_flow(_Rows(document), base, place, (), ())
    return _in_block(_Rows(document), base, within)


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


def _in_block(rows: _Rows, base: int, within: int) -> TypedField | None:
    """Return the field at an offset of a document in block style."""
    line = bisect.bisect_right(rows.starts, within) - 1
    text, at = rows.lines[line], within - rows.starts[line]
    row, start = rows.row(line), base + rows.starts[line]
    if _COMMENT.search(_QUOTED.sub(lambda match: "_" * len(match.group()), text[:at])):
        return None
    blank = not text[row.column :].strip() and row.column >= (row.dashes[-1] if row.dashes else 0)
    column = at if blank and at > (row.dashes[-1] if row.dashes else -1) else row.column
    if at < column:
        return None
    own: list[Level] = [(ITEM, None)] * len(row.dashes)
    mapping = _BlockMapping(rows, line, column)
    if text[row.value_start : row.value_start + 1] in {"{", "["} and row.value_start < at:
        inner: list[Level] = [] if row.key is None else [(row.key, mapping)]
        levels, flow = _levels_above(rows, line, row.dashes[0] if row.dashes else column, bool(row.dashes), within)
        place = flow or flow_at(rows.document, rows.starts[line] + row.value_start, within)
        return None if place is None else _in_flow(rows, base, place, levels, () if flow else (*own, *inner))
    is_value = row.key is not None and at > row.key_end
    levels, flow = _levels_above(rows, line, row.dashes[0] if row.dashes else column, bool(row.dashes), within)
    if levels is None:
        return None
    if flow is not None:
        return _in_flow(rows, base, flow, levels, ())
    if is_value:
        return _block_value(rows, line, at, start, (*levels, *own, (str(row.key), mapping)))
    end = max(row.key_end, at) if row.key is not None else max(at, row.value_end)
    if not blank and (at > end or _has_space(text[column:at])):
        return None
    path, mappings = _split((*levels, *own))
    begin = at if blank else column
    return TypedField(path, (*mappings, mapping), True, start + begin, start + (at if blank else end), column, text[at if blank else end :])


def _block_value(rows: _Rows, line: int, at: int, start: int, levels: Sequence[Level]) -> TypedField | None:
    """Return the field whose value is typed on a line."""
    row, text = rows.row(line), rows.lines[line]
    is_empty = row.value_start == row.value_end
    if text[row.value_start : row.value_start + 1] in {"|", ">", "*"} or (not is_empty and at > row.value_end):
        return None
    begin, end = (at, at) if is_empty else (min(row.value_start, at), row.value_end)
    path, mappings = _split(levels)
    return TypedField(path, mappings, False, start + begin, start + end, None, text[end:], text[at - 1 : at] == ":" and begin == at)


def _levels_above(
    rows: _Rows, line: int, column: int, is_list: bool, within: int
) -> tuple[list[Level], FlowPlace | None] | tuple[None, None]:
    """Return the levels above a collection that begins at a line and column, the outermost first, and the flow that holds the offset *within*.

    None if the collection cannot be there.
    """
    levels: list[Level] = []
    flow: FlowPlace | None = None
    for above in range(line - 1, -1, -1):
        text = rows.lines[above]
        if text[: column + 1].strip(" ") == "" or rows.is_blank(above):
            continue
        row = rows.row(above)
        if row.column < column or (row.column == column and is_list and row.key is not None):
            value = text[row.value_start : row.value_start + 1]
            if value in {"{", "["}:
                flow = flow_at(rows.document, rows.starts[above] + row.value_start, within)
                levels.clear()
            if value and (flow is None or value not in {"{", "["}):
                return None, None
            if row.key is not None:
                levels.append((row.key, _BlockMapping(rows, above, row.column)))
            elif not value and not row.dashes:
                continue
            column, is_list = row.column, False
        for dash in reversed(row.dashes):
            if dash < column:
                levels.append((ITEM, None))
                column, is_list = dash, True
    return levels[::-1], flow


def _in_flow(rows: _Rows, base: int, place: FlowPlace, levels: Sequence[Level] | None, inner: Sequence[Level]) -> TypedField | None:
    """Return the field at a place of a flow that is the value of the last of *levels* and *inner*."""
    if levels is None:
        return None
    path, mappings = _split((*levels, *inner))
    within = [None if each.is_list else each for each in place.open]
    if place.open[-1].is_list:
        within.append(None)
    tail = rows.tail(place.end)
    return TypedField((*path, *place.path), (*mappings, *within), place.is_key, base + place.start, base + place.end, None, tail)


def _split(levels: Iterable[Level]) -> tuple[tuple[Part, ...], tuple[Collection | None, ...]]:
    listed = [*levels]
    return tuple(part for part, _ in listed), tuple(mapping for _, mapping in listed)


def _has_space(text: str) -> bool:
    return text[:1] not in {'"', "'"} and any(each.isspace() for each in text)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
