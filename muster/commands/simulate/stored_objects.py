"""Objects of a large JSON file: the place of each is kept, and its text is read again when it is needed.

A file with one list of objects, or with one object per line, is read in parts.  A cluster takes much more space in its file than
in the tables that placement uses, so that memory does not depend on the size of the file.
"""

from __future__ import annotations

import os
import re
import stat
import weakref
from array import array
from collections.abc import Callable, Container, Iterator, Sequence

import click

from scheduler_core.loading.gathered import StoredObjects, StoredText, StoredTexts
from scheduler_core.model import wire, wire_texts

_PART = 4 * 1024**2
"""Bytes that are read at once."""
_HEAD = 64 * 1024
"""Bytes in which the items of a list must begin."""
_TRIES = 64
"""Number of places at which the end of the last whole object of a part is searched."""
_WINDOW, _NEAR = 1024**2, 64 * 1024
"""Bytes that are read ahead, and the distance of two texts up to which they are."""
_PLACE = "Q"
"""Type of the columns of places: 64 bits."""

_items = re.compile(rb'"items"[ \t\r\n]*+:[ \t\r\n]*+\[').search
_gap = re.compile(rb"[ \t\r\n]*+,?[ \t\r\n]*+").match
_between = re.compile(rb'\}[ \t\r\n]*+,[ \t\r\n]*+\{[ \t\r\n]*+"[^"\\]{1,64}"').finditer


class _NotSplitError(Exception):
    """A file is not read in parts."""


class OpenFile:
    """Regular file that stays open as long as its texts are used."""

    def __init__(self, path: str, name: str) -> None:
        """Open the file at *path*, which is called *name* in messages.

        Raises:
            OSError: it cannot be opened.

        """
        self._name = name
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)
        self._before = self._state()
        self.size = self._before[0]
        self._window, self._window_start, self._expected = b"", 0, 0

    def read(self, start: int, size: int) -> bytes:
        """Return up to *size* bytes from *start*."""
        return os.pread(self._descriptor, size, start)

    def text(self, start: int, size: int) -> bytes:
        """Return *size* bytes from *start*; a read that continues the one before is served from memory.

        Raises:
            click.UsageError: the file was changed.

        """
        at = start - self._window_start
        if not (at >= 0 and at + size <= len(self._window)):
            # Texts are mostly read in their order.
            ahead = _WINDOW if 0 <= start - self._expected < _NEAR else 0
            self._window, self._window_start, at = self.read(start, max(size, ahead)), start, 0
            if len(self._window) < size:
                self.check()
        self._expected = start + size
        return self._window[at : at + size]

    def check(self) -> None:
        """Refuse a file that was changed since it was opened.

        Raises:
            click.UsageError: it was changed.

        """
        if self._state() != self._before:
            raise click.UsageError(f"{self._name} was changed while it was read: run the command again")

    def _state(self) -> tuple[int, int]:
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns


class _FileText(StoredText):
    """Text in a file."""

    __slots__ = ("_file", "_size", "_start")

    def __init__(self, file: OpenFile, start: int, size: int) -> None:
        self._file, self._start, self._size = file, start, size

    def read(self) -> bytes:
        return self._file.text(self._start, self._size)


class _FileTexts(StoredTexts):
    """Texts in a file, as columns: a place takes 16 bytes."""

    def __init__(self, file: OpenFile, starts: array[int], sizes: array[int]) -> None:
        self.file, self.starts, self.sizes = file, starts, sizes

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, place: int) -> _FileText:
        return _FileText(self.file, self.starts[place], self.sizes[place])

    def without(self, places: Container[int]) -> _FileTexts:
        left = [place for place in range(len(self)) if place not in places]
        return _FileTexts(self.file, *(array(_PLACE, (column[place] for place in left)) for column in (self.starts, self.sizes)))


def size(path: str) -> int:
    """Return the size of a regular file in bytes; 0 for a pipe.

    Raises:
        OSError: there is no such file.

    """
    status = os.stat(path)  # noqa: PTH116 - names are kept as given
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


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
        for start, part, texts in parts:
            progress(start + len(part), file.size)
            sorter.add(part, start, texts)
        return sorter.stored()
    except (_NotSplitError, ValueError, RecursionError):
        file.check()
        return None


Part = tuple[int, bytes, Sequence[wire.Text]]
"""Place in the file, content, and the texts of the objects in it."""


