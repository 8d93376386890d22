"""Standard output that names itself in its errors, so that the front door can tell a full disk in one line.

A command prints where it has something to print; of what file an ``OSError`` is that comes of it, nobody could say there.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

NAME = "standard output"


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Within it, what cannot be written to standard output is an ``OSError`` with its name; all is written when it ends.

    Standard output that another has put in place, as a test does, stays as it is.

    Raises:
        OSError: what was still in a buffer cannot be written.

    """
    before: TextIO | None = sys.stdout
    if before is not sys.__stdout__:
        yield
        return
    sys.stdout = stream = _named(before)
    try:
        yield
    finally:
        sys.stdout = before
        stream.flush()


class _Output(io.FileIO):
    """After an error it takes everything and writes nothing: buffers are flushed once more at the end, and would fail again."""

    _failed = False

    def write(self, content: Any, /) -> int:
        if self._failed:
            return memoryview(content).nbytes
        try:
            return os.write(self.fileno(), content)
        except OSError as error:
            self._failed = True
            raise OSError(error.errno, error.strerror, NAME) from None


def _named(stream: TextIO | None) -> TextIO:
    if stream is None:
        # Opened to be read, it cannot be written either; and no file that is opened later has the number of standard output.
        return io.TextIOWrapper(io.BufferedWriter(_Output(os.open(os.devnull, os.O_RDONLY), "w")), encoding="utf-8")
    raw = _Output(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=stream.isatty())
