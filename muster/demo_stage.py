"""Where the demonstration is shown: a terminal, or a file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from muster import demo_text

DATA = Path(__file__).parent / "demo_data"


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """Where the demonstration is shown."""

    colour: bool

    def say(self, line: str = "") -> None:
        """Print a line."""
        click.echo(line, color=self.colour)

    def title(self, text: str) -> None:
        """Begin a part."""
        self.say()
        self.say(click.style(text, bold=True))
        self.say(click.style("─" * demo_text.WIDTH, dim=True))

    def tell(self, text: str) -> None:
        """Print running text, and an empty line."""
        self.say(demo_text.paragraph(text))
        self.say()

    def command(self, text: str) -> None:
        """Print a command as one would type it."""
        self.say(f"{click.style('$', dim=True)} {click.style(text, bold=True)}")

    def outcome(self, verdict: str, colour: str, lines: list[str] | tuple[str, ...] = ()) -> None:
        """Print what came of it, and an empty line."""
        self.say(f"  {click.style(verdict, fg=colour)}")
        for line in lines:
            self.say(demo_text.fold(f"    {line}", "      "))
        self.say()
