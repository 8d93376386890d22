"""Best-first branch and bound for the cheapest units, over all domains of the root together.

The bound of a node is the relaxed cost, in which a unit can be paid in part.  A unit that is paid in part is evicted in one branch and kept
in the other.  If the plan breaks a disruption budget, the search branches on a unit that a budget protects.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from scheduler_core.model.nodes import Ints
from scheduler_core.preemption.bounds.domain_cost import DomainCost, UnitSet
from scheduler_core.preemption.bounds.relaxed import Relaxation
from scheduler_core.preemption.plans.cost_weights import CostWeights
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.plan_cost import PlanCost

_EMPTY: UnitSet = frozenset()


class CandidateDomain:
    """A domain of the root; its tables are computed on first use.

    Attributes:
        units: units on its nodes.
        lower_bound: lower bound on the number of units of a plan.

    """

    def __init__(self, units: Ints, lower_bound: int, compute_costs: Callable[[], tuple[DomainCost, Relaxation]]) -> None:
        self.units = units
        self.lower_bound = lower_bound
        self._compute_costs = compute_costs
        self._costs: tuple[DomainCost, Relaxation] | None = None

    @property
    def costs(self) -> tuple[DomainCost, Relaxation]:
        """Cost tables of the domain, and the relaxation."""
        if self._costs is None:
            self._costs = self._compute_costs()
        return self._costs

    @property
    def is_exact(self) -> bool:
        """True if the costs of the domain are exact."""
        return self._costs is None or self._costs[0].all_ways_known


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _OpenNode:
    """Open node: all plans in one domain with certain units evicted and certain units kept.

    *allowance*: number of units above the bound that the next evaluation allows.
    """

    domain: int
    evicted: UnitSet
    kept: UnitSet
    allowance: int = 0


class BranchAndBound:
    """Search for the units of least weight.

    Attributes:
        bound: lower bound on the weight of a plan in the last search.
        incumbent: the best plan of the last search.

    """

    def __init__(
        self, domains: Sequence[CandidateDomain], weights: CostWeights, cost: PlanCost, effort: Effort, *, allow_violations: bool
    ) -> None:
        self._domains = domains
        self._weights = weights
        self._cost = cost
        self._effort = effort
        self._allow_violations = allow_violations
        self._sequence = itertools.count(1)
        self._heap: list[tuple[int, int, _OpenNode]] = []
        self._limit = 0
        self.bound = 0
        self.incumbent: UnitSet | None = None

    def best(self, kept: UnitSet, limit: int) -> UnitSet | None:
        """Return the units of least weight below *limit* without those of *kept*; None if there are none.

        Raises:
            TooLargeError: a grid would be too large.
            EffortSpentError: the effort is spent; ``bound`` and ``incumbent`` hold the state of the search.

        """
        self._heap.clear()
        self.incumbent, self._limit = None, limit
        for number, domain in enumerate(self._domains):
            candidates = [unit for unit in domain.units.tolist() if unit not in kept] if kept else domain.units.tolist()
            self._effort.spend(1 + len(domain.units) // 10)
            if len(candidates) >= domain.lower_bound:
                heapq.heappush(
                    self._heap, (self._weights.least_total(candidates, domain.lower_bound), number, _OpenNode(number, _EMPTY, kept))
                )
        while self._heap and self._heap[0][0] < self._limit:
            self.bound, _, node = heapq.heappop(self._heap)
            self._effort.spend(20)
            self._evaluate(self.bound, node)
        self.bound = self._limit
        return self.incumbent

    def _push(self, bound: int, node: _OpenNode) -> None:
        if bound < self._limit:
            # Of equal bounds the newest node comes first, so that a plan is known before other domains are entered.
            heapq.heappush(self._heap, (bound, -next(self._sequence), node))

    def _evaluate(self, bound: int, node: _OpenNode) -> None:
        _, relaxation = self._domains[node.domain].costs
        evicted_weight = self._weights.total(node.evicted)
        if not node.allowance:
            lower = self._weights.round_up(evicted_weight + relaxation.bound(node.evicted, node.kept))
            self._push(max(bound, lower), dataclasses.replace(node, allowance=1))
            return
        # A small limit prunes most of the dynamic program; it is raised if it proves too small.
        limit = min(self._limit, self._weights.above_units(self._weights.least_units(bound) + node.allowance))
        least = relaxation.least(node.evicted, node.kept, limit - evicted_weight)
        if least is None:
            self._push(max(bound, self._weights.round_up(limit)), dataclasses.replace(node, allowance=2 * node.allowance))
        else:
            self._branch(max(bound, self._weights.round_up(evicted_weight + least[0])), evicted_weight + least[0], least[1], node)

    def _branch(self, bound: int, cost: int, used: Mapping[int, set[int]], node: _OpenNode) -> None:
        """Record the plan of a relaxed solution of *cost* if it is allowed; branch at *bound* if it is not solved."""
        chosen = node.evicted.union(used)
        is_violating = not self._allow_violations and self._cost.violations(chosen) > 0
        weight = self._weights.total(chosen)
        if not is_violating and weight < self._limit:
            self.incumbent, self._limit = chosen, weight
        if is_violating or weight > cost:
            unit = self._branching_unit(used, node)
            self._push_evicted(bound, unit, node)
            self._push(bound, _OpenNode(node.domain, node.evicted, node.kept | {unit}))

    def _push_evicted(self, bound: int, unit: int, node: _OpenNode) -> None:
        evicted = node.evicted | {unit}
        if self._allow_violations or not self._cost.violations(evicted):
            self._push(bound, _OpenNode(node.domain, evicted, node.kept))

    def _branching_unit(self, used: Mapping[int, Iterable[int]], node: _OpenNode) -> int:
        """Return the unit with the largest unpaid part; if all are paid, one that a budget protects."""
        domain_cost, _ = self._domains[node.domain].costs
        unpaid = {
            unit: self._weights.weights[unit] - sum(domain_cost.share(unit, node_index) for node_index in nodes)
            for unit, nodes in used.items()
        }
        if any(unpaid.values()):
            return max(unpaid, key=lambda unit: (unpaid[unit], -unit))
        return min(unit for unit in used if unit in self._cost.protected)
