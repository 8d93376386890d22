"""Heuristic plans, if the exact search does not finish: made for each domain and reduced until every unit is needed.

At the end all sets of few units are tried, as far as the effort allows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.model.topology import Placement
from scheduler_core.preemption.minimal.eviction_problem import PlanProblem
from scheduler_core.preemption.minimal.subsets import Fits, Subsets
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.plan_cost import Key
from scheduler_core.preemption.result import by_importance

_DOMAINS = 8
"""Number of domains that are tried although a plan is known."""
_MOST_SETS = 2_000
"""Largest number of sets of the least size that are tried for the cheapest one."""


class HeuristicSearch:
    """Search for good plans.

    Attributes:
        best: the best known plan.
        lower: lower bound on the number of units.
        proved: True if no plan is better than ``best``.

    """

    def __init__(self, problem: PlanProblem, trials: Fits, effort: Effort, lower: int) -> None:
        self._problem = problem
        self._exact = problem.requirements.exact
        self._trials = trials
        self._effort = effort
        self._key: Key | None = None
        self.best: frozenset[int] | None = None
        self.lower = lower
        self.proved = False

    def offer(self, numbers: frozenset[int]) -> None:
        """Record *numbers*, a feasible plan, if it is better than the best known plan."""
        key = self._problem.cost.key(numbers)
        if self._key is None or key < self._key:
            self._key, self.best = key, numbers

    def reduce(self, numbers: frozenset[int], domain: Placement) -> None:
        """Offer *numbers*, if it is a feasible plan, and the smaller plans after units are removed from it, large parts first.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if not self._trials.fits(numbers, domain):
            return
        self.offer(numbers)
        kept = by_importance(numbers, self._problem.units)
        size = max(1, len(kept) // 2)
        while len(kept) > self.lower:
            start = 0
            while start < len(kept) > self.lower:
                fewer = kept[:start] + kept[start + size :]
                if self._trials.fits(frozenset(fewer), domain):
                    kept = fewer
                    self.offer(frozenset(kept))
                else:
                    start += size
            if size == 1:
                return
            size //= 2

    def make(self) -> None:
        """Reduce for each domain the largest allowed set of units; domains with small lower bounds come first.

        Raises:
            EffortSpentError: the effort is spent.

        """
        for number, (bound, domain) in enumerate(self._problem.domains_by_bound()):
            if self._key is None or bound < self._key[1]:
                self.reduce(self.largest_allowed(domain), domain)
            if self._key is not None and number >= _DOMAINS:
                break

    def largest_allowed(self, domain: Placement) -> frozenset[int]:
        """Return as many units of *domain* as can be evicted together.

        Raises:
            EffortSpentError: the effort is spent.

        """
        units = self._relevant_units(domain).tolist()
        if self._problem.is_allowed(units):
            return frozenset(units)
        chosen: list[int] = []
        for number in reversed(by_importance(units, self._problem.units)):
            self._effort.spend(10)
            if number not in self._problem.cost.protected or self._problem.is_allowed([*chosen, number]):
                chosen.append(number)
        return frozenset(chosen)

    def try_all(self) -> None:
        """Try all sets of the least possible size, then of one unit more, until a plan is known or none can be better.

        Raises:
            EffortSpentError: the effort is spent.

        """
        domains = self._problem.domains_by_bound()
        if self._key is not None and self._key[1] == self.lower and self._exceeds_sets(domains):
            return
        searches = [(bound, self._subsets(domain)) for bound, domain in domains]
        certain = True
        for size in itertools.count(self.lower):
            if size > (len(self._problem.candidates) if self._key is None else self._key[1]):
                break
            for bound, subsets in searches:
                if bound <= size:
                    numbers, is_certain = subsets.best(size, self._key, exact=self._exact, allow_violations=self._problem.allow_violations)
                    certain &= is_certain
                    if numbers is not None:
                        self.offer(numbers)
            if certain and (self._key is None or size < self._key[1]):
                self.lower = size + 1
        self.proved = certain

    def _relevant_units(self, domain: Placement) -> Ints:
        """Return the units that can matter in *domain*."""
        return self._problem.shortage.units_on(domain.nodes) if self._exact else self._problem.candidates

    def _exceeds_sets(self, domains: Iterable[tuple[int, Placement]]) -> bool:
        """Return whether there are too many sets of the least size to try all of them for the cheapest."""
        units_by_domain = (self._relevant_units(domain) for bound, domain in domains if bound <= self.lower)
        return sum(math.comb(len(units), self.lower) for units in units_by_domain) > _MOST_SETS

    def _subsets(self, domain: Placement) -> Subsets:
        units = self._relevant_units(domain)
        ordered: Sequence[int] = units[np.argsort(self._problem.cost.ranks(units))].tolist() if len(units) else []
        subsets = Subsets(domain, ordered, self._trials, self._problem.cost, self._effort)
        if self._exact:
            subsets.compare(self._problem.shortage)
        return subsets
