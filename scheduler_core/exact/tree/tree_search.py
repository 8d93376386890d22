"""Search for domains and quorums: which children of a composite are placed, each in which domain, so that all pods fit together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from kubeapi.base_structs import Record
from scheduler_core.exact.devices.device_constraints import device_constraints
from scheduler_core.exact.needs import satisfied
from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.packing.optional_pods import PlannedGroup, raised, with_more
from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.exact.tree.crossing_domains import CrossingDomains
from scheduler_core.exact.tree.domain_tree import DomainTree, nested
from scheduler_core.exact.tree.measures import Measures
from scheduler_core.exact.tree.nested_domains import NestedDomains
from scheduler_core.exact.tree.subproblem import CellAssignment
from scheduler_core.exact.volumes.constraints import volume_constraints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.topology import Placement, sums_over
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState

_START_STEPS, _AMOUNTS = 40, 400
"""Steps to divide a placement; number of amounts that cost one more step."""
_ADDING_SHARE = 4
"""Divisor of the share: a quarter of it may be spent to add pods to a plan."""


class _Answer(Record, frozen=True):
    """A plan, or None as the answer that there is no plan."""

    plan: list[PlannedGroup] | None


class TreeSearch:
    """Search for one root on the present placement state, or with *empty* as if only running members of the root used capacity.

    A plan holds the minimum.  With *share* the search spends up to that many more steps on optional children and pods.
    """

    def __init__(
        self, state: PlacementState, request: PlacementRequest, budget: StepBudget, *, empty: bool = False, share: int = 0
    ) -> None:
        self._state = state
        self._request = request
        self.budget = budget
        self._share = share
        self.capacity = free_for(state, request, budget, empty=empty)
        # A search of nested domains relaxes volumes that pods of different domains compete for.
        self._relaxed = self.capacity.relaxed()
        self._measures = Measures(self._relaxed, shapes(request))
        self._keys = sorted({each.key for each in request.entity.walk() if each.key})
        self._free_of: dict[int, list[int]] = {}
        self._searches: dict[int, NestedDomains | None] = {}
        self._crossing: CrossingDomains | None = None

    def plan(self, placement: Placement) -> list[PlannedGroup] | None:
        """Return a plan for the root within *placement*; None if there is none.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        if satisfied(self._request):
            return []
        if not self._measures.weights:
            # No waiting pods.
            return None
        self.budget.step(1 + len(placement) * len(self._measures.nothing) // _AMOUNTS)
        free = self._free(placement)
        if any(need > available for need, available in zip(self._measures.least(self._request), free, strict=True)):
            return None
        search = self._nested_search(placement)
        answer = None if search is None else self._nested_answer(search, placement)
        return self._crossing_plan(placement) if answer is None else answer.plan

    def compare(self, placements: Sequence[Placement]) -> None:
        """Prepare for ``plan`` and ``limit`` of each of *placements*."""
        free = sums_over(self._measures.free, [each.nodes for each in placements]).T.tolist()
        self._free_of.update(zip([each.serial for each in placements], free, strict=True))

    def limit(self, placement: Placement) -> int:
        """Return an upper bound of the pods of the root that fit in *placement*."""
        spare = min(available // small for available, small in zip(self._free(placement), self._measures.smallest, strict=True) if small)
        return min(spare, self._measures.waiting(self._request))

    def _free(self, placement: Placement) -> list[int]:
        """Return the free amounts of *placement*, by measure."""
        if placement.serial not in self._free_of:
            self.compare([placement])
        return self._free_of[placement.serial]

    def _nested_search(self, placement: Placement) -> NestedDomains | None:
        """Return the nested search of *placement*; None if its domains are not nested."""
        if placement.serial not in self._searches:
            self.budget.step(_START_STEPS + len(placement) * len(self._keys) * len(self._measures.nothing) // _AMOUNTS)
            keys = nested(self._keys, placement.nodes, self._state.nodes)
            domain_tree = None if keys is None else DomainTree(placement.nodes, keys, self._state.nodes, self._measures)
            self._searches[placement.serial] = None if domain_tree is None else self._new_search(domain_tree, self._measures)
        return self._searches[placement.serial]

    def _nested_answer(self, search: NestedDomains, placement: Placement) -> _Answer | None:
        """Return the answer of the nested search; None if its plan cannot be packed, so that the crossing search must decide."""
        solution = search.place(self._request)
        if solution is None:
            return _Answer(None)
        plan = self._plan_of(search.domain_tree, solution, placement)
        if not self._fits(plan):
            # The relaxation has a solution that cannot be packed: the crossing search decides.
            return None
        return _Answer(self._improved(plan, search, placement) if self._share else plan)

    def _improved(self, plan: list[PlannedGroup], nested_search: NestedDomains, placement: Placement) -> list[PlannedGroup]:
        """Return *plan* with optional pods, or another plan with more pods."""
        plan = self._with_more(plan, _ADDING_SHARE)
        limit = nested_search.limit(self._request)
        for divisor, search_cells in self._alternatives(nested_search):
            if _pods(plan) >= limit:
                break
            with contextlib.suppress(StepsSpentError), self.budget.part(self._share // divisor):
                if (solution := search_cells()) is not None and self._fits(
                    other := self._plan_of(nested_search.domain_tree, solution, placement)
                ):
                    plan = max(plan, other, self._with_more(other, divisor), key=_pods)
        return plan

    def _alternatives(self, nested_search: NestedDomains) -> Iterator[tuple[int, Callable[[], CellAssignment | None]]]:
        """Yield other searches, each with the divisor of the share that it may spend."""
        # Usually a few steps decide whether everything fits.
        yield 8, lambda: self._place_all(nested_search.domain_tree, whole=True)
        yield 2, lambda: self._place_all(nested_search.domain_tree, whole=False)
        yield 1, lambda: nested_search.place(self._request, share=self._share // 2)

    def _place_all(self, domain_tree: DomainTree, *, whole: bool) -> CellAssignment | None:
        """Return a solution with all children, and with *whole* all their pods; None if there is none."""
        request, measures = raised(self._request, whole=whole), Measures(self._relaxed, shapes(self._request))
        if any(need > free for need, free in zip(measures.least(request), domain_tree.cells[0].free, strict=True)):
            return None
        return self._new_search(domain_tree, measures).place(request)

    def _new_search(self, domain_tree: DomainTree, measures: Measures) -> NestedDomains:
        return NestedDomains(domain_tree, measures, self._relaxed, shapes(self._request), self.budget, self._request.pinned)

    def _with_more(self, plan: list[PlannedGroup], divisor: int) -> list[PlannedGroup]:
        with contextlib.suppress(StepsSpentError), self.budget.part(self._share // divisor):
            return with_more(plan, self.capacity)
        return plan

    def _crossing_plan(self, placement: Placement) -> list[PlannedGroup] | None:
        if self._crossing is None:
            self._crossing = CrossingDomains(self._state, self._request, self.budget, self.capacity)
        plan = self._crossing.plan(placement)
        return self._with_more(plan, _ADDING_SHARE) if plan and self._share else plan

    def _fits(self, plan: Sequence[PlannedGroup]) -> bool:
        return self.capacity.fits([(shape, chosen.domain, count) for chosen in plan for shape, count in chosen.counts])

    def _plan_of(self, domain_tree: DomainTree, solution: CellAssignment, placement: Placement) -> list[PlannedGroup]:
        return list(self._planned_groups(domain_tree, self._request, solution, placement))

    def _planned_groups(
        self, domain_tree: DomainTree, request: PlacementRequest, solution: CellAssignment, placement: Placement
    ) -> Iterator[PlannedGroup]:
        if key := request.entity.key:
            division = self._state.topology.divide(placement, key)
            placement = division.domains[division.rows[domain_tree.value(solution.cell, key)]]
        yield PlannedGroup(request, placement, solution.counts)
        for child, each in zip(request.children, solution.children, strict=bool(solution.children)):
            if each is not None:
                yield from self._planned_groups(domain_tree, child, each, placement)


def shapes(request: PlacementRequest) -> list[PodShape]:
    """Return the shapes of the waiting pods, by serial."""
    by_serial = {run.shape.serial: run.shape for leaf in request.leaves() for run in leaf.runs}
    return [by_serial[serial] for serial in sorted(by_serial)]


def free_for(state: PlacementState, request: PlacementRequest, budget: StepBudget, *, empty: bool = False) -> Capacity:
    """Return the free capacity for *request*; with *empty* as if only its own members ran."""
    members = [pod for leaf in request.entity.leaves() for pod in leaf.running] if empty else None
    waiting = {pod.shape.serial: pod for leaf in request.entity.leaves() for pod in leaf.waiting}
    volumes = volume_constraints(state, waiting.values(), members)
    # Without other pods the devices are only counted: such a search never refutes more.
    devices = device_constraints(state, waiting.values()) if members is None else None
    return Capacity(state, shapes(request), budget, members, volumes, devices)


def _pods(plan: Sequence[PlannedGroup]) -> int:
    return sum(count for chosen in plan for _, count in chosen.counts)
