"""The fewest units that must leave for a root, with a bound below which no plan can be.

kube-scheduler places a root once without all lower units, and who leaves follows from where it went (``workload_aware``).  Here that is only
the first plan.  The best one is searched for (``exact_plan``); where that is more than the effort allows, or the root hangs on more than
room, plans are made and reduced (``heuristic_plans``).  What is better is said in ``plan_cost``.  In the end the root is placed again without
exactly the victims; if that does not succeed nobody leaves.
"""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic

import numpy as np

from scheduler_core.model.decision import Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Ints
from scheduler_core.model.topology import Placement
from scheduler_core.plugins import registry
from scheduler_core.preemption.bounds.cost_table import TooLargeError
from scheduler_core.preemption.bounds.shortage import NEVER
from scheduler_core.preemption.minimal.exact_plan import Exact
from scheduler_core.preemption.minimal.heuristic_plans import Rough
from scheduler_core.preemption.minimal.problem import PlanProblem, problem
from scheduler_core.preemption.minimal.trials import Prover, Trials
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from scheduler_core.preemption.plans.plan_cost import PlanCost
from scheduler_core.preemption.result import ChosenUnits, Preemption, by_importance
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.units.units import Units
from scheduler_core.preemption.victims.workload_aware import ProposalT

NOT_PROVED = "no placement was proved for the time after the eviction"
EFFORT = 400_000
"""Steps for one root, each of about a microsecond."""


def fewest_victims(
    root: Entity,
    first: Preemption[ProposalT] | Preemption[None],
    prover: Prover[ProposalT],
    units: Units,
    budgets: DisruptionBudgets,
    leaving: AbstractSet[str] = frozenset(),
    steps: int = EFFORT,
) -> Preemption[ProposalT] | Preemption[None]:
    """*first*, or a plan that is better.

    Args:
        root: the preemptor, which does not fit as things stand.
        first: whom ``workload_aware`` or ``default_preemption`` chose.
        prover: places the root, and knows what it asks for.
        units: of all pods that run.
        budgets: the disruption budgets.
        leaving: keys of pods that are on their way although the snapshot does not say so.
        steps: how much may be done.

    """
    if first.status is not Status.SUCCESS or not first.units:
        return first
    plans: _Plans[ProposalT] = _Plans(root, first, prover, units, budgets, leaving)
    plans.search(steps)
    for numbers in dict.fromkeys((plans.best, plans.first)):
        chosen, outcome = plans.carried_out(numbers)
        if outcome.status is Status.SUCCESS:
            return plans.to_preemption(chosen, outcome, leaving)
    return Preemption(Status.UNSCHEDULABLE, NOT_PROVED)


