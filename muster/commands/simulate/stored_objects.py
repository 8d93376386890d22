"""Objects of a large JSON file: the place of each is kept, and its text is read again when it is needed.

A file with one list of objects, or with one object per line, is read in parts.  A cluster takes much more space in its file than
in the tables that placement uses, so that memory does not depend on the size of the file.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence

from kubeapi import decode, json_values
from kubeapi.gathered import StoredObjects
from kubeapi.object_heads import HEAD, HEADS, Head
from muster.commands.simulate.file_texts import PART, PLACE, FileTexts, OpenFile

_LARGEST_PART = 8 * 1024**2
"""Bytes up to which more is read until a part has a whole object."""
_HEAD = 64 * 1024
"""Bytes in which the items of a list must begin."""
_TRIES = 64
"""Number of places at which the end of the last whole object of a part is searched."""

_items = re.compile(rb'"items"[ \t\r\n]*+:[ \t\r\n]*+\[').search
_gap = re.compile(rb"[ \t\r\n]*+,?[ \t\r\n]*+").match
_between = re.compile(rb'\}[ \t\r\n]*+,[ \t\r\n]*+\{[ \t\r\n]*+"[^"\\]{1,64}"').finditer


class _NotSplitError(Exception):
    """A file is not read in parts."""


def read_objects(file: OpenFile, progress: Callable[[int, int], None]) -> list[StoredObjects] | None:
    """Return the objects of a file; None if it must be read whole, for example because it is not valid JSON.

    *progress* is called with the bytes that are read, and all bytes.
    """
    first = file.read(0, _HEAD)
    found = _items(first)
    prefix = first[: found.end()] if found is not None else b""
    sorter = _Sorter(file, _head(prefix))
    try:
        parts = _list_parts(file, prefix) if sorter.in_list else _line_parts(file)
        for start, part, texts, heads in parts:
            progress(start + len(part), file.size)
            sorter.add(part, start, texts, heads)
        return sorter.stored()
    except (_NotSplitError, ValueError, RecursionError):
        file.check()
        return None


Part = tuple[int, bytes, Sequence[decode.Text], Sequence[Head]]
"""Place in the file, content, and the texts and types of the objects in it."""


def _list_parts(file: OpenFile, prefix: bytes) -> Iterator[Part]:
    """Yield the items of the list that begins with *prefix*."""
    start, rest, mark = len(prefix), b"", b""
    while part := file.read(start + len(rest), PART):
        rest += part
        if start + len(rest) == file.size:
            break
        try:
            mark = mark or _first_mark(rest)
            end, texts, heads = _whole_items(rest, mark)
        except _NotSplitError:
            if len(rest) > _LARGEST_PART:
                raise
            continue
        yield start, rest, texts, heads
        end = _behind_gap(rest, end)
        start, rest = start + end, rest[end:]
    yield start, rest, *_texts_and_heads(_last_items(prefix, rest))


def _texts_and_heads(items: decode.Text) -> tuple[Sequence[decode.Text], Sequence[Head]]:
    """Return the texts and types of *items*, a JSON list."""
    return decode.ITEMS.decode(items), HEADS.decode(items)


def _whole_items(part: bytes, mark: bytes) -> tuple[int, Sequence[decode.Text], Sequence[Head]]:
    """Return the end of the last whole item of *part* before a *mark*, and the texts and types of the items."""
    end = len(part)
    for _ in range(_TRIES):
        if (end := part.rfind(mark, 0, end)) < 0:
            break
        try:
            return end + 1, *_texts_and_heads(b"".join((b"[", memoryview(part)[: end + 1], b"]")))
        except ValueError:
            continue
    raise _NotSplitError


def _first_mark(part: bytes) -> bytes:
    """Return the bytes between the first two items, with the first key of the second one."""
    for number, found in enumerate(_between(part)):
        try:
            decode.ITEMS.decode(b"[%b]" % part[: found.start() + 1])
        except ValueError:
            if number > _TRIES:
                break
            continue
        return found[0]
    raise _NotSplitError


def _last_items(prefix: bytes, rest: bytes) -> decode.Text:
    """Return the items in *rest*, the end of the file, as a list."""
    whole, before = HEAD.decode(prefix + rest), _head(prefix)
    # A later field of the same name overrides the items, or their type.
    if not (prefix + rest).startswith(bytes(whole.items), len(prefix) - 1):
        raise _NotSplitError
    if before.kind is not None and (whole.api_version, whole.kind) != (before.api_version, before.kind):
        raise _NotSplitError
    return whole.items


def _line_parts(file: OpenFile) -> Iterator[Part]:
    start, rest = 0, b""
    while part := file.read(start + len(rest), PART):
        rest += part
        end = len(rest) if start + len(rest) == file.size else rest.rfind(b"\n") + 1
        if not end and len(rest) <= _LARGEST_PART:
            continue
        if not end:
            raise _NotSplitError
        lines = rest[:end]
        yield start, rest, decode.VALUE.decode_lines(lines), HEAD.decode_lines(lines)
        start, rest = start + end, rest[end:]


def _head(prefix: bytes) -> Head:
    """Return the fields of a list before its items; nothing if *prefix* is not the beginning of a list."""
    try:
        head: Head = HEAD.decode(prefix + b"]}")
    except ValueError:
        return Head()
    return head if bytes(head.items) == b"[]" else Head()


def _behind_gap(part: bytes, place: int) -> int:
    found = _gap(part, place)
    return found.end() if found is not None else place


class _Sorter:
    """Places of objects by type; *head* is that of their list."""

    def __init__(self, file: OpenFile, head: Head) -> None:
        self._file = file
        self._head = head
        self._columns: dict[tuple[object, object], tuple[array[int], array[int]]] = {}

    @property
    def in_list(self) -> bool:
        """Return whether the objects are the items of a list."""
        return bool(self._head.items)

    def add(self, part: bytes, start: int, texts: Sequence[decode.Text], heads: Sequence[Head]) -> None:
        """Add the objects with *texts* and types, which follow each other in *part*; it begins at *start* in the file."""
        if any(each.items for each in heads):
            # A list in a list, or a kind with a field of this name.
            raise _NotSplitError
        end, gap = 0, b""
        for text, head in zip(texts, heads, strict=True):
            # Mostly there is the same between all objects.
            begin = end + len(gap)
            if part[end : begin + 1] != gap + b"{":
                begin = _behind_gap(part, end)
                gap = part[end:begin]
            end = begin + len(text)
            key = head.api_version, head.kind
            if (columns := self._columns.get(key)) is None:
                columns = self._columns[key] = array(PLACE), array(PLACE)
            columns[0].append(start + begin)
            columns[1].append(end - begin)
        # Almost all parts have no such text, so that it is not searched object by object.
        if json_values.is_doubtful(part[:end]) and any(map(json_values.refusal, texts)):
            raise _NotSplitError

    def stored(self) -> list[StoredObjects]:
        """Return the objects by type."""
        return [StoredObjects(*self._type(*key), FileTexts(self._file, *columns)) for key, columns in self._columns.items()]

    def _type(self, api_version: object, kind: object) -> tuple[str, str]:
        if api_version is None and kind is None:
            api_version, kind = self._head.api_version, self._head.kind
            kind = kind.removesuffix("List") if isinstance(kind, str) else kind
        if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind and kind != "List"):
            raise _NotSplitError
        return kind, api_version
