"""Which of the domains in a cell each of several groups gets: tried one after the other, the most constrained first.

Nothing is tried twice that differs in names only: of domains with the same free room that nothing of the tree is in, the first
stands for all, and of equal groups each has its domain not before that of the one before it.
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

_BEGINNING, _WAY = 20, 2
"""Steps to begin with the groups of a cell, and for each way to place one of them."""


class Solver(Protocol):
    """The search around it."""

    nest: DomainTree
    measures: Measures
    budget: StepBudget
    choices: Choices
    bins: SharedDomain
    pinned: frozenset[int]
    """Cells in which members of the tree run."""

    def solve(self, cell: int, loads: Sequence[GroupInCell], *, most: bool) -> Subsolution | None:
        """What becomes of *loads*, all in *cell*."""

    def possible(self, cell: int, loads: Sequence[GroupInCell]) -> bool:
        """Whether anything does."""

    def content(self) -> bool:
        """Whether what was found is good enough."""


class DomainAssignment:
    """The groups of one cell."""

    def __init__(self, solver: Solver, cell: int, tasks: Sequence[GroupTask], base: Sequence[GroupInCell], *, most: bool) -> None:
        solver.budget.step(_BEGINNING + len(tasks) + len(base))
        self._solver = solver
        self._cell = cell
        self._most = most
        self._base = tuple(base)
        self._cells = solver.nest.cells
        self._measures = solver.measures
        self._candidates = {task.request.number: solver.choices.candidates(task.request, cell) for task in tasks}
        self.tasks = sorted(tasks, key=self._urgency)
        self._loads: list[GroupInCell | None] = []
        self._state = ResidualCapacity(solver.nest, solver.measures, cell, tasks=self.tasks, candidates=self._candidates, base=base)
        for load in base:
            self._state.charge_load(load)
        self._elastic = any(self._measures.wanted(task.request) > self._measures.lacking(task.request) for task in tasks)
        self._uniform = self._is_uniform()
        self._seen: set[object] = set()

    def run(self, limit: int) -> tuple[Subsolution, list[GroupInCell | None]] | None:
        """The loads of the tasks, in their order, and what came of those beside the base; None if there is no way.

        With ``most`` the first of those with most pods; *limit* pods are as many as there can be.
        """
        best: tuple[Subsolution, list[GroupInCell | None]] | None = None
        if not self._state.sound(0):
            return None
        stack = [self._ways(0)]
        while stack and not (best is not None and self._good(best[0], limit)):
            if len(self._loads) == len(stack):
                self._take_back()
            if not next(stack[-1], False):
                stack.pop()
                continue
            if len(stack) < len(self.tasks):
                if self._promising(len(stack), best[0].pods if best else -1):
                    stack.append(self._ways(len(stack)))
                continue
            found = self._solver.solve(self._cell, self._all(), most=self._most)
            if found is not None and (best is None or found.pods > best[0].pods):
                best = found, list(self._loads)
        return best

    def _good(self, found: Subsolution, limit: int) -> bool:
        """Whether nothing better than *found* is to be looked for."""
        return not self._most or found.pods >= limit or self._solver.content()

    def _all(self) -> list[GroupInCell]:
        return [*self._base, *(load for load in self._loads if load is not None)]

    def _urgency(self, task: GroupTask) -> tuple[bool, int, int, int]:
        return task.optional, len(self._candidates[task.request.number]), -self._measures.lacking(task.request), task.request.number

    def _is_uniform(self) -> bool:
        """Whether domains differ in nothing but how many pods they have room for."""
        alike = len({task.request.entity.key for task in self.tasks}) == 1 and self._measures.single
        leaves = all(task.request.leaf for task in self.tasks) and all(load.request.leaf for load in self._base)
        # What is in a wider domain than theirs takes room from those in it only.
        level = max((self._cells[each].level for found in self._candidates.values() for each in found), default=0)
        apart = all(load.cell == self._cell or self._cells[load.cell].level >= level for load in self._base)
        return alike and leaves and apart and all(task.request.entity.key and not task.request.pinned for task in self.tasks)

    def _promising(self, done: int, floor: int) -> bool:
        """Whether more than *floor* pods may come of the tasks from number *done* on, beside what stands."""
        self._solver.budget.step(self._state.effort(done))
        if not self._state.sound(done):
            return False
        if self._most and floor >= 0 and self._state.most(done) <= floor:
            return False
        if self._uniform:
            state = (done, self._state.state())
            if state in self._seen:
                return False
            self._seen.add(state)
        return True

    def _ways(self, number: int) -> Iterator[bool]:
        """Each way to place the task of that number; while one is looked at, its load stands."""
        task = self.tasks[number]
        least = self._measures.least(task.request)
        for cell in self._choices(number):
            for counts in self._solver.choices.selections(task.request):
                self._solver.budget.step(_WAY)
                load = loaded(task.request, cell, counts, self._measures)
                if load.least != least and not self._state.holds(load.least, cell):
                    continue
                self._state.charge_load(load)
                self._loads.append(load)
                if self._stands(load):
                    yield True
                else:
                    self._take_back()
        if task.optional:
            self._loads.append(None)
            yield True

    def _take_back(self) -> None:
        if (load := self._loads.pop()) is not None:
            self._state.charge_load(load, -1)

    def _stands(self, load: GroupInCell) -> bool:
        """Whether the cell of *load* can hold it beside what is in it."""
        if load.request.leaf:
            if self._measures.single:
                return True
            here = [each for each in self._all() if each.cell == load.cell and each.request.leaf]
            return self._solver.bins.fit_together(load.cell, here)
        inside = [each for each in self._all() if load.cell in self._cells[each.cell].above]
        return load.cell == self._cell or self._solver.possible(load.cell, inside)

    def _choices(self, number: int) -> list[int]:
        task, state = self.tasks[number], self._state
        least = self._measures.least(task.request)
        first = self._after(number)
        candidates = self._candidates[task.request.number]
        self._solver.budget.step(2 + len(candidates))
        able = [cell for cell in candidates if cell >= first and state.holds(least, cell)]
        if len(able) > 1:
            able = state.distinct(able) if self._uniform else state.unlike(able, self._solver.pinned)
        return sorted(able, key=lambda cell: state.preference(task.request, cell, elastic=self._elastic)) if len(able) > 1 else able

    def _after(self, number: int) -> int:
        """The first cell that may be tried: of equal groups each goes no further to the front than the one before."""
        if self._uniform or not number:
            return 0
        before, task = self.tasks[number - 1], self.tasks[number]
        if before.request.number != task.request.number or before.optional != task.optional:
            return 0
        load = self._loads[number - 1]
        return len(self._cells) if load is None else load.cell
