"""Search for nested domains: the groups inside one cell are solved by themselves, and cached.

Once every group of a cell has a cell inside it, these inner cells are independent.  Pods of an outer cell are counted, and not packed
together with the pods of inner cells.  So the search solves a relaxation, and its caller packs the plan as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.exact.packing.capacity import Capacity
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.assign_domains import DomainAssignment
from scheduler_core.exact.tree.choices import Choices
from scheduler_core.exact.tree.domain_tree import DomainTree
from scheduler_core.exact.tree.measures import Measures
from scheduler_core.exact.tree.shared_domain import SharedDomain
from scheduler_core.exact.tree.subproblem import CellAssignment, CellAssignments, GroupInCell, GroupTask, Subsolution, loaded
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest

_Keys = tuple[object, ...]
_VERDICT_STEPS = 20
"""Steps for a verdict that is not cached."""


class NestedDomains:
    """Search for one tree in the cells of one domain tree with the free *capacity*; *pinned* are nodes with running members."""

    def __init__(
        self,
        domain_tree: DomainTree,
        measures: Measures,
        capacity: Capacity,
        shapes: Sequence[PodShape],
        budget: StepBudget,
        pinned: Sequence[int],
    ) -> None:
        self.domain_tree = domain_tree
        self.measures = measures
        self.budget = budget
        self.choices = Choices(domain_tree, measures, budget)
        self.shared_domain = SharedDomain(domain_tree, capacity, shapes, budget)
        self.pinned = domain_tree.cells_containing(pinned) if pinned else frozenset[int]()
        self._last_step: int | None = None
        self._solutions: dict[_Keys, Subsolution | None] = {}
        self._verdicts: dict[_Keys, bool] = {}

    def place(self, request: PlacementRequest, *, share: int = 0) -> CellAssignment | None:
        """Return the cells of *request* and its descendants; None if there is no solution.

        With *share*, the number of steps for optional pods, the solution has as many pods as the search reaches.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        self._last_step = self.budget.explored + share if share else None
        result = DomainAssignment(self, 0, [GroupTask(request, 0, 0)], (), most=bool(share)).run(self.limit(request))
        if result is None or (top := result[1][0]) is None:
            return None
        return CellAssignment(top.cell, top.counts, result[0].below[0])

    def limit(self, request: PlacementRequest) -> int:
        """Return an upper bound of the pods of *request* that can be placed."""
        return self._pods_bound(0, [loaded(request, 0, (), self.measures)])

    def is_share_spent(self) -> bool:
        """Return whether the share of steps for optional pods is used up."""
        return self._last_step is not None and self.budget.explored >= self._last_step

    def possible(self, cell: int, loads: Sequence[GroupInCell]) -> bool:
        """Return whether *loads*, all in *cell*, have a solution.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        keys = self._verdict_key(cell, loads)
        if (verdict := self._verdicts.get(keys)) is None:
            self.budget.step(_VERDICT_STEPS)
            verdict = self._verdicts[keys] = self.solve(cell, loads, most=False) is not None
        return verdict

    def solve(self, cell: int, loads: Sequence[GroupInCell], *, most: bool) -> Subsolution | None:
        """Return a solution of *loads*, all in *cell*; None if there is none.

        Raises:
            StepsSpentError: the budget is spent before the answer is known.

        """
        self.budget.step(1 + len(loads))
        order = sorted(range(len(loads)), key=lambda number: loads[number].key)
        inner = [loads[number] for number in order]
        key = (most, cell, *[load.key for load in inner])
        if key not in self._solutions:
            self._solutions[key] = self._solve(cell, inner, most=most)
        if (solution := self._solutions[key]) is None:
            return None
        below: list[CellAssignments] = [()] * len(loads)
        for number, assignments in zip(order, solution.below, strict=True):
            below[number] = assignments
        return Subsolution(solution.pods, tuple(below))

    def _verdict_key(self, cell: int, loads: Sequence[GroupInCell]) -> _Keys:
        """Return a cache key of the verdict: by structure if *cell* is the cell of all *loads*."""
        keys = sorted(load.key for load in loads)
        if any(load.cell != cell for load in loads):
            return tuple(keys)
        return (self.domain_tree.symmetry_class(cell), *(key[1:] for key in keys))

    def _solve(self, cell: int, loads: Sequence[GroupInCell], *, most: bool) -> Subsolution | None:
        opens = [number for number, load in enumerate(loads) if load.cell == cell and not load.request.leaf]
        if not opens:
            return self._split(cell, loads, most=most)
        others = [number for number in range(len(loads)) if number not in opens]
        base = [loads[number] for number in others]
        limit, best = self._pods_bound(cell, loads), None
        for tasks in self.choices.expansions([loads[number] for number in opens], opens, most=most):
            assignment = DomainAssignment(self, cell, tasks, base, most=most)
            result = assignment.run(limit)
            if result is not None and (best is None or result[0].pods > best.pods):
                best = _combined(loads, others, assignment.tasks, *result)
            if best is not None and (not most or best.pods >= limit or self.is_share_spent()):
                break
        return best

    def _split(self, cell: int, loads: Sequence[GroupInCell], *, most: bool) -> Subsolution | None:
        """Return the solution of loads that have no composite left in *cell*: each inner cell is solved by itself."""
        below: list[CellAssignments] = [()] * len(loads)
        pods = sum(load.waiting for load in loads if load.cell == cell)
        parts = self._parts(cell, loads)
        for top, numbers in parts.items():
            solution = self.solve(top, [loads[number] for number in numbers], most=most)
            if solution is None:
                return None
            pods += solution.pods
            for number, assignments in zip(numbers, solution.below, strict=True):
                below[number] = assignments
        if most and not parts and not self.measures.single:
            pods = self.shared_domain.most(cell, loads)
        return Subsolution(min(pods, self._pods_bound(cell, loads)), tuple(below))

    def _parts(self, cell: int, loads: Sequence[GroupInCell]) -> dict[int, list[int]]:
        """Return the indices of *loads* inside *cell*, by the widest of the loads' cells that contains them."""
        cells = self.domain_tree.cells
        parts: dict[int, list[int]] = {}
        for number in sorted(range(len(loads)), key=lambda number: cells[loads[number].cell].level):
            if (position := loads[number].cell) != cell:
                top = next((each for each in reversed(cells[position].above) if each in parts), position)
                parts.setdefault(top, []).append(number)
        return parts

    def _pods_bound(self, cell: int, loads: Sequence[GroupInCell]) -> int:
        """Return an upper bound of the pods of *loads* that *cell* holds."""
        pods, wanted = sum(load.pods for load in loads), sum(load.waiting for load in loads)
        least = map(sum, zip(self.measures.nothing, *(load.least for load in loads), strict=True))
        amounts = zip(self.domain_tree.cells[cell].free, least, self.measures.smallest, strict=True)
        return pods + max(0, min(wanted - pods, *((free - need) // small for free, need, small in amounts if small)))


def _combined(
    loads: Sequence[GroupInCell],
    others: Sequence[int],
    tasks: Sequence[GroupTask],
    solution: Subsolution,
    chosen: Sequence[GroupInCell | None],
) -> Subsolution:
    """Return the solution of *loads*: *others* were solved as they are, the rest own *tasks*."""
    below: list[CellAssignments] = [()] * len(loads)
    assignments: dict[tuple[int, int], CellAssignment] = {}
    inner = iter(solution.below)
    for number in others:
        below[number] = next(inner)
    for task, load in zip(tasks, chosen, strict=True):
        if load is not None:
            assignments[task.owner, task.child] = CellAssignment(load.cell, load.counts, next(inner))
    for owner in {task.owner for task in tasks}:
        below[owner] = tuple(assignments.get((owner, child)) for child in range(len(loads[owner].request.children)))
    return Subsolution(solution.pods, tuple(below))
