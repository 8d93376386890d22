"""The best units for a root, proved: the lightest, then of these the ones of lowest priority, then the youngest.

Units, pods and the sum of priorities are what units weigh.  The highest priority comes before their sum, and who is oldest after
it; neither is a sum.  So once a best plan is known it is asked whether there is one as good without the units of the highest
priority in it, and then without the oldest, until there is none.
"""

from __future__ import annotations

import functools

from scheduler_core.model.nodes import Ints
from scheduler_core.model.topology import Placement
from scheduler_core.preemption.bounds.cost_table import TooLargeError
from scheduler_core.preemption.bounds.domain_cost import Chosen, DomainCost
from scheduler_core.preemption.bounds.node_cost import Needs, Prices
from scheduler_core.preemption.bounds.relaxed import Relaxed
from scheduler_core.preemption.minimal.branch_and_bound import Branching, Choosable
from scheduler_core.preemption.minimal.problem import PlanProblem
from scheduler_core.preemption.plans.areas import areas
from scheduler_core.preemption.plans.cost_weights import CostWeights
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.kinds import Kinds
from scheduler_core.preemption.plans.required_pods import RequiredPods


class Exact:
    """A search for the best units of *problem*, which is about *wanted*.

    Attributes:
        best: the best that is known.
        proved: whether it is the best there is; without *best*, that there is none.

    """

    def __init__(self, problem: PlanProblem, wanted: RequiredPods, effort: Effort) -> None:
        self._problem = problem
        self._wanted = wanted
        self._effort = effort
        self._kinds = Kinds(wanted)
        self._weights = CostWeights(problem.worth, problem.able)
        ranks = problem.worth.ranks(problem.able).tolist()
        self._prices = Prices(self._weights.of, dict(zip(problem.able.tolist(), ranks, strict=True)))
        self._needs = Needs(problem.question.state, self._kinds.shapes)
        self._domains = [
            Choosable(problem.shortage.units_on(domain.nodes), bound, functools.partial(self._enter, domain))
            for bound, domain in problem.promising()
        ]
        self._branching = Branching(self._domains, self._weights, problem.worth, effort, broken=problem.broken)
        self._lower = 0
        self.best: Chosen | None = None
        self.proved = False

    @property
    def lower(self) -> int:
        """No plan has fewer units; 0 where that is not known."""
        return self._lower if all(domain.whole for domain in self._domains) else 0

    def run(self) -> None:
        """Search.

        Raises:
            TooLargeError: there are too many numbers of pods or groups, or their domains overlap.
            EffortSpentError: the effort is spent; the attributes tell how far the search has come.

        """
        everybody = self._weights.together(self._weights.of) + 1
        try:
            self._better(self._problem.able[:0], everybody)
        finally:
            self._lower = self._weights.units(self._branching.bound)
        if self.best:
            self._lower_priorities()
            self._younger()
        self.proved = self._weights.whole and all(domain.whole for domain in self._domains)

    def _lower_priorities(self) -> None:
        while self.best:
            limit = self._weights.beyond(self.best, self._problem.worth.key(self.best)[2])
            if not self._better(self._problem.worth.highest(self._problem.able, self.best), limit):
                return

    def _younger(self) -> None:
        while self.best:
            staying = self._problem.worth.oldest(self._problem.able, self.best)
            if not self._better(staying, self._weights.together(self.best) + 1):
                return

    def _better(self, staying: Ints, limit: int) -> bool:
        """Whether there is a plan that weighs less than *limit* while *staying* stay; it is the best then."""
        try:
            found = self._branching.best(frozenset(staying.tolist()), limit)
        finally:
            if self._branching.found is not None:
                self.best = self._branching.found
        return found is not None

    def _enter(self, domain: Placement) -> tuple[DomainCost, Relaxed]:
        area = areas(self._problem.question.state, self._wanted, domain, self._effort)
        if area is None:
            raise TooLargeError
        most = self._kinds.most(self._wanted)
        scope = DomainCost(self._needs, self._problem.shortage, domain.nodes, most, self._prices, self._effort)
        return scope, Relaxed(self._wanted, self._kinds, area, scope, self._effort)
