"""Alternating rounds, medians and tables for all benchmarks."""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class Rounds:
    """Figures of several runs, measured alternately: one list for each run, with one figure for each round."""

    figures: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """Return the median of one run's figures."""
        return statistics.median(self.figures[name])

    def ratios(self, name: str, base: str) -> list[float]:
        """Return the figure of *name* divided by that of *base*, for each round."""
        return [one / other for one, other in zip(self.figures[name], self.figures[base], strict=True)]

    def ratio(self, name: str, base: str) -> float:
        """Return the median ratio; disturbances that affect both figures of a round cancel out."""
        return statistics.median(self.ratios(name, base))


def as_installed() -> dict[str, str]:
    """Return the environment of a command whose modules stay compiled after its first run, as after an installation."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def in_turns(runs: Mapping[str, Callable[[], float]], rounds: int) -> Rounds:
    """Measure all *runs* alternately, *rounds* times, in reverse order in every second round, after a warm-up round."""
    figures: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name in list(runs)[:: 1 if number % 2 else -1]:
            figure = runs[name]()
            if number:
                figures[name].append(figure)
    return Rounds(figures)


def seconds(call: Callable[[], object], times: int) -> float:
    """Return the seconds per call, averaged over *times* calls."""
    started = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - started) / times


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print(f"### {title}\n")
    print(f"| {' | '.join(columns)} |")
    print(f"|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(flush=True)


def verdict(figure: float, limit: float, *, at_least: bool) -> str:
    """Return ``kept`` if *figure* is within *limit*, else ``**missed**``."""
    within = figure >= limit if at_least else figure <= limit
    return "kept" if within else "**missed**"
