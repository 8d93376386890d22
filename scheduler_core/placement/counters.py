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
        of_composites: the feasible and the infeasible ones among them whose group is a CompositePodGroup.

    """

    generated: int = 0
    feasible: int = 0
    infeasible: int = 0
    of_composites: tuple[int, int] = (0, 0)

    def add(self, candidates: int, feasible: int, *, composite: bool = False) -> None:
        """Count *candidates* evaluated placements of one group, *feasible* of them feasible."""
        if composite:
            self._add_of_composites(feasible, candidates - feasible)
        self.generated += candidates
        self.feasible += feasible
        self.infeasible += candidates - feasible

    def join(self, other: Counters) -> None:
        """Add the counts of *other*."""
        self.generated += other.generated
        self.feasible += other.feasible
        self.infeasible += other.infeasible
        self._add_of_composites(*other.of_composites)

    def _add_of_composites(self, feasible: int, infeasible: int) -> None:
        self.of_composites = self.of_composites[0] + feasible, self.of_composites[1] + infeasible
