"""Minimal plans: the fewest units whose eviction makes a root fit, with a lower bound on their number.

The first plan is the selection of kube-scheduler (``workload_aware``, ``default_preemption``).  ``exact_plan`` searches for the best plan.
If that does not finish, or does not apply, ``heuristic_plans`` makes and reduces plans.  ``plan_cost`` defines the order of plans.  At the
end the root is placed again without exactly the victims.  If that fails, nothing is evicted.
"""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic

import numpy as np

from scheduler_core.causes.attempts import PreemptionResult, VictimsFound
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Ints
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.plugins import registry
from scheduler_core.preemption.bounds.cost_table import TooLargeError
from scheduler_core.preemption.bounds.shortage import IMPOSSIBLE
from scheduler_core.preemption.minimal.eviction_problem import PlanProblem, plan_problem
from scheduler_core.preemption.minimal.exact_plan import ExactSearch
from scheduler_core.preemption.minimal.heuristic_plans import HeuristicSearch
from scheduler_core.preemption.minimal.kept_users import plans_with_users, shared_volumes
from scheduler_core.preemption.minimal.trials import Prover, Trials
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from scheduler_core.preemption.plans.plan_cost import PlanCost
from scheduler_core.preemption.result import ChosenUnits, Preemption, by_importance
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.preemption_units import Units
from scheduler_core.preemption.victims.workload_aware import ProposalT

EFFORT = 400_000
"""Steps for one root, about a microsecond each."""


def fewest_victims(
    root: Entity,
    first: Preemption[ProposalT] | Preemption[None],
    prover: Prover[ProposalT],
    units: Units,
    budgets: DisruptionBudgets,
    being_evicted: AbstractSet[str] = frozenset(),
    steps: int = EFFORT,
) -> Preemption[ProposalT] | Preemption[None]:
    """Return *first*, or a better plan.

    Args:
        root: the preemptor, which does not fit at present.
        first: possibly without a plan; result of ``workload_aware`` or ``default_preemption``.
        prover: places the root, and knows its requirements.
        units: of all running pods.
        budgets: the disruption budgets.
        being_evicted: keys of pods whose eviction has begun although the snapshot does not show it.
        steps: budget.

    """
    if not first.units:
        failed = first.status in (Status.UNSCHEDULABLE, Status.UNRESOLVABLE) and not first.nominations
        if not (failed and root.preempts and shared_volumes(root)):
            return first
    plans: _Plans[ProposalT] = _Plans(root, first, prover, units, budgets, being_evicted)
    if not first.units and not plans.begin_with_users(steps):
        return first
    plans.search(steps)
    for numbers in dict.fromkeys((plans.best, plans.first)):
        chosen, outcome = plans.verified(numbers)
        if outcome.status is Status.SUCCESS:
            return plans.to_preemption(chosen, outcome, being_evicted)
    return Preemption(Status.UNSCHEDULABLE, PreemptionResult.NOT_PROVED)


