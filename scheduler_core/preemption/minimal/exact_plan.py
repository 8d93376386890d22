"""Exact search for the best plan, with a proof: least weight, then lower priorities, then younger victims.

Weights cover units, pods and the sum of priorities.  The highest priority comes before that sum, and the oldest start after it; neither is
a sum.  So the search is repeated for a plan that is as good without units of the highest priority in the best plan, until there is none.
Then it is repeated without its oldest units.
"""

from __future__ import annotations

import functools

from scheduler_core.model.nodes import Ints
from scheduler_core.model.topology import Placement
from scheduler_core.preemption.bounds.cost_table import TooLargeError
from scheduler_core.preemption.bounds.domain_cost import DomainCost, UnitSet
from scheduler_core.preemption.bounds.node_cost import ShapeRequests, UnitCosts
from scheduler_core.preemption.bounds.relaxed import Relaxation
from scheduler_core.preemption.minimal.branch_and_bound import BranchAndBound, CandidateDomain
from scheduler_core.preemption.minimal.eviction_problem import PlanProblem
from scheduler_core.preemption.plans.cost_weights import CostWeights
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.group_domains import areas
from scheduler_core.preemption.plans.kinds import Kinds
from scheduler_core.preemption.plans.required_pods import RequiredPods


class ExactSearch:
    """Search for the best plan of *problem*, whose root requires *required*.

    Attributes:
        best: the best known plan.
        proved: True if no plan is better than *best*, or if *best* is None and no plan exists.

    """

    def __init__(self, problem: PlanProblem, required: RequiredPods, effort: Effort) -> None:
        self._problem = problem
        self._required = required
        self._effort = effort
        self._kinds = Kinds(required)
        self._weights = CostWeights(problem.cost, problem.candidates)
        ranks = problem.cost.ranks(problem.candidates).tolist()
        self._unit_costs = UnitCosts(self._weights.weights, dict(zip(problem.candidates.tolist(), ranks, strict=True)))
        self._requests = ShapeRequests(problem.requirements.state, self._kinds.shapes)
        self._domains = [
            CandidateDomain(problem.shortage.units_on(domain.nodes), bound, functools.partial(self._compute_costs, domain))
            for bound, domain in problem.domains_by_bound()
        ]
        self._search = BranchAndBound(self._domains, self._weights, problem.cost, effort, allow_violations=problem.allow_violations)
        self._lower = 0
        self.best: UnitSet | None = None
        self.proved = False

    @property
    def lower(self) -> int:
        """Lower bound on the number of units; 0 if unknown."""
        return self._lower if all(domain.is_exact for domain in self._domains) else 0

    def run(self) -> None:
        """Run the search.

        Raises:
            TooLargeError: a grid would be too large, or domains overlap without being nested.
            EffortSpentError: the effort is spent; the attributes hold the state of the search.

        """
        above_all = self._weights.total(self._weights.weights) + 1
        try:
            self._improve(self._problem.candidates[:0], above_all)
        finally:
            self._lower = self._weights.least_units(self._search.bound)
        if self.best:
            self._lower_priorities()
            self._later_starts()
        self.proved = self._weights.exact and all(domain.is_exact for domain in self._domains)

    def _lower_priorities(self) -> None:
        while self.best:
            limit = self._weights.above_plan(self.best, self._problem.cost.key(self.best)[2])
            if not self._improve(self._problem.cost.highest(self._problem.candidates, self.best), limit):
                return

    def _later_starts(self) -> None:
        while self.best:
            kept = self._problem.cost.oldest(self._problem.candidates, self.best)
            if not self._improve(kept, self._weights.total(self.best) + 1):
                return

    def _improve(self, kept: Ints, limit: int) -> bool:
        """Return whether a plan below *limit* without *kept* units exists, and record it as the best."""
        try:
            plan = self._search.best(frozenset(kept.tolist()), limit)
        finally:
            if self._search.incumbent is not None:
                self.best = self._search.incumbent
        return plan is not None

    def _compute_costs(self, domain: Placement) -> tuple[DomainCost, Relaxation]:
        area = areas(self._problem.requirements.state, self._required, domain, self._effort)
        if area is None:
            raise TooLargeError
        most = self._kinds.most(self._required)
        domain_cost = DomainCost(self._requests, self._problem.shortage, domain.nodes, most, self._unit_costs, self._effort)
        return domain_cost, Relaxation(self._required, self._kinds, area, domain_cost, self._effort)
