"""The fewest units that must leave for a root, with a bound below which no plan can be.

kube-scheduler places a root once without all lower units, and who leaves follows from where it went (``select``).  Here that is only
the first plan.  Others are made domain by domain, the most promising first, each is reduced until nobody can be left back, and sets
of few units are tried one and all.  What is better is said in ``worth``.  In the end the root is placed again without exactly the
victims; if that does not succeed nobody leaves.
"""

from __future__ import annotations

import bisect
import contextlib
import math
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic

import numpy as np

from scheduler_core.decision import Status
from scheduler_core.entity import Entity
from scheduler_core.nodes import Ints
from scheduler_core.preemption.budgets import Budgets
from scheduler_core.preemption.cheapest import Cheapest
from scheduler_core.preemption.effort import Effort, SpentError
from scheduler_core.preemption.result import Chosen, Preemption, by_importance
from scheduler_core.preemption.select import ProposalT
from scheduler_core.preemption.shortage import NEVER, Shortage
from scheduler_core.preemption.subsets import Subsets
from scheduler_core.preemption.trials import Prover, Trials
from scheduler_core.preemption.units import Units
from scheduler_core.preemption.worth import Key, Worth
from scheduler_core.topology import Placement

NOT_PROVED = "no placement was proved for the time after the eviction"
EFFORT = 20_000
"""Steps for one root."""
_DOMAINS = 8
"""Domains that are looked into for a plan that breaks no fewer units than one that is known."""
_SETS = 2_000
"""Sets of the fewest units that are tried for the one that is worth least."""


def fewest_victims(
    root: Entity,
    first: Preemption[ProposalT] | Preemption[None],
    prover: Prover[ProposalT],
    units: Units,
    budgets: Budgets,
    leaving: AbstractSet[str] = frozenset(),
    steps: int = EFFORT,
) -> Preemption[ProposalT] | Preemption[None]:
    """*first*, or a plan that is better.

    Args:
        root: the preemptor, which does not fit as things stand.
        first: whom ``select`` or ``single`` chose.
        prover: places the root, and knows what it asks for.
        units: of all pods that run.
        budgets: the disruption budgets.
        leaving: keys of pods that are on their way although the snapshot does not say so.
        steps: how much may be done.

    """
    if first.status is not Status.SUCCESS or not first.units:
        return first
    plans: _Plans[ProposalT] = _Plans(root, first, units, budgets, prover, leaving, steps)
    found = plans.best()
    for chosen in (found, plans.first):
        outcome = plans.trials.placed(chosen)
        if outcome.status is Status.SUCCESS:
            return _told(root, chosen, plans, outcome, leaving)
    return Preemption(Status.UNSCHEDULABLE, NOT_PROVED)


def _told(
    root: Entity, numbers: frozenset[int], plans: _Plans[ProposalT], outcome: ProposalT, leaving: AbstractSet[str]
) -> Preemption[ProposalT]:
    units = tuple(plans.units.unit(number) for number in by_importance(numbers, plans.units))
    chosen = Chosen(units, plans.worth.breaks(numbers))
    nominations = {pod.key: node for pod, node in outcome.assigned}
    what = "placement for podgroup"
    if root.name.kind == "Pod":
        names = plans.question.site.nodes.names
        what = f"potential placement for pod on node {names[next(iter(nominations.values()))]}"
    message = f"found a {what}, preempting {chosen.count} victims"
    lower = min(plans.lower, len(units))
    return Preemption(Status.SUCCESS, message, *chosen.split(leaving), units, chosen.violating, nominations, outcome, lower)


