"""Output of the demonstration: a terminal or a file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import click

from muster.commands.demo import wording

DATA = Path(__file__).parent / "data"
LEFT_OUT = "…"
"""Mark of omitted lines."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """Output of the demonstration."""

    colour: bool

    def line(self, text: str = "") -> None:
        """Print a line."""
        click.echo(text, color=self.colour)

    def title(self, text: str) -> None:
        """Begin a part."""
        self.line()
        self.line(click.style(text, bold=True))
        self.line(click.style("─" * wording.WIDTH, dim=True))

    def paragraph(self, text: str) -> None:
        """Print running text, and an empty line."""
        self.line(wording.paragraph(text))
        self.line()

    def command(self, text: str) -> None:
        """Print a command behind a prompt."""
        self.line(f"{click.style('$', dim=True)} {click.style(wording.typed(text), bold=True)}")

    def printed(self, lines: Sequence[str]) -> None:
        """Print the output of a command, and an empty line."""
        for line in lines:
            whole = f"  {line.rstrip()}"
            self.line(wording.fold(_marked(whole), " " * wording.hanging(whole)) if line.strip() else "")
        self.line()

    def outcome(self, verdict: str, colour: str, lines: list[str] | tuple[str, ...] = ()) -> None:
        """Print a result, and an empty line."""
        self.line(f"  {click.style(verdict, fg=colour)}")
        for line in lines:
            self.line(wording.fold(f"    {line}", "      "))
        self.line()


_MARKS = (
    ("green", r"\b(?:created|replaced|condition met|Scheduled)\b"),
    ("yellow", r"\b(?:Warning|Unschedulable|Preempted|PreemptionByScheduler)\b"),
    ("red", r"\bis invalid:|\bInvalid\b"),
)
"""Words of results, by their colour."""


def _marked(line: str) -> str:
    """Return *line* with result words in colour, at most one of each colour."""
    for colour, words in _MARKS:
        line = re.sub(words, click.style(r"\g<0>", fg=colour), line, count=1)
    return line
