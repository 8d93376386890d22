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

    def candidates(self, request: PlacementRequest, cell: int) -> tuple[int, ...]:
        """The cells that *request* may have in *cell*, as far as is cheap to say."""
        at = (request.number, cell)
        if (found := self._candidates.get(at)) is None:
            key = request.entity.key
            domains = self._nest.holding(cell, key, request.pinned) if key and request.pinned else self._nest.inside(cell, key)
            found = self._candidates[at] = tuple(each for each in domains if self._has_room(request, each))
        return found

    def selections(self, request: PlacementRequest) -> Iterator[Counts]:
        """The ways to choose as many pods as a leaf lacks; none for a composite.

        Those with a pod in place of which another one could be taken that needs no more and may be wherever it may are left out.
        """
        if not request.leaf:
            yield ()
            return
        waiting: dict[int, int] = {}
        for run in request.runs:
            waiting[run.shape.serial] = waiting.get(run.shape.serial, 0) + run.count
        easier = [(one, other) for one in waiting for other in waiting if one != other and self._measures.easier(one, other)]
        for counts in selections(request):
            self._budget.step()
            taken = {shape.serial: count for shape, count in counts}
            if not any(taken.get(one, 0) < waiting[one] and taken.get(other) for one, other in easier):
                yield counts

    def expansions(self, opens: Sequence[GroupInCell], owners: Sequence[int], *, most: bool) -> Iterator[list[GroupTask]]:
        """The ways to choose a quorum of each of *opens*, which *owners* stand for: its children as tasks, if *most* the others too."""
        stack = [self._quorums(opens[0].request, opens[0].cell)]
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
                stack.append(self._quorums(load.request, load.cell))
                continue
            yield [
                GroupTask(load.request.children[child], owner, child, optional=child not in quorum)
                for load, owner, quorum in zip(opens, owners, chosen, strict=True)
                for child in (self._able(load.request, load.cell) if most else quorum)
            ]

    def _quorums(self, request: PlacementRequest, cell: int) -> Iterator[tuple[int, ...]]:
        """The smallest sets of children that meet the minimum of *request*, by position; equal children stand for each other."""
        missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
        able = sorted(
            self._able(request, cell), key=lambda child: (self._measures.lacking(request.children[child]), request.children[child].number)
        )
        seen: set[tuple[int, ...]] = set()
        for quorum in itertools.combinations(able, missing):
            self._budget.step()
            numbers = tuple(request.children[child].number for child in quorum)
            if numbers not in seen:
                seen.add(numbers)
                yield quorum

    def _able(self, request: PlacementRequest, cell: int) -> list[int]:
        """The children of *request*, by position, that need pods and may find a domain in *cell*."""
        children = enumerate(request.children)
        return [number for number, child in children if self._measures.lacking(child) and self.candidates(child, cell)]

    def _has_room(self, request: PlacementRequest, cell: int) -> bool:
        at = (request.number, cell)
        if (found := self._rooms.get(at)) is None:
            self._budget.step()
            found = self._rooms[at] = not inadmissible(request) and self._might_hold(request, cell)
        return found

    def _might_hold(self, request: PlacementRequest, cell: int) -> bool:
        free = self._nest.cells[cell].room
        if any(need > left for need, left in zip(self._measures.least(request), free, strict=True)):
            return False
        return request.leaf or sum(map(satisfied, request.children)) + len(self._able(request, cell)) >= request.entity.minimum
