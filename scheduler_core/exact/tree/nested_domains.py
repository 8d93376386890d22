"""The search where domains lie one inside the other: what is in one domain is solved by itself, and remembered.

Once every group in a cell has a cell inside it, what is in one of these concerns no other.  Pods that may be anywhere in a cell
that others have domains in are counted and not packed beside them: whoever asks makes sure that all of it fits together.
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
from scheduler_core.exact.tree.subproblem import CellSpot, GroupInCell, GroupTask, Spots, Subsolution, loaded
from scheduler_core.model.pods import PodShape
from scheduler_core.placement.placement_request import PlacementRequest

_Keys = tuple[object, ...]
_SOLVING = 20
"""Steps for a question that was not asked before."""


class NestedDomains:
    """One tree in the cells of one nest, of which *capacity* is free; *pinned* are nodes where members of it run."""

    def __init__(
        self,
        nest: DomainTree,
        measures: Measures,
        capacity: Capacity,
        shapes: Sequence[PodShape],
        budget: StepBudget,
        pinned: Sequence[int],
    ) -> None:
        self.nest = nest
        self.measures = measures
        self.budget = budget
        self.choices = Choices(nest, measures, budget)
        self.bins = SharedDomain(nest, capacity, shapes, budget)
        self.pinned = nest.cells_containing(pinned) if pinned else frozenset[int]()
        self._enough: int | None = None
        self._found: dict[_Keys, Subsolution | None] = {}
        self._verdicts: dict[_Keys, bool] = {}

    def place(self, request: PlacementRequest, *, share: int = 0) -> CellSpot | None:
        """A place for *request* in the whole nest; None if there is none.

        With *share* one for as many pods as can be found with so many steps.

        Raises:
            StepsSpentError: the budget is spent before that is known.

        """
        self._enough = self.budget.explored + share if share else None
        found = DomainAssignment(self, 0, [GroupTask(request, 0, 0)], (), most=bool(share)).run(self.limit(request))
        if found is None or (top := found[1][0]) is None:
            return None
        return CellSpot(top.cell, top.counts, found[0].below[0])

    def limit(self, request: PlacementRequest) -> int:
        """As many pods of *request* as can be placed at most."""
        return self._cap(0, [loaded(request, 0, (), self.measures)])

    def content(self) -> bool:
        """Whether what was found is good enough."""
        return self._enough is not None and self.budget.explored >= self._enough

    def possible(self, cell: int, loads: Sequence[GroupInCell]) -> bool:
        """Whether *loads*, all in *cell*, can be met.

        Raises:
            StepsSpentError: the budget is spent before that is known.

        """
        keys = self._keys(cell, loads)
        if (found := self._verdicts.get(keys)) is None:
            self.budget.step(_SOLVING)
            found = self._verdicts[keys] = self.solve(cell, loads, most=False) is not None
        return found

    def solve(self, cell: int, loads: Sequence[GroupInCell], *, most: bool) -> Subsolution | None:
        """What becomes of *loads*, all in *cell*; None if they cannot be met.

        Raises:
            StepsSpentError: the budget is spent before that is known.

        """
        self.budget.step(1 + len(loads))
        order = sorted(range(len(loads)), key=lambda number: loads[number].key)
        inner = [loads[number] for number in order]
        at = (most, cell, *[load.key for load in inner])
        if at not in self._found:
            self._found[at] = self._work_out(cell, inner, most=most)
        if (found := self._found[at]) is None:
            return None
        below: list[Spots] = [()] * len(loads)
        for number, spots in zip(order, found.below, strict=True):
            below[number] = spots
        return Subsolution(found.pods, tuple(below))

    def _keys(self, cell: int, loads: Sequence[GroupInCell]) -> _Keys:
        """Equal keys, equal verdicts: a cell whose groups are all in it as a whole is as good as any that looks like it."""
        keys = sorted(load.key for load in loads)
        if any(load.cell != cell for load in loads):
            return tuple(keys)
        return (self.nest.symmetry_class(cell), *(key[1:] for key in keys))

    def _work_out(self, cell: int, loads: Sequence[GroupInCell], *, most: bool) -> Subsolution | None:
        opens = [number for number, load in enumerate(loads) if load.cell == cell and not load.request.leaf]
        if not opens:
            return self._split(cell, loads, most=most)
        others = [number for number in range(len(loads)) if number not in opens]
        base = [loads[number] for number in others]
        limit, best = self._cap(cell, loads), None
        for tasks in self.choices.expansions([loads[number] for number in opens], opens, most=most):
            assigning = DomainAssignment(self, cell, tasks, base, most=most)
            found = assigning.run(limit)
            if found is not None and (best is None or found[0].pods > best.pods):
                best = _gathered(loads, others, assigning.tasks, *found)
            if best is not None and (not most or best.pods >= limit or self.content()):
                break
        return best

    def _split(self, cell: int, loads: Sequence[GroupInCell], *, most: bool) -> Subsolution | None:
        """Nothing is open that has *cell* as a whole: what is in the cells in it is solved by itself."""
        below: list[Spots] = [()] * len(loads)
        pods = sum(load.wanted for load in loads if load.cell == cell)
        parts = self._parts(cell, loads)
        for top, numbers in parts.items():
            found = self.solve(top, [loads[number] for number in numbers], most=most)
            if found is None:
                return None
            pods += found.pods
            for number, spots in zip(numbers, found.below, strict=True):
                below[number] = spots
        if most and not parts and not self.measures.single:
            pods = self.bins.most(cell, loads)
        return Subsolution(min(pods, self._cap(cell, loads)), tuple(below))

    def _parts(self, cell: int, loads: Sequence[GroupInCell]) -> dict[int, list[int]]:
        """*loads*, by number, inside the widest cells in *cell* that have one."""
        cells = self.nest.cells
        found: dict[int, list[int]] = {}
        for number in sorted(range(len(loads)), key=lambda number: cells[loads[number].cell].level):
            if (at := loads[number].cell) != cell:
                top = next((each for each in reversed(cells[at].above) if each in found), at)
                found.setdefault(top, []).append(number)
        return found

    def _cap(self, cell: int, loads: Sequence[GroupInCell]) -> int:
        """As many pods of *loads* as *cell* has room for."""
        pods, wanted = sum(load.pods for load in loads), sum(load.wanted for load in loads)
        least = map(sum, zip(self.measures.nothing, *(load.least for load in loads), strict=True))
        amounts = zip(self.nest.cells[cell].room, least, self.measures.smallest, strict=True)
        return pods + max(0, min(wanted - pods, *((room - need) // small for room, need, small in amounts if small)))


def _gathered(
    loads: Sequence[GroupInCell],
    others: Sequence[int],
    tasks: Sequence[GroupTask],
    found: Subsolution,
    chosen: Sequence[GroupInCell | None],
) -> Subsolution:
    """What came of *loads* of which *others* were there and the rest are the owners of *tasks*."""
    below: list[Spots] = [()] * len(loads)
    spots: dict[tuple[int, int], CellSpot] = {}
    inner = iter(found.below)
    for number in others:
        below[number] = next(inner)
    for task, load in zip(tasks, chosen, strict=True):
        if load is not None:
            spots[task.owner, task.child] = CellSpot(load.cell, load.counts, next(inner))
    for owner in {task.owner for task in tasks}:
        below[owner] = tuple(spots.get((owner, child)) for child in range(len(loads[owner].request.children)))
    return Subsolution(found.pods, tuple(below))
