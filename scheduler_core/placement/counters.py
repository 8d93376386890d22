"""How many candidate placements were looked at (KEP-5732, Monitoring Requirements)."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(slots=True)
class Counters:
    """A count that goes on.

    Attributes:
        generated: candidate placements of groups.
        feasible: those that were evaluated and can hold their group; one that did not change since is not evaluated again,
            and counts each time all the same.
        infeasible: those that cannot.

    """

    generated: int = 0
    feasible: int = 0
    infeasible: int = 0

    def add(self, candidates: int, feasible: int) -> None:
        """So many candidates were evaluated, of which so many are feasible."""
        self.generated += candidates
        self.feasible += feasible
        self.infeasible += candidates - feasible

    def join(self, other: Counters) -> None:
        """Add what *other* counted."""
        self.generated += other.generated
        self.feasible += other.feasible
        self.infeasible += other.infeasible
