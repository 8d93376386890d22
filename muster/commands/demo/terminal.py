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
"""Stands for lines of a command that are not shown."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """Output of the demonstration."""

    colour: bool

    def say(self, line: str = "") -> None:
        """Print a line."""
        click.echo(line, color=self.colour)

    def title(self, text: str) -> None:
        """Begin a part."""
        self.say()
        self.say(click.style(text, bold=True))
        self.say(click.style("─" * wording.WIDTH, dim=True))

    def tell(self, text: str) -> None:
        """Print running text, and an empty line."""
        self.say(wording.paragraph(text))
        self.say()

    def command(self, text: str) -> None:
        """Print a command as one would type it."""
        self.say(f"{click.style('$', dim=True)} {click.style(wording.typed(text), bold=True)}")

    def printed(self, lines: Sequence[str]) -> None:
        """Print what a command printed, and an empty line."""
        for line in lines:
            whole = f"  {line.rstrip()}"
            self.say(wording.fold(_marked(whole), " " * wording.hanging(whole)) if line.strip() else "")
        self.say()

    def outcome(self, verdict: str, colour: str, lines: list[str] | tuple[str, ...] = ()) -> None:
        """Print what came of it, and an empty line."""
        self.say(f"  {click.style(verdict, fg=colour)}")
        for line in lines:
            self.say(wording.fold(f"    {line}", "      "))
        self.say()


_MARKS = (
    ("green", r"\b(?:created|replaced|condition met|Scheduled)\b"),
    ("yellow", r"\b(?:Warning|Unschedulable|Preempted|PreemptionByScheduler)\b"),
    ("red", r"\bis invalid:|\bInvalid\b"),
)
"""The words that tell what came of something, by their colour."""


def _marked(line: str) -> str:
    """*line* with those words in colour: at most one of each colour."""
    for colour, words in _MARKS:
        line = re.sub(words, click.style(r"\g<0>", fg=colour), line, count=1)
    return line
