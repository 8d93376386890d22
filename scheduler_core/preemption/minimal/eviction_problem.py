"""The problem of a minimal plan: a root, the units that can be evicted for it, and cheap lower bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.topology import Placement
from scheduler_core.preemption.bounds.shortage import IMPOSSIBLE, Shortage
from scheduler_core.preemption.minimal.trials import RootRequirements
from scheduler_core.preemption.plans.plan_cost import PlanCost
from scheduler_core.preemption.units.preemption_units import Units


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PlanProblem:
    """A root and the units that can be evicted for it.

    Attributes:
        candidates: units that can be evicted, ascending; all others stay, or are gone already.
        allow_violations: True if plans can break disruption budgets.
        bounds: lower bound on the number of units, for each domain of the root.

    """

    requirements: RootRequirements
    units: Units
    cost: PlanCost
    candidates: Ints
    allow_violations: bool
    shortage: Shortage
    bounds: tuple[int, ...]

    def is_allowed(self, numbers: Iterable[int]) -> bool:
        """Return whether these units can be evicted together."""
        return self.allow_violations or not self.cost.violations(numbers)

    def domains_by_bound(self) -> list[tuple[int, Placement]]:
        """Return the feasible domains with their lower bounds; small bounds first, then cheap units."""
        ranks = dict(zip(self.candidates.tolist(), self.cost.ranks(self.candidates).tolist(), strict=True))
        domains = []
        for number, (bound, domain) in enumerate(zip(self.bounds, self.requirements.domains, strict=True)):
            if bound < IMPOSSIBLE:
                unit_ranks = sorted(ranks[unit] for unit in self.shortage.units_on(domain.nodes).tolist())
                domains.append((bound, sum(unit_ranks[: max(bound, 1)]), number, domain))
        return [(bound, domain) for bound, _, _, domain in sorted(domains, key=lambda each: each[:3])]


def plan_problem(requirements: RootRequirements, units: Units, cost: PlanCost, candidates: Ints, *, allow_violations: bool) -> PlanProblem:
    """Return the problem of *requirements* with *candidates* as victims.

    Without *allow_violations*, candidates that break a budget by themselves are left out.
    """
    if not allow_violations:
        breaking = [number for number in cost.protected if cost.violations([number])]
        candidates = np.setdiff1d(candidates, np.array(breaking, dtype=np.int64), assume_unique=True)
    evictable: Bools = np.zeros(len(units), dtype=bool)
    evictable[candidates] = True
    released: Bools = np.zeros(len(units), dtype=bool)
    released[list(cost.free)] = True
    unit_of, amounts = units.unit_of, units.amounts(len(requirements.state.ledger.used))
    shortage = Shortage(requirements.state, units, np.flatnonzero(evictable[unit_of]), amounts, np.flatnonzero(released[unit_of]))
    bounds = tuple(shortage.least_units(requirements.demand, domain) for domain in requirements.domains)
    return PlanProblem(requirements, units, cost, candidates, allow_violations, shortage, bounds)
