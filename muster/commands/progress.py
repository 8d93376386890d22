"""Progress on standard error, for long work on a terminal."""

from __future__ import annotations

import sys
import time

import click

from validators.reports.counts import counted

_FIRST_SECONDS = 1.0
"""Seconds before the first line."""
_PERIOD_SECONDS = 0.1
"""Seconds between two lines."""


class Progress:
    """Line on the terminal that is rewritten, and removed at the end; *command* is the name of the subcommand."""

    def __init__(self, command: str = "simulate") -> None:
        self._command = command
        self._enabled = sys.stderr.isatty()
        self._due = time.monotonic() + _FIRST_SECONDS
        self._width = 0

    def show(self, text: str) -> None:
        """Print *text* at once."""
        if self._enabled:
            self._write(text)

    def roots(self, done: int, total: int) -> None:
        """Print the number of decided roots."""
        if self._enabled and (now := time.monotonic()) >= self._due:
            self._due = now + _PERIOD_SECONDS
            self._write(f"{done:,} of {counted(total, 'root')} decided")

    def end(self) -> None:
        """Remove the line."""
        if self._width:
            click.echo(f"\r{' ' * self._width}\r", err=True, nl=False)
            self._width = 0

    def _write(self, text: str) -> None:
        line = f"muster {self._command}: {text}"
        click.echo(f"\r{line.ljust(self._width)}", err=True, nl=False)
        self._width = len(line)
