"""Candidate cells of a group, and the quorums of children of a composite."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from scheduler_core.exact.needs import satisfied, selections
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.exact.tree.domain_tree import DomainTree
from scheduler_core.exact.tree.measures import Measures
from scheduler_core.exact.tree.subproblem import Counts, GroupInCell, GroupTask
from scheduler_core.placement.feasibility import inadmissible
from scheduler_core.placement.placement_request import PlacementRequest


class Choices:
    """Choices for one tree in one domain tree."""

    def __init__(self, domain_tree: DomainTree, measures: Measures, budget: StepBudget) -> None:
        self._domain_tree = domain_tree
        self._measures = measures
        self._budget = budget
        self._candidates: dict[tuple[int, int], tuple[int, ...]] = {}
        self._fitting: dict[tuple[int, int], bool] = {}

    def candidates(self, request: PlacementRequest, cell: int) -> tuple[int, ...]:
        """Return the cells in *cell* that *request* may get, after cheap bounds."""
        cache_key = (request.number, cell)
        if (cells := self._candidates.get(cache_key)) is None:
            key = request.entity.key
            domains = (
                self._domain_tree.holding(cell, key, request.pinned) if key and request.pinned else self._domain_tree.inside(cell, key)
            )
            cells = self._candidates[cache_key] = tuple(each for each in domains if self._may_fit(request, each))
        return cells

    def selections(self, request: PlacementRequest) -> Iterator[Counts]:
        """Yield the ways to select as many pods as a leaf lacks; one empty selection for a composite.

        A selection with a pod is left out if an unused pod is easier: it needs no more and fits wherever that pod fits.
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
            selected = {shape.serial: count for shape, count in counts}
            if not any(selected.get(one, 0) < waiting[one] and selected.get(other) for one, other in easier):
                yield counts

    def expansions(self, opens: Sequence[GroupInCell], owners: Sequence[int], *, most: bool) -> Iterator[list[GroupTask]]:
        """Yield a list of child tasks for each choice of a quorum of each of *opens*; with *most* other children are optional tasks."""
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
                for child in (self._placeable_children(load.request, load.cell) if most else quorum)
            ]

    def _quorums(self, request: PlacementRequest, cell: int) -> Iterator[tuple[int, ...]]:
        """Yield the smallest sets of children that meet the minimum of *request*, by index; of quorums with equal children one."""
        missing = request.entity.minimum - sum(satisfied(child) for child in request.children)
        children = sorted(
            self._placeable_children(request, cell),
            key=lambda child: (self._measures.lacking(request.children[child]), request.children[child].number),
        )
        seen: set[tuple[int, ...]] = set()
        for quorum in itertools.combinations(children, missing):
            self._budget.step()
            numbers = tuple(request.children[child].number for child in quorum)
            if numbers not in seen:
                seen.add(numbers)
                yield quorum

    def _placeable_children(self, request: PlacementRequest, cell: int) -> list[int]:
        """Return the children of *request*, by index, that lack pods and have a candidate cell in *cell*."""
        children = enumerate(request.children)
        return [number for number, child in children if self._measures.lacking(child) and self.candidates(child, cell)]

    def _may_fit(self, request: PlacementRequest, cell: int) -> bool:
        key = (request.number, cell)
        if (result := self._fitting.get(key)) is None:
            self._budget.step()
            result = self._fitting[key] = not inadmissible(request) and self._passes_bounds(request, cell)
        return result

    def _passes_bounds(self, request: PlacementRequest, cell: int) -> bool:
        free = self._domain_tree.cells[cell].free
        if any(need > left for need, left in zip(self._measures.least(request), free, strict=True)):
            return False
        return (
            request.leaf or sum(map(satisfied, request.children)) + len(self._placeable_children(request, cell)) >= request.entity.minimum
        )
