"""Output of the demonstration: lines that fit on a terminal, results in colour."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

import click

from muster.commands.demo.child_processes import Shell

DATA = Path(__file__).parent / "data"
WIDTH = 100
"""Width of the terminal in columns."""
LAST_COLUMN = 60
"""Largest first column of a hanging indent, so that folded text has enough columns."""
LEFT_OUT = "…"
"""Mark of omitted lines."""
_MARKS = (
    ("green", r"\b(?:allowed|completed|created|replaced|condition met|Scheduled)\b"),
    ("yellow", r"\b(?:HTTP 400|Warning|with a warning|Unschedulable|Preempted|PreemptionByScheduler)\b"),
    ("red", r"\bis invalid:|\bInvalid\b|\brefused\b"),
)
"""Words of results, by their colour; at most one of each colour in a line is marked."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """Output of the demonstration: a terminal or a file."""

    colour: bool

    def line(self, text: str = "") -> None:
        """Print a line."""
        click.echo(text, color=self.colour)

    def title(self, text: str) -> None:
        """Begin a part."""
        self.line(f"\n{click.style(text, bold=True)}\n{click.style('─' * WIDTH, dim=True)}")

    def paragraph(self, text: str) -> None:
        """Print running text, and an empty line."""
        self.line("\n".join([*fold(text), ""]))

    def command(self, text: str, purpose: str = "") -> None:
        """Print a command behind a prompt, and below it what it is for."""
        typed = " \\\n".join(fold(f"$ {text}", "    ", WIDTH - 2)).removeprefix("$ ")
        self.line(f"{click.style('$', dim=True)} {click.style(typed, bold=True)}")
        if purpose:
            self.line(f"    {purpose}")

    def printed(self, lines: Iterable[str]) -> None:
        """Print the output of a command, and an empty line."""
        for line in lines:
            text = "\n".join(fold(f"  {line}", " " * hanging(f"  {line}")))
            for colour, words in _MARKS:
                text = re.sub(words, click.style(r"\g<0>", fg=colour), text, count=1)
            self.line(text)
        self.line()

    def run(self, shell: Shell, line: str, *expected: str, refused: bool = False, since: str = "") -> None:
        """Run a command in a shell, as ``Shell.run``, and show its output from the line that begins with *since*."""
        self.command(line)
        output = shell.run(line, *expected, refused=refused)
        first = next((number for number, each in enumerate(output) if each.startswith(since)), 0)
        self.printed([LEFT_OUT, *output[first:]] if first else output)


def fold(text: str, indent: str = "", width: int = WIDTH) -> list[str]:
    """Return *text* as lines, folded at spaces, with further lines indented.  A word that is longer than a line stays whole."""
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def hanging(line: str) -> int:
    """Return the indent of further lines of *line*: that of its last column, or a little more than its beginning."""
    starts = [match.end() for match in re.finditer(r"\S {2,}(?=\S)", line)]
    return starts[-1] if starts and starts[-1] <= LAST_COLUMN else len(line) - len(line.lstrip()) + 4
