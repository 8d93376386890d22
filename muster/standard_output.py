"""Standard output whose errors name it, so that a full disk is reported in one line; and text for terminals.

Commands print in many places, and an ``OSError`` of a print does not say which file it is about.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import click

NAME = "standard output"
LEAST, WIDTH, MOST = 60, 100, 200
"""Columns of text on standard output: the fewest, those where there is no terminal, and the most."""


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Context in which a failed write to standard output is an ``OSError`` with its name; the end flushes all buffers.

    A replaced standard output, for example by a test, is not changed.

    Raises:
        OSError: the rest of a buffer cannot be written.

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
        # The language server closes it when the editor ends the connection; that writes the rest of the buffer.
        if not stream.closed:
            stream.flush()


def is_colourful() -> bool:
    """Return whether standard output is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """Return the width of text on standard output: ``COLUMNS``, else that of the terminal, else 100; 60 to 200."""
    return known_columns() or WIDTH


def known_columns() -> int | None:
    """Return the width of text that programs read too: None if there is neither a terminal nor ``COLUMNS``."""
    wide = os.environ.get("COLUMNS", "")
    if not re.fullmatch("[1-9][0-9]{0,8}", wide):
        try:
            wide = str(os.get_terminal_size(sys.stdout.fileno()).columns) if sys.stdout.isatty() else ""
        except (OSError, ValueError):
            wide = ""
    return max(LEAST, min(int(wide), MOST)) if wide else None


def write_lines(text: str) -> None:
    """Write *text* for people: a terminal obeys none of its characters but line ends and colours."""
    # Imported late: the help imports nothing but Click.
    from validators.reports.escape import printable_lines

    write(printable_lines(text))


def report(line: str) -> None:
    """Write one line for people to standard error; a terminal obeys none of its characters."""
    from validators.reports.escape import printable

    click.echo(printable(line), err=True)


def write(text: str) -> None:
    """Write *text* as UTF-8 whatever the locale: names can be in any script, and JSON is UTF-8."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


class _Output(io.FileIO):
    """File that after an error accepts everything and writes nothing: the flush at the end would fail again."""

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
        # It is opened for reading, so every write fails.  No file that is opened later gets the file descriptor of standard output.
        return io.TextIOWrapper(io.BufferedWriter(_Output(os.open(os.devnull, os.O_RDONLY), "w")), encoding="utf-8")
    raw = _Output(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=stream.isatty())
