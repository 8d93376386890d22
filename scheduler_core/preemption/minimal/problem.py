"""What the search for the best units is about: a root, who may leave for it, and what can be said without looking further."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.topology import Placement
from scheduler_core.preemption.bounds.shortage import NEVER, Shortage
from scheduler_core.preemption.minimal.trials import Question
from scheduler_core.preemption.plans.plan_cost import PlanCost
from scheduler_core.preemption.units.units import Units


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PlanProblem:
    """A root and the units that may leave for it.

    Attributes:
        able: units that may leave, ascending; others stay, or are gone already.
        broken: whether they may break disruption budgets.
        bounds: for each domain of the question: no plan there breaks fewer units.

    """

    question: Question
    units: Units
    worth: PlanCost
    able: Ints
    broken: bool
    shortage: Shortage
    bounds: tuple[int, ...]

    def allowed(self, numbers: Iterable[int]) -> bool:
        """Whether these units may leave together."""
        return self.broken or not self.worth.breaks(numbers)

    def promising(self) -> list[tuple[int, Placement]]:
        """The domains where the root may fit, with their bounds: first where the fewest units may do, and those worth little."""
        ranks = dict(zip(self.able.tolist(), self.worth.ranks(self.able).tolist(), strict=True))
        found = []
        for number, (bound, domain) in enumerate(zip(self.bounds, self.question.domains, strict=True)):
            if bound < NEVER:
                there = sorted(ranks[unit] for unit in self.shortage.units_on(domain.nodes).tolist())
                found.append((bound, sum(there[: max(bound, 1)]), number, domain))
        return [(bound, domain) for bound, _, _, domain in sorted(found, key=lambda each: each[:3])]


def problem(question: Question, units: Units, worth: PlanCost, able: Ints, *, broken: bool) -> PlanProblem:
    """The problem of *question* with those of *able* who break no disruption budget by themselves; with all of them if *broken*."""
    if not broken:
        breaking = [number for number in worth.guarded if worth.breaks([number])]
        able = np.setdiff1d(able, np.array(breaking, dtype=np.int64), assume_unique=True)
    chosen: Bools = np.zeros(len(units), dtype=bool)
    chosen[able] = True
    gone: Bools = np.zeros(len(units), dtype=bool)
    gone[list(worth.free)] = True
    of, amounts = units.unit_of, units.amounts(len(question.state.ledger.used))
    shortage = Shortage(question.state, units, np.flatnonzero(chosen[of]), amounts, np.flatnonzero(gone[of]))
    bounds = tuple(shortage.at_least(question.demand, domain) for domain in question.domains)
    return PlanProblem(question, units, worth, able, broken, shortage, bounds)
