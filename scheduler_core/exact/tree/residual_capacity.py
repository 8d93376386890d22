"""Capacity left in the cells of a cell while groups are assigned, and bounds on what can still be assigned."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from scheduler_core.exact.tree.domain_tree import DomainTree
from scheduler_core.exact.tree.measures import Amounts, Measures
from scheduler_core.exact.tree.residual_bounds import ResidualBounds
from scheduler_core.exact.tree.subproblem import GroupInCell, GroupTask
from scheduler_core.placement.placement_request import PlacementRequest


class ResidualCapacity:
    """Loads in one cell and the capacity that they leave.

    *tasks* become loads in their order, each in one of the *candidates* of its request's number.  *base* are earlier loads; the caller
    charges them.
    """

    def __init__(
        self,
        domain_tree: DomainTree,
        measures: Measures,
        cell: int,
        *,
        tasks: Sequence[GroupTask],
        candidates: Mapping[int, tuple[int, ...]],
        base: Sequence[GroupInCell],
    ) -> None:
        self._domain_tree = domain_tree
        self._cells = domain_tree.cells
        self._measures = measures
        self._cell = cell
        self._paths: dict[int, tuple[int, ...]] = {}
        self._loads_inside: dict[int, int] = {}
        self._loads_at: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        self._pods = 0
        self._candidate_cells = sorted({number for cells in candidates.values() for number in cells})
        self._left = {outer: list(self._cells[outer].free) for each in (cell, *self._candidate_cells) for outer in self._path(each)}
        requests = (*(task.request for task in tasks), *(load.request for load in base))
        self._requests = {request.number: request for request in requests}
        self._used_levels: frozenset[int] | None = None
        self._one_level = len({self._cells[each].level for each in self._candidate_cells}) == 1
        required = [task.request for task in tasks if not task.optional]
        self._needed = [sum(each) for each in zip(measures.nothing, *map(measures.least, required), strict=True)]
        self._tasks_by_key = [_TasksOfKey(key, tasks, measures, candidates) for key in sorted({request.entity.key for request in required})]
        self._waiting_from = [0]
        for task in reversed(tasks):
            self._waiting_from.append(self._waiting_from[-1] + measures.waiting(task.request))
        self._waiting_from.reverse()

    def charge_load(self, load: GroupInCell, sign: int = 1) -> None:
        """Subtract *load* from the capacity, or add it back if *sign* is -1."""
        self._loads_at[load.cell] = self._loads_at.get(load.cell, 0) + sign
        self._pods += sign * load.pods
        more = sign * (load.waiting - load.pods)
        for cell in self._path(load.cell):
            self._loads_inside[cell] = self._loads_inside.get(cell, 0) + sign
            self._waiting[cell] = self._waiting.get(cell, 0) + more
            if (left := self._left.get(cell)) is not None:
                for measure, amount in enumerate(load.least):
                    left[measure] -= sign * amount

    def holds(self, least: Amounts, cell: int) -> bool:
        """Return whether *least* fits in *cell* and in the cells around it."""
        for each in self._path(cell):
            for need, left in zip(least, self._left[each], strict=True):
                if need > left:
                    return False
        return True

    def passes_bounds(self, done: int) -> bool:
        """Return whether no bound refutes the tasks from index *done* on."""
        if not done and any(need > left for need, left in zip(self._needed, self._left[self._cell], strict=True)):
            return False
        return all(not group.refute(self._left, done) for group in self._tasks_by_key)

    def effort(self, done: int) -> int:
        """Return the steps of ``passes_bounds``."""
        return 1 + sum(group.effort(done) for group in self._tasks_by_key)

    def most(self, done: int) -> int:
        """Return an upper bound of all pods that can be placed, those of the tasks from index *done* on included."""
        spare_in_cell, waiting = self._spare(self._cell), self._waiting_from[done]
        if not self._one_level:
            return self._pods + min(spare_in_cell, self._waiting.get(self._cell, 0) + waiting)
        optional = unused = 0
        for each in self._candidate_cells:
            spare, wanted = self._spare(each), self._waiting.get(each, 0)
            optional += min(spare, wanted)
            unused += max(0, spare - wanted)
        spread = self._waiting.get(self._cell, 0) - sum(self._waiting.get(each, 0) for each in self._candidate_cells if each != self._cell)
        return self._pods + min(spare_in_cell, optional + min(unused, waiting) + spread)

    def state(self) -> tuple[tuple[int, int], ...]:
        """Return the sorted remaining capacities of the candidate cells; sufficient as a state for leaves of equal pods."""
        return tuple(sorted((self._left[each][0], self._waiting.get(each, 0)) for each in self._candidate_cells))

    def distinct_by_capacity(self, cells: Sequence[int]) -> list[int]:
        """Return one of *cells* for each remaining capacity; valid for leaves of equal pods."""
        representatives: dict[tuple[int, int], int] = {}
        for each in cells:
            representatives.setdefault((self._left[each][0], self._waiting.get(each, 0)), each)
        return list(representatives.values())

    def representatives(self, cells: Sequence[int], pinned: frozenset[int]) -> list[int]:
        """Return the first of each class of equal *cells*, which are ascending; an occupied cell is equal to no other cell.

        If a group can get a wider cell, two cells are equal only if the cells of that width around them are equal as well.
        """
        by_capacity: dict[Amounts, list[int]] = {}
        for each in cells:
            if each not in pinned and self._is_unused(each):
                by_capacity.setdefault(self._cells[each].free, []).append(each)
        redundant = set()
        for similar in by_capacity.values():
            if len(similar) > 1:
                classes: set[tuple[int, ...]] = set()
                for each in similar:
                    key = self._exchange_key(each, pinned)
                    if key in classes:
                        redundant.add(each)
                    classes.add(key)
        return [each for each in cells if each not in redundant]

    def preference(self, request: PlacementRequest, cell: int, *, elastic: bool) -> tuple[int, int]:
        """Return a sort key of the order in which cells are tried for *request*.

        The tightest cell comes first.  If *elastic*, the tightest cell that holds all waiting pods comes first, then the one with most
        capacity.
        """
        left = self._left[cell][self._measures.main(request)]
        if not elastic:
            return 0, left
        over = left - self._waiting.get(cell, 0) - self._measures.waiting(request)
        return (0, over) if over >= 0 else (1, -left)

    def _path(self, cell: int) -> tuple[int, ...]:
        """Return *cell* and the cells around it, up to the cell of all loads."""
        if (path := self._paths.get(cell)) is None:
            above = self._cells[cell].above
            path = self._paths[cell] = above[: above.index(self._cell) + 1]
        return path

    def _exchange_key(self, cell: int, pinned: frozenset[int]) -> tuple[int, ...]:
        """Return equal keys for cells that can be exchanged."""
        key = [self._domain_tree.symmetry_class(cell)]
        for each in self._path(cell)[1:-1]:
            if self._is_level_used(self._cells[each].level):
                if self._loads_inside.get(each) or each in pinned:
                    # Two cells with this key are inside the same occupied cell, so the cells around it contain both.
                    return (*key, -1 - each)
                key.append(self._domain_tree.symmetry_class(each))
        return tuple(key)

    def _is_level_used(self, level: int) -> bool:
        """Return whether one of the groups, or a descendant, has a topology key of *level*."""
        if self._used_levels is None:
            self._used_levels = frozenset(
                self._domain_tree.level(each.key) for request in self._requests.values() for each in request.entity.walk()
            )
        return level in self._used_levels

    def _is_unused(self, cell: int) -> bool:
        path = self._path(cell)
        return not self._loads_inside.get(cell) and not any(self._loads_at.get(each) for each in path[1:-1])

    def _spare(self, cell: int) -> int:
        """Return an upper bound of the pods that *cell* can hold in addition to the needed pods."""
        spare = [left // small for left, small in zip(self._left[cell], self._measures.smallest, strict=True) if small]
        return max(0, min(spare))


class _TasksOfKey:
    """Required tasks with the same topology key."""

    def __init__(self, key: str, tasks: Sequence[GroupTask], measures: Measures, candidates: Mapping[int, tuple[int, ...]]) -> None:
        mine = [not task.optional and task.request.entity.key == key for task in tasks]
        requests = [task.request for task, included in zip(tasks, mine, strict=True) if included]
        self._candidate_cells = sorted({each for request in requests for each in candidates[request.number]})
        self._bounds = ResidualBounds([measures.least(request) for request in requests], exact=all(map(measures.exact, requests)))
        self._done = [0, *itertools.accumulate(mine)]

    def effort(self, done: int) -> int:
        """Return the steps of ``refute``."""
        return self._bounds.effort(len(self._candidate_cells), self._done[done])

    def refute(self, left: Mapping[int, Sequence[int]], done: int) -> bool:
        """Return whether the open tasks do not fit into *left*, the remaining capacities by cell."""
        mine = self._done[done]
        return mine < self._done[-1] and self._bounds.refute([left[each] for each in self._candidate_cells], mine)
