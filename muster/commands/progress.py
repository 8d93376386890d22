"""Progress on standard error, for long work on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

import click

from validators.reports.counts import counted

_FIRST_SECONDS = 1.0
"""Seconds before the first line."""
_PERIOD_SECONDS = 0.1
"""Seconds between two lines."""
_BAR_WIDTH = 30
"""Columns of a bar."""

_USUAL_COLUMNS = 80
"""Columns of a terminal that does not tell how many it has."""

T = TypeVar("T")


class Progress:
    """Line with a bar on the terminal that is rewritten, and removed at the end; *command* is the name of the subcommand.

    Nothing is written if standard error is no terminal, or one that cannot return to the beginning of a line (``TERM=dumb``).
    """

    def __init__(self, command: str = "simulate") -> None:
        self._command = command
        self._enabled = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._due = time.monotonic() + _FIRST_SECONDS
        self._width = 0

    def show(self, text: str) -> None:
        """Print *text* at once."""
        if self._enabled:
            self._write(f"muster {self._command}: {text}")

    def roots(self, done: int, total: int) -> None:
        """Print the number of decided roots."""
        self.part(f"{done:,} of {counted(total, 'root')} decided", done, total)

    def part(self, text: str, done: int, total: int) -> None:
        """Print *text*, with a bar of which *done* of *total* is full."""
        if not self._enabled or (now := time.monotonic()) < self._due:
            return
        self._due = now + _PERIOD_SECONDS
        # Its line is written here, because Click's bar hides the cursor, and stays when it is complete.
        bar = click.progressbar(length=max(total, 1), label=f"muster {self._command}: {text}", width=_BAR_WIDTH, file=sys.stderr)
        bar.pos, bar.show_eta = done, False
        self._write(bar.format_progress_line())

    def over(self, items: Iterable[T], total: int, text: str) -> Iterator[T]:
        """Yield *items*, of which there are *total*, and print *text* with a bar meanwhile."""
        for number, each in enumerate(items):
            self.part(text, number, total)
            yield each

    def end(self) -> None:
        """Remove the line."""
        if self._width:
            click.echo(f"\r{' ' * self._width}\r", err=True, nl=False)
            self._width = 0

    def _write(self, line: str) -> None:
        # A line that wraps could not be removed.
        line = line[: _columns() - 1]
        click.echo(f"\r{line.ljust(self._width)}", err=True, nl=False)
        self._width = len(line)


def _columns() -> int:
    try:
        # 0 if the terminal does not tell.
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS
