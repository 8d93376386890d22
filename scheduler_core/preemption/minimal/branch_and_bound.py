"""The cheapest units that must leave for a root, for certain: best first, in all its domains.

In a domain the root is placed at the least cost as if units could be paid in part.  What that comes to is a bound.  Who is paid in
part leaves in one branch and stays in the other, as does who breaks a disruption budget, until nothing is left open.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.bounds.domain_cost import Chosen, DomainCost
from scheduler_core.preemption.bounds.relaxed import Relaxed
from scheduler_core.preemption.plans.cost_weights import CostWeights
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.plan_cost import PlanCost

_NOBODY: Chosen = frozenset()


class Choosable:
    """A domain that the root may have, looked at when it is first asked for.

    Attributes:
        units: those on its nodes.
        least: no plan in it has fewer units.

    """

    def __init__(self, units: Ints, least: int, enter: Callable[[], tuple[DomainCost, Relaxed]]) -> None:
        self.units = units
        self.least = least
        self._enter = enter
        self._entered: tuple[DomainCost, Relaxed] | None = None

    @property
    def entered(self) -> tuple[DomainCost, Relaxed]:
        """What room costs there, and what the root does."""
        if self._entered is None:
            self._entered = self._enter()
        return self._entered

    @property
    def whole(self) -> bool:
        """Whether what was said of costs there is certain."""
        return self._entered is None or self._entered[0].whole


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """Plans that nobody has looked into: those in one domain in which some leave and some stay.

    *wide*: how many units more than the bound a plan may have to be found at the next look.
    """

    domain: int
    leaving: Chosen
    staying: Chosen
    wide: int = 0


class Branching:
    """A search for the units that weigh least.

    Attributes:
        bound: what no plan of the last search weighs less than, as far as it has come.
        found: the best plan that it has found.

    """

    def __init__(self, domains: Sequence[Choosable], weights: CostWeights, worth: PlanCost, effort: Effort, *, broken: bool) -> None:
        self._domains = domains
        self._weights = weights
        self._worth = worth
        self._effort = effort
        self._broken = broken
        self._serial = itertools.count(1)
        self._heap: list[tuple[int, int, _Open]] = []
        self._limit = 0
        self.bound = 0
        self.found: Chosen | None = None

    def best(self, staying: Chosen, limit: int) -> Chosen | None:
        """The units that weigh least, and less than *limit*, none of *staying* among them; None if there are none.

        Raises:
            TooLargeError: there are too many numbers of pods or groups.
            EffortSpentError: the effort is spent; ``bound`` and ``found`` tell how far the search has come.

        """
        self._heap.clear()
        self.found, self._limit = None, limit
        for number, domain in enumerate(self._domains):
            able = [unit for unit in domain.units.tolist() if unit not in staying] if staying else domain.units.tolist()
            self._effort.spend(1 + len(domain.units) // 10)
            if len(able) >= domain.least:
                heapq.heappush(self._heap, (self._weights.least_of(able, domain.least), number, _Open(number, _NOBODY, staying)))
        while self._heap and self._heap[0][0] < self._limit:
            self.bound, _, plans = heapq.heappop(self._heap)
            self._effort.spend(20)
            self._look(self.bound, plans)
        self.bound = self._limit
        return self.found

    def _push(self, bound: int, plans: _Open) -> None:
        if bound < self._limit:
            # Of equal bounds what was opened last comes first, so that there is a plan before other domains are entered.
            heapq.heappush(self._heap, (bound, -next(self._serial), plans))

    def _look(self, bound: int, plans: _Open) -> None:
        _, relaxed = self._domains[plans.domain].entered
        gone = self._weights.together(plans.leaving)
        if not plans.wide:
            low = self._weights.at_least(gone + relaxed.bound(plans.leaving, plans.staying))
            self._push(max(bound, low), dataclasses.replace(plans, wide=1))
            return
        # Most is ruled out, and nothing missed, by looking for little more than there must be at first.
        limit = min(self._limit, self._weights.below(self._weights.units(bound) + plans.wide))
        least = relaxed.least(plans.leaving, plans.staying, limit - gone)
        if least is None:
            self._push(max(bound, self._weights.at_least(limit)), dataclasses.replace(plans, wide=2 * plans.wide))
        else:
            self._judge(max(bound, self._weights.at_least(gone + least[0])), gone + least[0], least[1], plans)

    def _judge(self, bound: int, cost: int, used: Mapping[int, set[int]], plans: _Open) -> None:
        """Take the plan that comes of paying *cost* if it is one, and open what else there may be at *bound*."""
        chosen = plans.leaving.union(used)
        breaks = not self._broken and self._worth.breaks(chosen) > 0
        weight = self._weights.together(chosen)
        if not breaks and weight < self._limit:
            self.found, self._limit = chosen, weight
        if breaks or weight > cost:
            unit = self._undecided(used, plans)
            self._push_leaving(bound, unit, plans)
            self._push(bound, _Open(plans.domain, plans.leaving, plans.staying | {unit}))

    def _push_leaving(self, bound: int, unit: int, plans: _Open) -> None:
        leaving = plans.leaving | {unit}
        if self._broken or not self._worth.breaks(leaving):
            self._push(bound, _Open(plans.domain, leaving, plans.staying))

    def _undecided(self, used: Mapping[int, Iterable[int]], plans: _Open) -> int:
        """The unit of which most is unpaid; where all are paid, one that a budget guards."""
        scope, _ = self._domains[plans.domain].entered
        unpaid = {unit: self._weights.of[unit] - sum(scope.share(unit, node) for node in nodes) for unit, nodes in used.items()}
        if any(unpaid.values()):
            return max(unpaid, key=lambda unit: (unpaid[unit], -unit))
        return min(unit for unit in used if unit in self._worth.guarded)