class _Plans(Generic[ProposalT]):
    """Plans for one root, better and better.

    Attributes:
        first: the units of the first plan.
        best: those of the best.

    """

    def __init__(
        self,
        root: Entity,
        first: Preemption[ProposalT] | Preemption[None],
        prover: Prover[ProposalT],
        units: Units,
        budgets: DisruptionBudgets,
        leaving: AbstractSet[str],
    ) -> None:
        below = units.below(root.priority)
        self._root = root
        self._question = prover.question
        self._units = units
        self._budgets = budgets
        self._worth = PlanCost(units, below, budgets, leaving)
        self._effort = Effort(0)
        self._trials: Trials[ProposalT] = Trials(root, units, self._worth.free, prover, self._effort)
        keys = [pod.key for pod in units.pods]
        members = (int(units.unit_of[bisect.bisect_left(keys, unit.pods[0].key)]) for unit in first.units)
        self.first = self.best = frozenset(members) - self._worth.free
        self._domain = _around(self._question.domains, first.nominations.values())
        self._able: Ints = np.array([number for number in below.units.tolist() if number not in self._worth.free], dtype=np.int64)
        self._lower = 0
        self._proved = False

    def search(self, steps: int) -> None:
        """Find the best plan, or one that is better than the first; one that breaks no disruption budget if there is one."""
        self._effort.renew(steps // 8)
        with contextlib.suppress(EffortSpentError):
            if self._worth.free and any(self._trials.fits(frozenset(), domain) for domain in self._question.domains):
                self.best, self._proved = frozenset(), True
                return
        certain = True
        # Where no budget counts any unit none can be broken.
        for broken in (False, True) if self._worth.guarded else (True,):
            task = problem(self._question, self._units, self._worth, self._able, broken=broken)
            found, proved = self._look(task, steps)
            certain &= proved
            if found:
                self._proved = certain
                return

    def _look(self, task: PlanProblem, steps: int) -> tuple[bool, bool]:
        """Whether there is a plan for *task*, the best that is found being ``best``; and whether that is certain."""
        self._lower = max(int(self._is_refuted()), min(task.bounds, default=NEVER))
        if self._lower >= NEVER:
            return False, True
        rough = Rough(task, self._trials, self._effort, self._lower)
        if task.allowed(self.first):
            rough.offer(self.first)
        if task.question.wanted is not None:
            # Whether a budget must be broken is to be known before half of the steps are taken.
            self._allot(steps, 2)
            exact = Exact(task, task.question.wanted, self._effort)
            with contextlib.suppress(EffortSpentError, TooLargeError):
                exact.run()
            rough.lower = self._lower = max(self._lower, exact.lower)
            if exact.best is not None:
                rough.offer(exact.best)
            if exact.proved and (exact.best is not None or rough.best is None):
                self.best = self.best if rough.best is None else rough.best
                return exact.best is not None, True
        self._allot(steps, 2 if task.broken else 8)
        with contextlib.suppress(EffortSpentError):
            if task.allowed(self.first):
                rough.reduce(self.first, self._domain)
            else:
                self._select_among(rough)
            rough.make()
            rough.try_all()
        self._lower = rough.lower
        if rough.best is not None:
            self.best = rough.best
        return rough.best is not None, rough.proved

    def _is_refuted(self) -> bool:
        """Whether the root, which is not placed, is known to have no placement without an eviction.

        One that was searched for is.  Where greedy alone has failed, a single pod is, which was tried on every node, and so are equal
        pods of one group that need resources only: greedy finds as many of them in every domain as there is room for.
        """
        state = self._question.state
        waiting = [leaf.waiting for leaf in self._root.leaves() if leaf.waiting]
        if self._question.exact or len(waiting) != 1 or state.plugins:
            return self._question.exact
        pods, shape = waiting[0], waiting[0][0].shape
        equal = all(pod.shape is shape for pod in pods) and not registry.one_by_one(shape) and not state.stateful.touches(pods[0])
        return len(pods) == 1 or equal

    def _select_among(self, rough: Rough) -> None:
        """Offer who is in the way of the root once as many have left as may leave together."""
        numbers = rough.many(self._question.state.topology.root)
        outcome = self._trials.placed(numbers)
        if outcome.status is Status.SUCCESS:
            rough.offer(self._trials.reprieved(numbers, outcome.assigned, self._budgets))

    def _allot(self, steps: int, parts: int) -> None:
        """Have one of so many equal parts of the steps that are left of *steps*."""
        self._effort.renew(max(0, steps - self._effort.taken) // parts)

    def carried_out(self, numbers: frozenset[int]) -> tuple[frozenset[int], ProposalT]:
        """*numbers*, or those of them who are in the way; and what comes of placing the root once they have left."""
        outcome = self._trials.placed(numbers)
        while outcome.status is Status.SUCCESS and not self._proved:
            fewer = self._trials.reprieved(numbers, outcome.assigned, self._budgets)
            again = self._trials.placed(fewer) if fewer < numbers else outcome
            if fewer == numbers or again.status is not Status.SUCCESS:
                break
            numbers, outcome = fewer, again
        return numbers, outcome

    def to_preemption(self, numbers: frozenset[int], outcome: ProposalT, leaving: AbstractSet[str]) -> Preemption[ProposalT]:
        """The preemption of *numbers*, with which *outcome* comes."""
        units = tuple(self._units.unit(number) for number in by_importance(numbers, self._units))
        chosen = ChosenUnits(units, self._worth.breaks(numbers))
        nominations = {pod.key: node for pod, node in outcome.assigned}
        what = "placement for podgroup"
        if self._root.name.kind == "Pod":
            names = self._question.state.nodes.names
            what = f"potential placement for pod on node {names[next(iter(nominations.values()))]}"
        return Preemption(
            Status.SUCCESS,
            f"found a {what}, preempting {chosen.count} victims",
            *chosen.split(leaving),
            units,
            chosen.violating,
            nominations,
            outcome,
            min(self._lower, len(units)),
            self._proved and numbers == self.best,
        )


def _around(domains: Sequence[Placement], nodes: Iterable[int]) -> Placement:
    """The domain that holds *nodes*."""
    wanted = np.array(sorted(nodes), dtype=np.int64)
    return next((domain for domain in domains if np.isin(wanted, domain.nodes).all()), domains[0])
