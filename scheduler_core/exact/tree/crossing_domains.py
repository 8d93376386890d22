"""The search for trees whose domains may lie across one another: which children of a composite, each in which domain.

Groups are taken from an agenda; a composite puts the children of a quorum on it, a leaf adds its pods to what must fit together.
Nothing is tried twice that differs in names only: of domains with the same free room that nothing of the tree has touched, the
first stands for all; what is left of an agenda is not tried again where it failed beside the same wishes.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from scheduler_core.exact.needs import leaves, satisfied, selections
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.optional_pods import PlannedGroup
from scheduler_core.exact.packing.wishes import Wishes
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.agenda import Agenda
from scheduler_core.exact.tree.bounds import Bounds
from scheduler_core.exact.tree.symmetry import Symmetry
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement import candidate_placements
from scheduler_core.placement.composite_progress import inadmissible
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_LOOKING, _TRYING = 25, 8
"""Steps to look at what is left to place, and for each way to place the first of it."""


class CrossingDomains:
    """The search for one root on a site, of which *capacity* is free."""

    def __init__(self, state: PlacementState, request: PlacementRequest, budget: StepBudget, capacity: Capacity) -> None:
        self._state = state
        self._request = request
        self._budget = budget
        self.capacity = capacity
        self._wishes = Wishes()
        self._likeness = Symmetry(state, request, self.capacity, self._wishes)
        self._bounds = Bounds(state.topology, self.capacity, self._wishes)
        self._alone: dict[tuple[int, int], bool] = {}
        self._choices: dict[tuple[int, int], list[Placement]] = {}
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._first: dict[int, tuple[PodShape | None, int]] = {}
        self._dead: set[object] = set()
        self._parts: dict[int, CrossingDomains] = {}
        self._refuted: set[tuple[int, int]] = set()
        self._solved: set[tuple[int, int]] = set()
        self._chosen: list[PlannedGroup] = []

    def plan(self, placement: Placement) -> list[PlannedGroup] | None:
        """The first plan for the root within *placement*; None if there is none.

        Raises:
            StepsSpentError: the budget is spent before that is known.

        """
        # What was found before still stands, and so does what was being tried when a budget was spent.
        self._chosen = []
        self._wishes.clear()
        if satisfied(self._request):
            return []
        # An explicit stack: a tree may have more groups than Python has frames.
        stack = [self._ways(self._before(self._request, placement, None))]
        while stack:
            for way in stack[-1]:
                if way is None:
                    return self._chosen
                stack.append(self._ways(way))
                break
            else:
                stack.pop()
        return None

    def _before(self, request: PlacementRequest, placement: Placement, rest: Agenda | None) -> Agenda:
        at = (request.number, placement.serial, rest.number if rest else 0)
        return Agenda(request, placement, rest, self._numbers.setdefault(at, len(self._numbers) + 1))

    def _ways(self, agenda: Agenda) -> Iterator[Agenda | None]:
        """The agendas that are left after each way to place the first group; while one is looked at, that way stands."""
        if self._dead and self._likeness.state(agenda) in self._dead:
            return
        self._budget.step(_LOOKING)
        if self._bounds.refute(agenda.tasks()):
            return
        for domain in self._candidates(agenda.request, agenda.placement):
            self._budget.step(_TRYING)
            if agenda.request.leaf:
                yield from self._leaf(agenda, domain)
            elif (agenda.request.number, domain.serial) not in self._refuted:
                yield from self._composite(agenda, domain)
                self._try_alone(agenda.request, domain)
        self._dead.add(self._likeness.state(agenda))

    def _leaf(self, agenda: Agenda, domain: Placement) -> Iterator[Agenda | None]:
        for counts in selections(agenda.request):
            self._chosen.append(PlannedGroup(agenda.request, domain, counts))
            self._wishes.add(domain, counts)
            if self.capacity.fits(self._wishes.related_wishes(domain)):
                yield agenda.rest
            self._wishes.add(domain, counts, -1)
            self._chosen.pop()

    def _composite(self, agenda: Agenda, domain: Placement) -> Iterator[Agenda | None]:
        request = agenda.request
        missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
        able = [child for child in request.children if self._bounds.lacking(child) and self._possible(child, domain)]
        able.sort(key=lambda child: (self._bounds.lacking(child), child.number))
        seen: set[tuple[int, ...]] = set()
        for quorum in itertools.combinations(able, missing):
            # Equal children stand for each other.
            numbers = tuple(child.number for child in quorum)
            if numbers in seen or any(self._is_refuted(child, domain) for child in quorum):
                self._budget.step()
                seen.add(numbers)
                continue
            seen.add(numbers)
            rest = agenda.rest
            for child in sorted(quorum, key=lambda child: self._urgency(child, domain), reverse=True):
                rest = self._before(child, domain, rest)
            self._chosen.append(PlannedGroup(request, domain))
            yield rest
            self._chosen.pop()

    def _try_alone(self, request: PlacementRequest, domain: Placement) -> None:
        """*request* came to nothing in *domain*: if it does so even by itself, it need never be tried there again."""
        if request is self._request or (request.number, domain.serial) in self._solved:
            return
        self._solved.add((request.number, domain.serial))
        if (part := self._parts.get(request.number)) is None:
            free = dataclasses.replace(request, entity=dataclasses.replace(request.entity, key=""))
            part = self._parts[request.number] = CrossingDomains(self._state, free, self._budget, self.capacity)
        if part.plan(domain) is None:
            self._refuted.add((request.number, domain.serial))

    def _is_refuted(self, request: PlacementRequest, placement: Placement) -> bool:
        """Whether *request* has been refuted by itself in all its domains."""
        if request.leaf or not self._refuted:
            return False
        return all(
            (request.number, domain.serial) in self._refuted or not self._alone_in(request, domain)
            for domain in self._domains(request, placement)
        )

    def _urgency(self, request: PlacementRequest, placement: Placement) -> tuple[int, int, int, int]:
        """Confined groups first, of these the ones with the fewest domains, of these the largest."""
        domains = self._domains(request, placement)
        return (max((len(domain) for domain in domains), default=0), len(domains), -self._bounds.lacking(request), request.number)

    def _candidates(self, request: PlacementRequest, placement: Placement) -> list[Placement]:
        seen: set[object] = set()
        kept = []
        for domain in self._domains(request, placement):
            if not self._alone_in(request, domain):
                continue
            if (look := self._likeness.symmetry_key(domain, placement)) is not None:
                if look in seen:
                    continue
                seen.add(look)
            kept.append(domain)
        return sorted(kept, key=lambda domain: self._looseness(request, domain))

    def _looseness(self, request: PlacementRequest, domain: Placement) -> int:
        """Where more pods wait than must be placed the roomiest domain comes first, otherwise the tightest."""
        shape, waiting = self._pods(request)
        if shape is None:
            return 0
        total = self.capacity.total(shape, domain)
        return -min(total, waiting) if waiting > self._bounds.lacking(request) else total

    def _pods(self, request: PlacementRequest) -> tuple[PodShape | None, int]:
        """The shape of the first pod that waits, and how many do."""
        if (found := self._first.get(request.number)) is None:
            shape = next((run.shape for leaf in leaves(request) for run in leaf.runs), None)
            found = self._first[request.number] = shape, sum(len(leaf.entity.waiting) for leaf in leaves(request))
        return found

    def _domains(self, request: PlacementRequest, placement: Placement) -> list[Placement]:
        """Where *request* may be within *placement*; nowhere if its members that run are apart already."""
        at = (id(request), placement.serial)
        if (found := self._choices.get(at)) is None:
            found = self._choices[at] = self._divided(request, placement)
        return found

    def _divided(self, request: PlacementRequest, placement: Placement) -> list[Placement]:
        key = request.entity.key
        if not key:
            return [placement]
        domains = self._state.topology.divide(placement, key).domains
        if not request.pinned:
            return list(domains)
        try:
            value = candidate_placements.pinned_value(self._state.nodes, key, request.pinned)
        except candidate_placements.PinError:
            return []
        return [domain for domain in domains if domain.value == value]

    def _possible(self, request: PlacementRequest, placement: Placement) -> bool:
        return not inadmissible(request) and any(self._alone_in(request, domain) for domain in self._domains(request, placement))

    def _alone_in(self, request: PlacementRequest, domain: Placement) -> bool:
        """Whether *request* could be met in *domain* if nothing else of the tree were there, as far as is cheap to say."""
        at = (request.number, domain.serial)
        if (found := self._alone.get(at)) is None:
            found = self._alone[at] = self._bounds.room_for(request, domain) and self._met_alone(request, domain)
        return found

    def _met_alone(self, request: PlacementRequest, domain: Placement) -> bool:
        self._budget.step(_TRYING)
        if request.leaf:
            return any(self.capacity.fits([(shape, domain, count) for shape, count in counts]) for counts in selections(request))
        return sum(satisfied(child) or self._possible(child, domain) for child in request.children) >= request.entity.minimum
