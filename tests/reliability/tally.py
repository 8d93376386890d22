"""What campaigns have tried and seen: a JSON file, replaced as a whole after each round, so that a run can end at any time.

The page of the documentation is written from it, and with the page a copy for runs on other machines: counts add up over all of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

import msgspec

from certs import store
from tests.reliability.campaign import LONGEST, Campaign, Round

FILE = Path(__file__).parents[2] / ".reliability.json"
PUBLISHED = Path(__file__).parent / "published.json"


class Entry(msgspec.Struct):
    """Sums of a campaign: the next seed, examples tried, seconds, failures with the seed of their round, and the figures of all rounds."""

    seed: int = 1
    tried: int = 0
    seconds: float = 0.0
    failures: list[tuple[int, str]] = []
    figures: dict[str, list[float]] = {}

    def add(self, done: Round, seconds: float) -> None:
        """Add a round, that of ``seed``."""
        self.tried += done.tried
        self.seconds += seconds
        self.failures += [(self.seed, each[:LONGEST]) for each in done.failures]
        for name, value in done.figures.items():
            self.figures.setdefault(name, []).append(value)
        self.seed += 1


def load() -> dict[str, Entry]:
    """Return the entries by name of their campaign; without a run on this machine those that are published.

    Raises:
        msgspec.DecodeError: the file is not ours.
    """
    file = FILE if FILE.exists() else PUBLISHED
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Entry])


def save(entries: Mapping[str, Entry]) -> None:
    """Replace the file of this machine."""
    _write(FILE, entries, store.PRIVATE)


def publish(entries: Mapping[str, Entry]) -> None:
    """Replace the file for other machines."""
    _write(PUBLISHED, entries, store.PUBLIC)


def _write(file: Path, entries: Mapping[str, Entry], mode: int) -> None:
    store.replace(file, msgspec.json.format(msgspec.json.encode(entries, order="sorted"), indent=2) + b"\n", mode)


def table(campaigns: Mapping[str, Campaign], entries: Mapping[str, Entry]) -> list[str]:
    """Return the lines of a Markdown table of the campaigns that have entries."""
    rows = [
        f"| {each.attack} | {each.holds} | {entries[name].tried:,} of {each.goal:,} | {_minutes(entries[name])} | {_seen(entries[name])} |"
        for name, each in campaigns.items()
        if name in entries
    ]
    return ["| attack | what must hold | tried | minutes | seen |", "|---|---|---|---|---|", *rows]


def _minutes(entry: Entry) -> str:
    minutes = entry.seconds / 60
    return f"{minutes:,.0f}" if minutes >= 10 or not minutes else f"{minutes:.1f}"


def _seen(entry: Entry) -> str:
    """Return what was seen: failures, and of each figure the median of the rounds with the least and the greatest."""
    if entry.seed == 1:
        return "not run"
    failed = f"{len(entry.failures):,} failure{'' if len(entry.failures) == 1 else 's'}" if entry.failures else "no failure"
    figures = (
        f"{name} {statistics.median(values):.3g}" + (f" ({min(values):.3g} to {max(values):.3g})" if len(values) > 1 else "")
        for name, values in entry.figures.items()
    )
    return "; ".join((failed, *figures))
