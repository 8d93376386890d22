"""Domains and quorums: which children of a composite, each in which domain, so that all their pods fit together."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from scheduler_core.exact.needs import leaves, satisfied
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.optional_pods import PlannedGroup, raised, with_more
from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.exact.tree.crossing_domains import CrossingDomains
from scheduler_core.exact.tree.domain_tree import DomainTree, nested
from scheduler_core.exact.tree.measures import Measures
from scheduler_core.exact.tree.nested_domains import NestedDomains
from scheduler_core.exact.tree.subproblem import CellSpot
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_BEGINNING, _AMOUNTS = 40, 400
"""Steps to divide a placement, one more for so many amounts that are summed."""
_LITTLE = 4
"""The part of the share that may go into adding pods to a plan."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Answer:
    """A plan, or that there is none."""

    plan: list[PlannedGroup] | None


class TreeSearch:
    """The search for one root on a site as it stands, or as it would be if nothing but the root's own members ran (*empty*).

    With *share* a plan is for as many pods as can be found with so many more steps, optional children and pods included; else it is
    for the minimum.
    """

    def __init__(
        self, state: PlacementState, request: PlacementRequest, budget: StepBudget, *, empty: bool = False, share: int = 0
    ) -> None:
        self._state = state
        self._request = request
        self._budget = budget
        self._share = share
        self.capacity = free_for(state, request, budget, empty=empty)
        self._measures = Measures(self.capacity, shapes(request))
        self._keys = sorted({each.key for each in request.entity.walk() if each.key})
        self._searches: dict[int, NestedDomains | None] = {}
        self._crossing: CrossingDomains | None = None

    def plan(self, placement: Placement) -> list[PlannedGroup] | None:
        """A plan for the root within *placement*; None if there is none.

        Raises:
            StepsSpentError: the budget is spent before that is known.

        """
        if satisfied(self._request):
            return []
        if not self._measures.weights:
            # Nobody waits who could meet the minimum.
            return None
        self._budget.step(1 + len(placement) * len(self._measures.nothing) // _AMOUNTS)
        free = self._free(placement)
        if any(need > there for need, there in zip(self._measures.least(self._request), free, strict=True)):
            return None
        search = self._nested(placement)
        found = None if search is None else self._apart(search, placement)
        return self._crossed(placement) if found is None else found.plan

    def limit(self, placement: Placement) -> int:
        """As many pods of the root as *placement* has room for."""
        spare = min(there // small for there, small in zip(self._free(placement), self._measures.smallest, strict=True) if small)
        return min(spare, self._measures.wanted(self._request))

    def _free(self, placement: Placement) -> list[int]:
        """What is free in *placement*, by measure."""
        free: list[int] = self._measures.everywhere[:, placement.nodes].sum(axis=1).tolist()
        return free

    def _nested(self, placement: Placement) -> NestedDomains | None:
        """The search where domains are solved by themselves; None where these lie across one another."""
        if placement.serial not in self._searches:
            self._budget.step(_BEGINNING + len(placement) * len(self._keys) * len(self._measures.nothing) // _AMOUNTS)
            keys = nested(self._keys, placement.nodes, self._state.nodes)
            nest = None if keys is None else DomainTree(placement.nodes, keys, self._state.nodes, self._measures)
            self._searches[placement.serial] = None if nest is None else self._search(nest, self._measures)
        return self._searches[placement.serial]

    def _apart(self, search: NestedDomains, placement: Placement) -> _Answer | None:
        """The answer where domains are solved by themselves; None where that does not tell."""
        spot = search.place(self._request)
        if spot is None:
            return _Answer(None)
        plan = self._chosen(search.nest, spot, placement)
        if not self._fits(plan):
            # What is counted fits, and what is packed does not: only trying everything tells.
            return None
        return _Answer(self._improved(plan, search, placement) if self._share else plan)

    def _improved(self, plan: list[PlannedGroup], search: NestedDomains, placement: Placement) -> list[PlannedGroup]:
        """*plan* with what is optional, or another one that has more of it."""
        plan = self._with_more(plan, _LITTLE)
        limit = search.limit(self._request)
        for part, spot in self._others(search):
            if _pods(plan) >= limit:
                break
            with contextlib.suppress(StepsSpentError), self._budget.part(self._share // part):
                if (found := spot()) is not None and self._fits(other := self._chosen(search.nest, found, placement)):
                    plan = max(plan, other, self._with_more(other, part), key=_pods)
        return plan

    def _others(self, search: NestedDomains) -> Iterator[tuple[int, Callable[[], CellSpot | None]]]:
        """Other ways to find a place, and which part of the share each may take at most."""
        # Whether everything fits is soon known, one way or the other, more often than not.
        yield 8, lambda: self._all_of(search.nest, whole=True)
        yield 2, lambda: self._all_of(search.nest, whole=False)
        yield 1, lambda: search.place(self._request, share=self._share // 2)

    def _all_of(self, nest: DomainTree, *, whole: bool) -> CellSpot | None:
        """A place for all children, with all their pods if *whole*."""
        request, measures = raised(self._request, whole=whole), Measures(self.capacity, shapes(self._request))
        if any(need > free for need, free in zip(measures.least(request), nest.cells[0].room, strict=True)):
            return None
        return self._search(nest, measures).place(request)

    def _search(self, nest: DomainTree, measures: Measures) -> NestedDomains:
        return NestedDomains(nest, measures, self.capacity, shapes(self._request), self._budget, self._request.pinned)

    def _with_more(self, plan: list[PlannedGroup], part: int) -> list[PlannedGroup]:
        with contextlib.suppress(StepsSpentError), self._budget.part(self._share // part):
            return with_more(plan, self.capacity)
        return plan

    def _crossed(self, placement: Placement) -> list[PlannedGroup] | None:
        if self._crossing is None:
            self._crossing = CrossingDomains(self._state, self._request, self._budget, self.capacity)
        plan = self._crossing.plan(placement)
        return self._with_more(plan, _LITTLE) if plan and self._share else plan

    def _fits(self, plan: Sequence[PlannedGroup]) -> bool:
        return self.capacity.fits([(shape, chosen.domain, count) for chosen in plan for shape, count in chosen.counts])

    def _chosen(self, nest: DomainTree, top: CellSpot, placement: Placement) -> list[PlannedGroup]:
        return list(self._below(nest, self._request, top, placement))

    def _below(self, nest: DomainTree, request: PlacementRequest, spot: CellSpot, placement: Placement) -> Iterator[PlannedGroup]:
        if key := request.entity.key:
            division = self._state.topology.divide(placement, key)
            placement = division.domains[division.rows[nest.value(spot.cell, key)]]
        yield PlannedGroup(request, placement, spot.counts)
        for child, each in zip(request.children, spot.children, strict=bool(spot.children)):
            if each is not None:
                yield from self._below(nest, child, each, placement)


def shapes(request: PlacementRequest) -> list[PodShape]:
    """The shapes of the pods that wait, by serial."""
    found = {run.shape.serial: run.shape for leaf in leaves(request) for run in leaf.runs}
    return [found[serial] for serial in sorted(found)]


def free_for(state: PlacementState, request: PlacementRequest, budget: StepBudget, *, empty: bool = False) -> Capacity:
    """What is free on *state* for *request*; with *empty* if nothing but its own members ran."""
    members = [pod for leaf in request.entity.leaves() for pod in leaf.running]
    return Capacity(state, shapes(request), budget, members if empty else None)


def _pods(plan: Sequence[PlannedGroup]) -> int:
    return sum(count for chosen in plan for _, count in chosen.counts)
