"""Plans for a root where the best one is not found for certain: made domain by domain, each reduced until nobody can be left back.

In the end sets of few units are tried one and all, as far as the effort goes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.model.topology import Placement
from scheduler_core.preemption.minimal.problem import PlanProblem
from scheduler_core.preemption.minimal.subsets import Fits, Subsets
from scheduler_core.preemption.plans.effort import Effort
from scheduler_core.preemption.plans.plan_cost import Key
from scheduler_core.preemption.result import by_importance

_DOMAINS = 8
"""Domains that are looked into for a plan that breaks no fewer units than one that is known."""
_SETS = 2_000
"""Sets of the fewest units that are tried for the one that is worth least."""


class Rough:
    """A search for good units.

    Attributes:
        best: the best that is known.
        lower: no plan has fewer units.
        proved: whether no plan is better than ``best``.

    """

    def __init__(self, problem: PlanProblem, trials: Fits, effort: Effort, lower: int) -> None:
        self._problem = problem
        self._exact = problem.question.exact
        self._trials = trials
        self._effort = effort
        self._key: Key | None = None
        self.best: frozenset[int] | None = None
        self.lower = lower
        self.proved = False

    def offer(self, numbers: frozenset[int]) -> None:
        """Remember *numbers*, which let the root fit, if they are better than what is known."""
        key = self._problem.worth.key(numbers)
        if self._key is None or key < self._key:
            self._key, self.best = key, numbers

    def reduce(self, numbers: frozenset[int], domain: Placement) -> None:
        """Offer *numbers*, if the root fits without them, and what is left once nobody can be left back; many at once first.

        Raises:
            EffortSpentError: the effort is spent.

        """
        if not self._trials.fits(numbers, domain):
            return
        self.offer(numbers)
        kept = by_importance(numbers, self._problem.units)
        size = max(1, len(kept) // 2)
        while len(kept) > self.lower:
            at = 0
            while at < len(kept) > self.lower:
                fewer = kept[:at] + kept[at + size :]
                if self._trials.fits(frozenset(fewer), domain):
                    kept = fewer
                    self.offer(frozenset(kept))
                else:
                    at += size
            if size == 1:
                return
            size //= 2

    def make(self) -> None:
        """Plans of as many units as may leave together, reduced: in those domains first that may do with the fewest.

        Raises:
            EffortSpentError: the effort is spent.

        """
        for number, (bound, domain) in enumerate(self._problem.promising()):
            if self._key is None or bound < self._key[1]:
                self.reduce(self.many(domain), domain)
            if self._key is not None and number >= _DOMAINS:
                break

    def many(self, domain: Placement) -> frozenset[int]:
        """Units of *domain*, as many as may leave together.

        Raises:
            EffortSpentError: the effort is spent.

        """
        there = self._touching(domain).tolist()
        if self._problem.allowed(there):
            return frozenset(there)
        found: list[int] = []
        for number in reversed(by_importance(there, self._problem.units)):
            self._effort.spend(10)
            if number not in self._problem.worth.guarded or self._problem.allowed([*found, number]):
                found.append(number)
        return frozenset(found)

    def try_all(self) -> None:
        """All sets of as few units as can be enough, then of one more, until a plan is found or none can be better.

        Raises:
            EffortSpentError: the effort is spent.

        """
        domains = self._problem.promising()
        if self._key is not None and self._key[1] == self.lower and self._too_many(domains):
            return
        several = [(bound, self._subsets(domain)) for bound, domain in domains]
        certain = True
        for size in itertools.count(self.lower):
            if size > (len(self._problem.able) if self._key is None else self._key[1]):
                break
            for bound, subsets in several:
                if bound <= size:
                    found, sure = subsets.best(size, self._key, exact=self._exact, broken=self._problem.broken)
                    certain &= sure
                    if found is not None:
                        self.offer(found)
            if certain and (self._key is None or size < self._key[1]):
                self.lower = size + 1
        self.proved = certain

    def _touching(self, domain: Placement) -> Ints:
        """The units that can matter in *domain*."""
        return self._problem.shortage.units_on(domain.nodes) if self._exact else self._problem.able

    def _too_many(self, domains: Iterable[tuple[int, Placement]]) -> bool:
        """Whether there are too many sets of the fewest units to try them for the one that is worth least."""
        there = (self._touching(domain) for bound, domain in domains if bound <= self.lower)
        return sum(math.comb(len(units), self.lower) for units in there) > _SETS

    def _subsets(self, domain: Placement) -> Subsets:
        there = self._touching(domain)
        ordered: Sequence[int] = there[np.argsort(self._problem.worth.ranks(there))].tolist() if len(there) else []
        subsets = Subsets(domain, ordered, self._trials, self._problem.worth, self._effort)
        if self._exact:
            subsets.compare(self._problem.shortage)
        return subsets
