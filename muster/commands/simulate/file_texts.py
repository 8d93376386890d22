"""Texts of objects that stay in a file: each is read again when it is needed."""

from __future__ import annotations

import bisect
import os
import stat
import weakref
from array import array
from collections.abc import Container, Iterator

import click

from kubeapi.gathered import NameSearch, StoredText, StoredTexts

PART = 512 * 1024
"""Bytes that are read at once, which a processor keeps near."""
PLACE = "Q"
"""Type of the columns of places: 64 bits."""
_WINDOW, _NEAR = 1024**2, 64 * 1024
"""Bytes that are read ahead, and the distance of two texts up to which they are."""


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

    def window(self, start: int, size: int, most: int = 0) -> bytes:
        """Return at least *size* bytes from *start*, and up to *most*.

        Raises:
            click.UsageError: the file was changed.

        """
        window = self.read(start, max(size, most))
        if len(window) < size:
            self.check()
        return window

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


class FileText(StoredText):
    """Text in a file."""

    __slots__ = ("_file", "_size", "_start")

    def __init__(self, file: OpenFile, start: int, size: int) -> None:
        self._file, self._start, self._size = file, start, size

    def read(self) -> bytes:
        """See StoredText."""
        return self._file.text(self._start, self._size)


class FileTexts(StoredTexts):
    """Texts in a file, as columns: a place takes 16 bytes."""

    def __init__(self, file: OpenFile, starts: array[int], sizes: array[int]) -> None:
        self.file, self.starts, self.sizes = file, starts, sizes

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, place: int) -> FileText:
        return FileText(self.file, self.starts[place], self.sizes[place])

    def read_all(self) -> Iterator[bytes]:
        """See StoredTexts."""
        window, begin, end = b"", 0, 0
        for start, length in zip(self.starts, self.sizes, strict=True):
            if start < begin or start + length > end:
                window = self.file.window(start, length, PART)
                begin, end = start, start + len(window)
            yield window[start - begin : start - begin + length]

    def with_names(self, names: NameSearch) -> Iterator[int]:
        """See StoredTexts."""
        place, size = 0, len(self)
        if not names.are_few:
            yield from range(size)
            return
        while place < size:
            start = self.starts[place]
            end = bisect.bisect_right(self.starts, start + PART, place)
            text = self.file.window(start, self.starts[end - 1] + self.sizes[end - 1] - start)
            yield from sorted({bisect.bisect_right(self.starts, start + each, place, end) - 1 for each in names.places(text)})
            place = end

    def without(self, places: Container[int]) -> FileTexts:
        """See StoredTexts."""
        left = [place for place in range(len(self)) if place not in places]
        return FileTexts(self.file, *(array(PLACE, (column[place] for place in left)) for column in (self.starts, self.sizes)))


def size(path: str) -> int:
    """Return the size of a regular file in bytes; 0 for a pipe.

    Raises:
        OSError: there is no such file.

    """
    status = os.stat(path)  # noqa: PTH116 - names are kept as given
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