class _Plans(Generic[ProposalT]):
    """Plans for one root, better and better.

    Attributes:
        first: the units of the first plan.
        lower: no plan breaks fewer units; among plans that break no disruption budget if there are such.

    """

    def __init__(
        self,
        root: Entity,
        first: Preemption[ProposalT] | Preemption[None],
        units: Units,
        budgets: Budgets,
        prover: Prover[ProposalT],
        leaving: AbstractSet[str],
        steps: int,
    ) -> None:
        below = units.below(root.priority)
        self.question = question = prover.question
        self.units = units
        self.worth = Worth(units, below, budgets, leaving)
        self._steps = steps
        self._effort = Effort(steps)
        self.trials = Trials(root, units, self.worth.free, prover, self._effort)
        keys = [pod.key for pod in units.pods]
        members = (int(units.unit_of[bisect.bisect_left(keys, unit.pods[0].key)]) for unit in first.units)
        self.first = frozenset(members) - self.worth.free
        self.lower = 0
        self._domain = _around(question.domains, first.nominations.values())
        self._able: Ints = np.array([number for number in below.units.tolist() if number not in self.worth.free], dtype=np.int64)
        self._amounts = units.amounts(len(question.site.ledger.used))
        self._best: tuple[Key, frozenset[int]] | None = None

    def best(self) -> frozenset[int]:
        """The best plan that is found."""
        for broken in (False, True):
            # What shows whether a budget must be broken may take half of it.
            self._effort.renew(self._steps // 2)
            with contextlib.suppress(SpentError):
                if self.worth.free and any(self.trials.fits(frozenset(), domain) for domain in self.question.domains):
                    return frozenset()
                self._look(broken=broken)
            if self._best is not None:
                break
        self._offer(self.first)
        return self._best[1] if self._best is not None else self.first

    def _look(self, *, broken: bool) -> None:
        """Find plans, only such as break no disruption budget unless *broken*."""
        able = self._able
        if not broken:
            breaking = [number for number in self.worth.guarded if self.worth.breaks([number])]
            able = np.setdiff1d(able, np.array(breaking, dtype=np.int64), assume_unique=True)
        shortage = self._shortage(able)
        bounds = [shortage.at_least(self.question.demand, domain) for domain in self.question.domains]
        self.lower = max(1, min(bounds, default=NEVER))
        if self.lower < NEVER:
            ranks = np.zeros(len(self.units), dtype=np.int64)
            ranks[able] = self.worth.ranks(able)
            domains = _promising(shortage, zip(bounds, self.question.domains, strict=True), ranks)
            self._make(shortage, domains, able, broken=broken)
            self._try_all(shortage, domains, able, broken=broken)

    def _shortage(self, able: Ints) -> Shortage:
        chosen = np.zeros(len(self.units), dtype=bool)
        chosen[able] = True
        gone = np.zeros(len(self.units), dtype=bool)
        gone[list(self.worth.free)] = True
        of = self.units.unit_of
        return Shortage(self.question.site, self.units, np.flatnonzero(chosen[of]), self._amounts, np.flatnonzero(gone[of]))

    def _make(self, shortage: Shortage, domains: Sequence[tuple[int, Placement]], able: Ints, *, broken: bool) -> None:
        """Plans made at once, domain by domain, those first that may do with fewest units."""
        flat = self.question.flat
        if self._allowed(self.first, broken=broken):
            if flat is None:
                self._reduce(self.first, self._domain)
            else:
                self._offer(self.first)
        cheapest = Cheapest(self.question.site, shortage, self.worth, self._effort, broken=broken)
        for number, (bound, domain) in enumerate(domains):
            if self._best is not None and (bound > self._best[0][1] or (bound == self._best[0][1] and number >= _DOMAINS)):
                break
            if flat is not None:
                found = cheapest.plan(*flat, domain)
                if found is not None and self._allowed(found, broken=broken) and self.trials.fits(found, domain):
                    self._offer(found)
                    continue
            if self._best is None or bound < self._best[0][1]:
                self._reduce(self._many(shortage, domain, able, broken=broken), domain)

    def _many(self, shortage: Shortage, domain: Placement, able: Ints, *, broken: bool) -> frozenset[int]:
        """Units of *domain*, as many as may leave together."""
        there = self._touching(shortage, domain, able).tolist()
        if self._allowed(there, broken=broken):
            return frozenset(there)
        found: list[int] = []
        for number in reversed(by_importance(there, self.units)):
            if self._allowed([*found, number], broken=broken):
                found.append(number)
        return frozenset(found)

    def _reduce(self, numbers: frozenset[int], domain: Placement) -> None:
        """*numbers* without those that can be left back, many at once first; offered if the root then fits."""
        if not self.trials.fits(numbers, domain):
            return
        kept = by_importance(numbers, self.units)
        size = max(1, len(kept) // 2)
        while len(kept) > self.lower:
            at = 0
            while at < len(kept) > self.lower:
                fewer = kept[:at] + kept[at + size :]
                if self.trials.fits(frozenset(fewer), domain):
                    kept = fewer
                else:
                    at += size
            self._offer(frozenset(kept))
            if size == 1:
                return
            size //= 2
        self._offer(frozenset(kept))

    def _try_all(self, shortage: Shortage, domains: Sequence[tuple[int, Placement]], able: Ints, *, broken: bool) -> None:
        """All sets of as few units as can be enough, then of one more, until a plan is found or none can be better."""
        if self._best is not None and self._best[0][1] == self.lower and self._too_many(shortage, domains, able):
            return
        of = [(bound, self._subsets(shortage, domain, able)) for bound, domain in domains]
        proved = True
        for size in range(self.lower, self._best[0][1] + 1 if self._best is not None else len(able) + 1):
            if self._best is not None and size > self._best[0][1]:
                break
            for bound, subsets in of:
                if bound <= size:
                    limit = None if self._best is None else self._best[0]
                    found, certain = subsets.best(size, limit, exact=self.question.exact, broken=broken)
                    proved &= certain
                    if found is not None:
                        self._offer(found)
            if proved and (self._best is None or size < self._best[0][1]):
                self.lower = size + 1

    def _too_many(self, shortage: Shortage, domains: Iterable[tuple[int, Placement]], able: Ints) -> bool:
        """Whether there are too many sets of the fewest units to try them for the one that is worth least."""
        there = (self._touching(shortage, domain, able) for bound, domain in domains if bound <= self.lower)
        return sum(math.comb(len(units), self.lower) for units in there) > _SETS

    def _touching(self, shortage: Shortage, domain: Placement, able: Ints) -> Ints:
        """The units of *able* that can matter in *domain*."""
        return _touching(shortage, domain) if self.question.exact else able

    def _subsets(self, shortage: Shortage, domain: Placement, able: Ints) -> Subsets:
        there = self._touching(shortage, domain, able)
        ordered = there[np.argsort(self.worth.ranks(there))].tolist() if len(there) else []
        subsets = Subsets(domain, ordered, self.trials, self.worth, self._effort)
        if self.question.exact:
            subsets.compare(shortage)
        return subsets

    def _allowed(self, numbers: Iterable[int], *, broken: bool) -> bool:
        return broken or not self.worth.breaks(numbers)

    def _offer(self, numbers: frozenset[int]) -> None:
        """Remember *numbers*, which let the root fit, if they are better than what is known."""
        key = self.worth.key(numbers)
        if self._best is None or key < self._best[0]:
            self._best = key, numbers


def _touching(shortage: Shortage, domain: Placement) -> Ints:
    found: Ints = np.unique(shortage.unit[shortage.pairs_of(domain.nodes)])
    return found


def _promising(shortage: Shortage, domains: Iterable[tuple[int, Placement]], ranks: Ints) -> list[tuple[int, Placement]]:
    """The domains where the root may fit, with their bounds: first where the fewest units may be enough, and those worth little."""
    found = []
    for number, (bound, domain) in enumerate(domains):
        if bound < NEVER:
            cheap = np.sort(ranks[_touching(shortage, domain)])[: max(bound, 1)]
            found.append((bound, int(cheap.sum()), number, domain))
    return [(bound, domain) for bound, _, _, domain in sorted(found, key=lambda each: each[:3])]


def _around(domains: Sequence[Placement], nodes: Iterable[int]) -> Placement:
    """The domain that holds *nodes*."""
    wanted = np.array(sorted(nodes), dtype=np.int64)
    return next((domain for domain in domains if np.isin(wanted, domain.nodes).all()), domains[0])