def _list_parts(file: OpenFile, prefix: bytes) -> Iterator[Part]:
    """Yield the items of the list that begins with *prefix*."""
    start, rest, mark = len(prefix), b"", b""
    while part := file.read(start + len(rest), _PART):
        rest += part
        if start + len(rest) == file.size:
            break
        mark = mark or _first_mark(rest)
        end, texts = _whole_items(rest, mark)
        yield start, rest, texts
        end = _behind_gap(rest, end)
        start, rest = start + end, rest[end:]
    yield start, rest, _last_items(prefix, rest)


def _whole_items(part: bytes, mark: bytes) -> tuple[int, Sequence[wire.Text]]:
    """Return the end of the last whole item of *part* before a *mark*, and the items."""
    end = len(part)
    for _ in range(_TRIES):
        if (end := part.rfind(mark, 0, end)) < 0:
            break
        try:
            return end + 1, wire.ITEMS.decode(b"[%b]" % part[: end + 1])
        except ValueError:
            continue
    raise _NotSplitError


def _first_mark(part: bytes) -> bytes:
    """Return the bytes between the first two items, with the first key of the second one."""
    for number, found in enumerate(_between(part)):
        try:
            wire.ITEMS.decode(b"[%b]" % part[: found.start() + 1])
        except ValueError:
            if number > _TRIES:
                break
            continue
        return found[0]
    raise _NotSplitError


def _last_items(prefix: bytes, rest: bytes) -> Sequence[wire.Text]:
    """Return the items in *rest*, the end of the file."""
    whole, before = wire_texts.HEAD.decode(prefix + rest), _head(prefix)
    # A later field of the same name overrides the items, or their type.
    if not (prefix + rest).startswith(bytes(whole.items), len(prefix) - 1):
        raise _NotSplitError
    if before.kind is not None and (whole.api_version, whole.kind) != (before.api_version, before.kind):
        raise _NotSplitError
    items: Sequence[wire.Text] = wire.ITEMS.decode(whole.items)
    return items


def _line_parts(file: OpenFile) -> Iterator[Part]:
    start, rest = 0, b""
    while part := file.read(start + len(rest), _PART):
        rest += part
        end = len(rest) if start + len(rest) == file.size else rest.rfind(b"\n") + 1
        if not end:
            raise _NotSplitError
        yield start, rest, wire.VALUE.decode_lines(rest[:end])
        start, rest = start + end, rest[end:]


def _head(prefix: bytes) -> wire_texts.Head:
    """Return the fields of a list before its items; nothing if *prefix* is not the beginning of a list."""
    try:
        head: wire_texts.Head = wire_texts.HEAD.decode(prefix + b"]}")
    except ValueError:
        return wire_texts.Head()
    return head if bytes(head.items) == b"[]" else wire_texts.Head()


def _behind_gap(part: bytes, place: int) -> int:
    found = _gap(part, place)
    return found.end() if found is not None else place


class _Sorter:
    """Places of objects by type; *head* is that of their list."""

    def __init__(self, file: OpenFile, head: wire_texts.Head) -> None:
        self._file = file
        self._head = head
        self._columns: dict[tuple[object, object], tuple[array[int], array[int]]] = {}

    @property
    def in_list(self) -> bool:
        """Return whether the objects are the items of a list."""
        return bool(self._head.items)

    def add(self, part: bytes, start: int, texts: Sequence[wire.Text]) -> None:
        """Add the objects with *texts*, which follow each other in *part*; it begins at *start* in the file."""
        heads = wire_texts.HEADS.decode(b"[%b]" % b",".join(texts))
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
                columns = self._columns[key] = array(_PLACE), array(_PLACE)
            columns[0].append(start + begin)
            columns[1].append(end - begin)

    def stored(self) -> list[StoredObjects]:
        """Return the objects by type."""
        return [StoredObjects(*self._type(*key), _FileTexts(self._file, *columns)) for key, columns in self._columns.items()]

    def _type(self, api_version: object, kind: object) -> tuple[str, str]:
        if api_version is None and kind is None:
            api_version, kind = self._head.api_version, self._head.kind
            kind = kind.removesuffix("List") if isinstance(kind, str) else kind
        if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind and kind != "List"):
            raise _NotSplitError
        return kind, api_version
