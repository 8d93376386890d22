"""Assignment of cells to several groups of one cell, depth first, the most constrained group first.

Symmetric assignments are tried once.  Of equal cells without members of the tree only the first is tried, and equal groups get cells in
ascending order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.choices import Choices
from scheduler_core.exact.tree.domain_tree import DomainTree
from scheduler_core.exact.tree.measures import Measures
from scheduler_core.exact.tree.residual_capacity import ResidualCapacity
from scheduler_core.exact.tree.shared_domain import SharedDomain
from scheduler_core.exact.tree.subproblem import GroupInCell, GroupTask, Subsolution, loaded

_START_STEPS, _CANDIDATE_STEPS = 20, 2
"""Steps to start with the groups of a cell, and for each candidate of a group."""


class Solver(Protocol):
    """The search that this assignment is a part of."""

    domain_tree: DomainTree
    measures: Measures
    budget: StepBudget
    choices: Choices
    shared_domain: SharedDomain
    pinned: frozenset[int]
    """Cells with running members of the tree."""

    def solve(self, cell: int, loads: Sequence[GroupInCell], *, most: bool) -> Subsolution | None:
        """Return a solution of *loads*, all in *cell*; None if there is none."""

    def possible(self, cell: int, loads: Sequence[GroupInCell]) -> bool:
        """Return whether *loads*, all in *cell*, have a solution."""

    def is_share_spent(self) -> bool:
        """Return whether the share of steps for optional pods is used up."""


class DomainAssignment:
    """Assignment of cells to the groups of one cell."""

    def __init__(self, solver: Solver, cell: int, tasks: Sequence[GroupTask], base: Sequence[GroupInCell], *, most: bool) -> None:
        solver.budget.step(_START_STEPS + len(tasks) + len(base))
        self._solver = solver
        self._cell = cell
        self._most = most
        self._base = tuple(base)
        self._cells = solver.domain_tree.cells
        self._measures = solver.measures
        self._candidates = {task.request.number: solver.choices.candidates(task.request, cell) for task in tasks}
        self.tasks = sorted(tasks, key=self._urgency)
        self._loads: list[GroupInCell | None] = []
        self._state = ResidualCapacity(solver.domain_tree, solver.measures, cell, tasks=self.tasks, candidates=self._candidates, base=base)
        for load in base:
            self._state.charge_load(load)
        self._elastic = any(self._measures.waiting(task.request) > self._measures.lacking(task.request) for task in tasks)
        self._uniform = self._is_uniform()
        self._seen: set[object] = set()

    def run(self, limit: int) -> tuple[Subsolution, list[GroupInCell | None]] | None:
        """Return a solution and the load of each task, in the order of ``tasks``; None if there is none.

        With ``most`` the solution with most pods, the first of equal ones.  *limit* is an upper bound of the number of pods.
        """
        best: tuple[Subsolution, list[GroupInCell | None]] | None = None
        if not self._state.passes_bounds(0):
            return None
        stack = [self._try_loads(0)]
        while stack and not (best is not None and self._is_final(best[0], limit)):
            if len(self._loads) == len(stack):
                self._undo()
            if not next(stack[-1], False):
                stack.pop()
                continue
            if len(stack) < len(self.tasks):
                if self._is_promising(len(stack), best[0].pods if best else -1):
                    stack.append(self._try_loads(len(stack)))
                continue
            solution = self._solver.solve(self._cell, self._all_loads(), most=self._most)
            if solution is not None and (best is None or solution.pods > best[0].pods):
                best = solution, list(self._loads)
        return best

    def _is_final(self, solution: Subsolution, limit: int) -> bool:
        """Return whether the search for a better solution than *solution* can stop."""
        return not self._most or solution.pods >= limit or self._solver.is_share_spent()

    def _all_loads(self) -> list[GroupInCell]:
        return [*self._base, *(load for load in self._loads if load is not None)]

    def _urgency(self, task: GroupTask) -> tuple[bool, int, int, int]:
        return task.optional, len(self._candidates[task.request.number]), -self._measures.lacking(task.request), task.request.number

    def _is_uniform(self) -> bool:
        """Return whether the candidate cells differ only in the number of pods that they hold."""
        one_measure = len({task.request.entity.key for task in self.tasks}) == 1 and self._measures.single
        leaves = all(task.request.leaf for task in self.tasks) and all(load.request.leaf for load in self._base)
        # A load in a wider cell uses capacity of the cells inside it only.
        level = max((self._cells[each].level for candidates in self._candidates.values() for each in candidates), default=0)
        disjoint = all(load.cell == self._cell or self._cells[load.cell].level >= level for load in self._base)
        return one_measure and leaves and disjoint and all(task.request.entity.key and not task.request.pinned for task in self.tasks)

    def _is_promising(self, done: int, floor: int) -> bool:
        """Return whether the bounds allow more than *floor* pods, with the tasks from index *done* on still open."""
        self._solver.budget.step(self._state.effort(done))
        if not self._state.passes_bounds(done):
            return False
        if self._most and floor >= 0 and self._state.most(done) <= floor:
            return False
        if self._uniform:
            state = (done, self._state.state())
            if state in self._seen:
                return False
            self._seen.add(state)
        return True

    def _try_loads(self, number: int) -> Iterator[bool]:
        """Yield once for each load of the task at index *number*; the load is charged while the caller continues."""
        task = self.tasks[number]
        least = self._measures.least(task.request)
        for cell in self._choices(number):
            for counts in self._solver.choices.selections(task.request):
                self._solver.budget.step(_CANDIDATE_STEPS)
                load = loaded(task.request, cell, counts, self._measures)
                if load.least != least and not self._state.holds(load.least, cell):
                    continue
                self._state.charge_load(load)
                self._loads.append(load)
                if self._fits(load):
                    yield True
                else:
                    self._undo()
        if task.optional:
            self._loads.append(None)
            yield True

    def _undo(self) -> None:
        if (load := self._loads.pop()) is not None:
            self._state.charge_load(load, -1)

    def _fits(self, load: GroupInCell) -> bool:
        """Return whether the cell of *load* holds it together with the loads inside it."""
        if load.request.leaf:
            if self._measures.single:
                return True
            sharing = [each for each in self._all_loads() if each.cell == load.cell and each.request.leaf]
            return self._solver.shared_domain.fit_together(load.cell, sharing)
        inside = [each for each in self._all_loads() if load.cell in self._cells[each.cell].above]
        return load.cell == self._cell or self._solver.possible(load.cell, inside)

    def _choices(self, number: int) -> list[int]:
        task, state = self.tasks[number], self._state
        least = self._measures.least(task.request)
        first = self._first_cell(number)
        candidates = self._candidates[task.request.number]
        self._solver.budget.step(2 + len(candidates))
        cells = [cell for cell in candidates if cell >= first and state.holds(least, cell)]
        if len(cells) > 1:
            cells = state.distinct_by_capacity(cells) if self._uniform else state.representatives(cells, self._solver.pinned)
        return sorted(cells, key=lambda cell: state.preference(task.request, cell, elastic=self._elastic)) if len(cells) > 1 else cells

    def _first_cell(self, number: int) -> int:
        """Return the first cell to try: equal groups get cells in ascending order."""
        if self._uniform or not number:
            return 0
        before, task = self.tasks[number - 1], self.tasks[number]
        if before.request.number != task.request.number or before.optional != task.optional:
            return 0
        load = self._loads[number - 1]
        return len(self._cells) if load is None else load.cell
