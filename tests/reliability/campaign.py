"""An attack in rounds.  A round is repeated exactly by its seed; the counts of all rounds add up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

LONGEST = 400
"""Characters of a failure that are kept."""


@dataclasses.dataclass(frozen=True, slots=True)
class Round:
    """Result of one round: how many examples were tried, what did not hold, each with enough to repeat it, and figures by name and unit."""

    tried: int
    failures: tuple[str, ...] = ()
    figures: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Campaign:
    """One attack.

    Attributes:
        name: name for the command line.
        attack: what is done, for the table.
        holds: what must hold.
        goal: number of examples after which the attack counts as complete.
        run: runs the round of a seed; it should take at most two minutes on two cores, a world five.  Raises MissingError if a program that it
            needs was not built.
        only_named: whether it runs only if the command line names it, since a round takes longer.

    """

    name: str
    attack: str
    holds: str
    goal: int
    run: Callable[[int], Round]
    only_named: bool = False
