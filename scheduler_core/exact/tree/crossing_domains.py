"""Search for trees whose domains can cross: which children of a composite are placed, each in which domain.

The groups to place form an agenda.  A composite adds the children of a quorum to it.  A leaf adds its pods to the demands that must fit
together.  Symmetric states are tried once: of equal unused domains only the first is tried, and an agenda that failed is not tried again
with the same demands.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from scheduler_core.exact.needs import satisfied, selections
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.demands import Demands
from scheduler_core.exact.packing.optional_pods import PlannedGroup
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.bounds import Bounds
from scheduler_core.exact.tree.symmetry import Symmetry
from scheduler_core.exact.tree.unplaced_groups import UnplacedGroups
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement import candidate_placements
from scheduler_core.placement.feasibility import inadmissible
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_AGENDA_STEPS, _DOMAIN_STEPS = 25, 8
"""Steps for each agenda, and for each domain of its first group."""


class CrossingDomains:
    """Search for one root with the free *capacity*."""

    def __init__(self, state: PlacementState, request: PlacementRequest, budget: StepBudget, capacity: Capacity) -> None:
        self._state = state
        self._request = request
        self._budget = budget
        self.capacity = capacity
        self._demands = Demands(capacity.coupled)
        self._symmetry = Symmetry(state, request, self.capacity, self._demands)
        self._bounds = Bounds(state.topology, self.capacity, self._demands)
        self._feasible_alone: dict[tuple[int, int], bool] = {}
        self._domains_within: dict[tuple[int, int], list[Placement]] = {}
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._first_pods: dict[int, tuple[PodShape | None, int]] = {}
        self._failed: set[object] = set()
        self._searches_alone: dict[int, CrossingDomains] = {}
        self._refuted_alone: set[tuple[int, int]] = set()
        self._tried_alone: set[tuple[int, int]] = set()
        self._chosen: list[PlannedGroup] = []

    def plan(self, placement: Placement) -> list[PlannedGroup] | None:
        """Return the first plan for the root within *placement*; None if there is none.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        # A previous plan is still recorded here, or an attempt that the budget interrupted.
        self._chosen = []
        self._demands.clear()
        if satisfied(self._request):
            return []
        # An explicit stack: a tree may have more groups than Python has stack frames.
        stack = [self._try_domains(self._prepend(self._request, placement, None))]
        while stack:
            for rest in stack[-1]:
                if rest is None:
                    return self._chosen
                stack.append(self._try_domains(rest))
                break
            else:
                stack.pop()
        return None

    def _prepend(self, request: PlacementRequest, placement: Placement, rest: UnplacedGroups | None) -> UnplacedGroups:
        key = (request.number, placement.serial, rest.number if rest else 0)
        return UnplacedGroups(request, placement, rest, self._numbers.setdefault(key, len(self._numbers) + 1))

    def _try_domains(self, agenda: UnplacedGroups) -> Iterator[UnplacedGroups | None]:
        """Yield the rest of the agenda for each way to place its first group, which is in effect while the caller continues."""
        if self._failed and self._symmetry.state(agenda) in self._failed:
            return
        self._budget.step(_AGENDA_STEPS)
        if self._bounds.refute(agenda.tasks()):
            return
        for domain in self._candidates(agenda.request, agenda.placement):
            self._budget.step(_DOMAIN_STEPS)
            if agenda.request.leaf:
                yield from self._try_leaf(agenda, domain)
            elif (agenda.request.number, domain.serial) not in self._refuted_alone:
                yield from self._try_composite(agenda, domain)
                self._refute_alone(agenda.request, domain)
        self._failed.add(self._symmetry.state(agenda))

    def _try_leaf(self, agenda: UnplacedGroups, domain: Placement) -> Iterator[UnplacedGroups | None]:
        for counts in selections(agenda.request):
            self._chosen.append(PlannedGroup(agenda.request, domain, counts))
            self._demands.add(domain, counts)
            if self.capacity.fits(self._demands.connected_demands(domain)):
                yield agenda.rest
            self._demands.add(domain, counts, -1)
            self._chosen.pop()

    def _try_composite(self, agenda: UnplacedGroups, domain: Placement) -> Iterator[UnplacedGroups | None]:
        request = agenda.request
        missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
        children = [child for child in request.children if self._bounds.lacking(child) and self._may_fit(child, domain)]
        children.sort(key=lambda child: (self._bounds.lacking(child), child.number))
        seen: set[tuple[int, ...]] = set()
        for quorum in itertools.combinations(children, missing):
            # Quorums with equal children are equal.
            numbers = tuple(child.number for child in quorum)
            if numbers in seen or any(self._is_refuted_alone(child, domain) for child in quorum):
                self._budget.step()
                seen.add(numbers)
                continue
            seen.add(numbers)
            rest = agenda.rest
            for child in sorted(quorum, key=lambda child: self._urgency(child, domain), reverse=True):
                rest = self._prepend(child, domain, rest)
            self._chosen.append(PlannedGroup(request, domain))
            yield rest
            self._chosen.pop()

    def _refute_alone(self, request: PlacementRequest, domain: Placement) -> None:
        """Record *request* in *domain* as refuted if it is infeasible there even without the other groups."""
        if request is self._request or (request.number, domain.serial) in self._tried_alone:
            return
        self._tried_alone.add((request.number, domain.serial))
        if (search := self._searches_alone.get(request.number)) is None:
            unconstrained = dataclasses.replace(request, entity=dataclasses.replace(request.entity, key=""))
            search = self._searches_alone[request.number] = CrossingDomains(self._state, unconstrained, self._budget, self.capacity)
        if search.plan(domain) is None:
            self._refuted_alone.add((request.number, domain.serial))

    def _is_refuted_alone(self, request: PlacementRequest, placement: Placement) -> bool:
        """Return whether *request* is refuted by itself in all its domains."""
        if request.leaf or not self._refuted_alone:
            return False
        return all(
            (request.number, domain.serial) in self._refuted_alone or not self._may_fit_alone(request, domain)
            for domain in self._domains(request, placement)
        )

    def _urgency(self, request: PlacementRequest, placement: Placement) -> tuple[int, int, int, int]:
        """Return a sort key: groups confined to few nodes first, then few domains, then many pods."""
        domains = self._domains(request, placement)
        return (max((len(domain) for domain in domains), default=0), len(domains), -self._bounds.lacking(request), request.number)

    def _candidates(self, request: PlacementRequest, placement: Placement) -> list[Placement]:
        seen: set[object] = set()
        candidates = []
        for domain in self._domains(request, placement):
            if not self._may_fit_alone(request, domain):
                continue
            if (symmetry_key := self._symmetry.symmetry_key(domain, placement)) is not None:
                if symmetry_key in seen:
                    continue
                seen.add(symmetry_key)
            candidates.append(domain)
        return sorted(candidates, key=lambda domain: self._looseness(request, domain))

    def _looseness(self, request: PlacementRequest, domain: Placement) -> int:
        """Return a sort key of domains: the one with most capacity first if *request* has optional pods, else the tightest."""
        shape, waiting = self._waiting_pods(request)
        if shape is None:
            return 0
        total = self.capacity.slots_in(shape, domain)
        return -min(total, waiting) if waiting > self._bounds.lacking(request) else total

    def _waiting_pods(self, request: PlacementRequest) -> tuple[PodShape | None, int]:
        """Return the shape of the first waiting pod, and the number of waiting pods."""
        if (result := self._first_pods.get(request.number)) is None:
            shape = next((run.shape for leaf in request.leaves() for run in leaf.runs), None)
            result = self._first_pods[request.number] = shape, sum(len(leaf.entity.waiting) for leaf in request.leaves())
        return result

    def _domains(self, request: PlacementRequest, placement: Placement) -> list[Placement]:
        """Return the domains of *request* within *placement*; none if its running members are in several domains."""
        key = (id(request), placement.serial)
        if (domains := self._domains_within.get(key)) is None:
            domains = self._domains_within[key] = self._find_domains(request, placement)
        return domains

    def _find_domains(self, request: PlacementRequest, placement: Placement) -> list[Placement]:
        key = request.entity.key
        if not key:
            return [placement]
        domains = self._state.topology.divide(placement, key).domains
        if not request.pinned:
            return list(domains)
        try:
            value = candidate_placements.pinned_domain(self._state, request)
        except candidate_placements.PinError:
            return []
        return [domain for domain in domains if domain.value == value]

    def _may_fit(self, request: PlacementRequest, placement: Placement) -> bool:
        return not inadmissible(request) and any(self._may_fit_alone(request, domain) for domain in self._domains(request, placement))

    def _may_fit_alone(self, request: PlacementRequest, domain: Placement) -> bool:
        """Return whether *request* could fit in *domain* without the other groups, after cheap bounds."""
        key = (request.number, domain.serial)
        if (result := self._feasible_alone.get(key)) is None:
            result = self._feasible_alone[key] = self._bounds.may_fit(request, domain) and self._passes_bounds_alone(request, domain)
        return result

    def _passes_bounds_alone(self, request: PlacementRequest, domain: Placement) -> bool:
        self._budget.step(_DOMAIN_STEPS)
        if request.leaf:
            return any(self.capacity.fits([(shape, domain, count) for shape, count in counts]) for counts in selections(request))
        return sum(satisfied(child) or self._may_fit(child, domain) for child in request.children) >= request.entity.minimum
