"""Counts of evaluated candidate placements (KEP-5732, Monitoring Requirements)."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(slots=True)
class Counters:
    """Running counts.

    Attributes:
        generated: candidate placements of groups.
        feasible: candidates that can hold their group.  A candidate whose result is cached is counted each time.
        infeasible: candidates that cannot.

    """

    generated: int = 0
    feasible: int = 0
    infeasible: int = 0

    def add(self, candidates: int, feasible: int) -> None:
        """Count *candidates* evaluated placements, *feasible* of them feasible."""
        self.generated += candidates
        self.feasible += feasible
        self.infeasible += candidates - feasible

    def join(self, other: Counters) -> None:
        """Add the counts of *other*."""
        self.generated += other.generated
        self.feasible += other.feasible
        self.infeasible += other.infeasible