class _Plans(Generic[ProposalT]):
    """Plans for one root.

    Attributes:
        first: units of the first plan; none if there is no plan yet.
        best: units of the best known plan.

    """

    def __init__(
        self,
        root: Entity,
        first: Preemption[ProposalT] | Preemption[None],
        prover: Prover[ProposalT],
        units: Units,
        budgets: DisruptionBudgets,
        being_evicted: AbstractSet[str],
    ) -> None:
        potential = units.potential_victims(root.priority)
        self._root = root
        self._requirements = prover.requirements
        self._units = units
        self._budgets = budgets
        self._cost = PlanCost(units, potential, budgets, being_evicted)
        self._effort = Effort(0)
        self._trials: Trials[ProposalT] = Trials(root, units, self._cost.free, prover, self._effort)
        keys = [pod.key for pod in units.pods]
        members = (int(units.unit_of[bisect.bisect_left(keys, unit.pods[0].key)]) for unit in first.units)
        self.first = self.best = frozenset(members) - self._cost.free
        self._domain = _domain_of(self._requirements.domains, first.nominations.values())
        self._candidates: Ints = np.array([number for number in potential.units.tolist() if number not in self._cost.free], dtype=np.int64)
        self._lower = 0
        self._proved = False

    def begin_with_users(self, steps: int) -> bool:
        """Return whether a plan is known that keeps users of volumes of the root; record it as the first plan."""
        self._effort.renew(steps // 4)
        with contextlib.suppress(EffortSpentError):
            for numbers in plans_with_users(self._root, self._requirements.state, self._units, self._candidates.tolist()):
                if self._trials.fits(numbers, self._domain):
                    self.first = self.best = numbers
                    return True
        return False

    def search(self, steps: int) -> None:
        """Find the best plan, or a better plan than the first; a plan that breaks no disruption budget if there is one."""
        self._effort.renew(steps // 8)
        with contextlib.suppress(EffortSpentError):
            if self._cost.free and any(self._trials.fits(frozenset(), domain) for domain in self._requirements.domains):
                self.best, self._proved = frozenset(), True
                return
        certain = True
        # If no budget protects a unit, no plan breaks one.
        for allow_violations in (False, True) if self._cost.protected else (True,):
            problem = plan_problem(self._requirements, self._units, self._cost, self._candidates, allow_violations=allow_violations)
            has_plan, proved = self._solve(problem, steps)
            certain &= proved
            if has_plan:
                self._proved = certain
                return

    def _solve(self, problem: PlanProblem, steps: int) -> tuple[bool, bool]:
        """Solve *problem* and record the best plan; return whether a plan exists, and whether the answer is certain."""
        self._lower = max(int(self._is_refuted()), min(problem.bounds, default=IMPOSSIBLE))
        if self._lower >= IMPOSSIBLE:
            return False, True
        heuristic = HeuristicSearch(problem, self._trials, self._effort, self._lower)
        if problem.is_allowed(self.first):
            heuristic.offer(self.first)
        if problem.requirements.required is not None:
            # Half of the steps are left for plans that break a budget.
            self._assign_effort(steps, 2)
            exact_search = ExactSearch(problem, problem.requirements.required, self._effort)
            with contextlib.suppress(EffortSpentError, TooLargeError):
                exact_search.run()
            heuristic.lower = self._lower = max(self._lower, exact_search.lower)
            if exact_search.best is not None:
                heuristic.offer(exact_search.best)
            if exact_search.proved and (exact_search.best is not None or heuristic.best is None):
                self.best = self.best if heuristic.best is None else heuristic.best
                return exact_search.best is not None, True
        self._assign_effort(steps, 2 if problem.allow_violations else 8)
        with contextlib.suppress(EffortSpentError):
            if problem.is_allowed(self.first):
                heuristic.reduce(self.first, self._domain)
            else:
                self._offer_reprieved(heuristic)
            heuristic.make()
            heuristic.try_all()
        self._lower = heuristic.lower
        if heuristic.best is not None:
            self.best = heuristic.best
        return heuristic.best is not None, heuristic.proved

    def _is_refuted(self) -> bool:
        """Return whether it is proved that the root, which is not placed, has no placement without an eviction.

        The complete search proves it.  Otherwise greedy proves it for a single pod, which it tries on every node.  It also proves
        it for equal pods of one group that need resources only, because greedy places as many of them in each domain as fit.
        """
        state = self._requirements.state
        waiting = [leaf.waiting for leaf in self._root.leaves() if leaf.waiting]
        if self._requirements.exact or len(waiting) != 1 or state.plugins:
            return self._requirements.exact
        pods, shape = waiting[0], waiting[0][0].shape
        equal = all(pod.shape is shape for pod in pods) and not registry.one_by_one(shape) and not state.stateful.touches(pods[0])
        return len(pods) == 1 or equal

    def _offer_reprieved(self, heuristic: HeuristicSearch) -> None:
        """Offer the units that are in the way of the root if as many units as allowed are evicted."""
        numbers = heuristic.largest_allowed(self._requirements.state.topology.root)
        outcome = self._trials.place_without(numbers)
        if outcome.status is Status.SUCCESS:
            heuristic.offer(self._trials.reprieved(numbers, outcome.assigned, self._budgets))

    def _assign_effort(self, steps: int, parts: int) -> None:
        """Set the effort to 1 / *parts* of the steps that are left of *steps*."""
        self._effort.renew(max(0, steps - self._effort.taken) // parts)

    def verified(self, numbers: frozenset[int]) -> tuple[frozenset[int], ProposalT]:
        """Return *numbers*, or those of them that are in the way, and the result of placing the root without them."""
        outcome = self._trials.place_without(numbers)
        while outcome.status is Status.SUCCESS and not self._proved:
            fewer = self._trials.reprieved(numbers, outcome.assigned, self._budgets)
            retried = self._trials.place_without(fewer) if fewer < numbers else outcome
            if fewer == numbers or retried.status is not Status.SUCCESS:
                break
            numbers, outcome = fewer, retried
        return numbers, outcome

    def to_preemption(self, numbers: frozenset[int], outcome: ProposalT, being_evicted: AbstractSet[str]) -> Preemption[ProposalT]:
        """Return the preemption of *numbers*; *outcome* is the result without them."""
        units = tuple(self._units.unit(number) for number in by_importance(numbers, self._units))
        chosen = ChosenUnits(units, self._cost.violations(numbers))
        nominations = {pod.key: node for pod, node in outcome.assigned}
        single = self._root.name.kind == "Pod"
        node = self._requirements.state.nodes.names[next(iter(nominations.values()))] if single else ""
        return Preemption(
            Status.SUCCESS,
            VictimsFound(chosen.count, node),
            *chosen.split(being_evicted),
            units,
            chosen.violating,
            nominations,
            outcome,
            min(self._lower, len(units)),
            self._proved and numbers == self.best,
        )


def _domain_of(domains: Sequence[Placement], nodes: Iterable[int]) -> Placement:
    """Return the domain that contains *nodes*."""
    array = np.array(sorted(nodes), dtype=np.int64)
    return next((domain for domain in domains if np.isin(array, domain.nodes).all()), domains[0])
