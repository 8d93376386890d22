"""Mutation testing: a small change of the source, by an operator of Cosmic Ray, must make a test fail."""

from __future__ import annotations

import random
import sys

from tests.reliability.campaign import Campaign, Round
from tests.reliability.source_mutants import explained, measured_tests, sites, trial
from tests.reliability.source_mutants.sites import Mutant
from tests.reliability.source_mutants.trial import Outcome

OF_AREA = 10
"""Mutants of each area in a round."""


def drawn(seed: int) -> list[Mutant]:
    """Return the mutants of a round: as many of each area, of its files in proportion to their length."""
    chance = random.Random(seed)
    mutants: dict[str, Mutant] = {}
    for number, area in enumerate(measured_tests.AREAS, 1):
        files = measured_tests.mutated_files(area)
        sizes = [(measured_tests.ROOT / each).read_bytes().count(b"\n") for each in files]
        while len(mutants) < number * OF_AREA:
            if mutant := sites.draw(chance, *chance.choices(files, sizes)):
                mutants[mutant.name] = mutant
    return list(mutants.values())


def run(seed: int) -> Round:
    """Try the mutants of a round.  A survivor is a failure unless it is explained."""
    mutants = drawn(seed)
    tests, not_measured = measured_tests.measured()
    for each in not_measured:
        print(f"mutants: {each} could not be measured; it counts as no test", file=sys.stderr, flush=True)
    ended = list(zip(mutants, trial.outcomes(mutants, tests), strict=True))
    survived = [(mutant.name, outcome) for mutant, (outcome, _) in ended if outcome in {Outcome.SURVIVED, Outcome.NO_TEST}]
    open_ones = [f"{outcome.name.lower()}: {name}" for name, outcome in survived if not explained.why(name)]
    counts = {each: sum(outcome is each for _, (outcome, _) in ended) for each in Outcome}
    return Round(
        len(mutants),
        tuple(open_ones),
        {
            "% killed": 100 - 100 * len(survived) / len(mutants),
            "timed out": counts[Outcome.TIMED_OUT],
            "not imported": counts[Outcome.NOT_IMPORTED],
            "explained": len(survived) - len(open_ones),
            "test files not measured": len(not_measured),
        },
    )


CAMPAIGN = Campaign(
    "mutants",
    "changed operators, conditions and numbers in the source of rules, plugins, preemption, feasibility and certificates",
    "a test fails, or the change is explained",
    1000,
    run,
)
