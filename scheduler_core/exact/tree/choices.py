"""What there is to choose from: the domains of a group, and the children that make a quorum."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from scheduler_core.exact.needs import satisfied, selections
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.domain_tree import DomainTree
from scheduler_core.exact.tree.measures import Measures
from scheduler_core.exact.tree.subproblem import Counts, GroupInCell, GroupTask
from scheduler_core.placement.composite_progress import inadmissible
from scheduler_core.placement.placement_request import PlacementRequest


class Choices:
    """The choices for one tree in one nest."""

    def __init__(self, nest: DomainTree, measures: Measures, budget: StepBudget) -> None:
        self._nest = nest
        self._measures = measures
        self._budget = budget
        self._candidates: dict[tuple[int, int], tuple[int, ...]] = {}
        self._rooms: dict[tuple[int, int], bool] = {}

    def candidates(self, form: PlacementRequest, cell: int) -> tuple[int, ...]:
        """The cells that *form* may have in *cell*, as far as is cheap to say."""
        at = (form.number, cell)
        if (found := self._candidates.get(at)) is None:
            key = form.entity.key
            domains = self._nest.holding(cell, key, form.pinned) if key and form.pinned else self._nest.inside(cell, key)
            found = self._candidates[at] = tuple(each for each in domains if self._has_room(form, each))
        return found

    def selections(self, form: PlacementRequest) -> Iterator[Counts]:
        """The ways to choose as many pods as a leaf lacks; none for a composite.

        Those with a pod in place of which another one could be taken that needs no more and may be wherever it may are left out.
        """
        if not form.leaf:
            yield ()
            return
        waiting: dict[int, int] = {}
        for run in form.runs:
            waiting[run.shape.serial] = waiting.get(run.shape.serial, 0) + run.count
        easier = [(one, other) for one in waiting for other in waiting if one != other and self._measures.easier(one, other)]
        for counts in selections(form):
            self._budget.step()
            taken = {shape.serial: count for shape, count in counts}
            if not any(taken.get(one, 0) < waiting[one] and taken.get(other) for one, other in easier):
                yield counts

    def expansions(self, opens: Sequence[GroupInCell], owners: Sequence[int], *, most: bool) -> Iterator[list[GroupTask]]:
        """The ways to choose a quorum of each of *opens*, which *owners* stand for: its children as tasks, if *most* the others too."""
        stack = [self._quorums(opens[0].form, opens[0].cell)]
        chosen: list[tuple[int, ...]] = []
        while stack:
            if len(chosen) == len(stack):
                chosen.pop()
            if (quorum := next(stack[-1], None)) is None:
                stack.pop()
                continue
            chosen.append(quorum)
            if len(stack) < len(opens):
                load = opens[len(stack)]
                stack.append(self._quorums(load.form, load.cell))
                continue
            yield [
                GroupTask(load.form.children[child], owner, child, optional=child not in quorum)
                for load, owner, quorum in zip(opens, owners, chosen, strict=True)
                for child in (self._able(load.form, load.cell) if most else quorum)
            ]

    def _quorums(self, form: PlacementRequest, cell: int) -> Iterator[tuple[int, ...]]:
        """The smallest sets of children that meet the minimum of *form*, by position; equal children stand for each other."""
        missing = form.entity.minimum - sum(satisfied(child) for child in form.children)
        able = sorted(self._able(form, cell), key=lambda child: (self._measures.lacking(form.children[child]), form.children[child].number))
        seen: set[tuple[int, ...]] = set()
        for quorum in itertools.combinations(able, missing):
            self._budget.step()
            numbers = tuple(form.children[child].number for child in quorum)
            if numbers not in seen:
                seen.add(numbers)
                yield quorum

    def _able(self, form: PlacementRequest, cell: int) -> list[int]:
        """The children of *form*, by position, that need pods and may find a domain in *cell*."""
        children = enumerate(form.children)
        return [number for number, child in children if self._measures.lacking(child) and self.candidates(child, cell)]

    def _has_room(self, form: PlacementRequest, cell: int) -> bool:
        at = (form.number, cell)
        if (found := self._rooms.get(at)) is None:
            self._budget.step()
            found = self._rooms[at] = not inadmissible(form) and self._might_hold(form, cell)
        return found

    def _might_hold(self, form: PlacementRequest, cell: int) -> bool:
        free = self._nest.cells[cell].room
        if any(need > left for need, left in zip(self._measures.least(form), free, strict=True)):
            return False
        return form.leaf or sum(map(satisfied, form.children)) + len(self._able(form, cell)) >= form.entity.minimum
