"""Turns, medians and tables: how all benchmarks measure and tell."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping, Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class Rounds:
    """Figures of several things, measured in turns: one list for each, the same round at the same place."""

    figures: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """The median of one thing's figures."""
        return statistics.median(self.figures[name])

    def ratios(self, name: str, beside: str) -> list[float]:
        """One thing's figure over the other's, for each round."""
        return [one / other for one, other in zip(self.figures[name], self.figures[beside], strict=True)]

    def ratio(self, name: str, beside: str) -> float:
        """The median of the pairwise ratios: what both suffer from does not count."""
        return statistics.median(self.ratios(name, beside))


def in_turns(runs: Mapping[str, Callable[[], float]], rounds: int) -> Rounds:
    """Measure each of *runs* *rounds* times, in turns, every second round backwards, after a first round that does not count."""
    figures: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name in list(runs)[:: 1 if number % 2 else -1]:
            figure = runs[name]()
            if number:
                figures[name].append(figure)
    return Rounds(figures)


def seconds(call: Callable[[], object], times: int) -> float:
    """Seconds for one call, out of *times*."""
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
    """Whether a figure keeps its limit, in words."""
    kept = figure >= limit if at_least else figure <= limit
    return "kept" if kept else "**missed**"
