"""What is left in the cells of a cell while groups are given some, and what can still come of it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from scheduler_core.exact.tree.domain_tree import DomainTree
from scheduler_core.exact.tree.measures import Amounts, Measures
from scheduler_core.exact.tree.residual_bounds import ResidualBounds
from scheduler_core.exact.tree.subproblem import GroupInCell, GroupTask
from scheduler_core.placement.placement_request import PlacementRequest


class ResidualCapacity:
    """The loads in one cell; *tasks* are to become loads in their order, each in one of the *candidates* of its form's number.

    *base* are loads that are there before, and stand once they are charged.
    """

    def __init__(
        self,
        nest: DomainTree,
        measures: Measures,
        cell: int,
        *,
        tasks: Sequence[GroupTask],
        candidates: Mapping[int, tuple[int, ...]],
        base: Sequence[GroupInCell],
    ) -> None:
        self._nest = nest
        self._cells = nest.cells
        self._measures = measures
        self._cell = cell
        self._paths: dict[int, tuple[int, ...]] = {}
        self._inside: dict[int, int] = {}
        self._at: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        self._pods = 0
        self._bins = sorted({number for found in candidates.values() for number in found})
        self._left = {outer: list(self._cells[outer].room) for each in (cell, *self._bins) for outer in self._path(each)}
        placement_requests = (*(task.request for task in tasks), *(load.request for load in base))
        self._placement_requests = {request.number: request for request in placement_requests}
        self._asked: frozenset[int] | None = None
        self._level = len({self._cells[each].level for each in self._bins}) == 1
        required = [task.request for task in tasks if not task.optional]
        self._needed = [sum(each) for each in zip(measures.nothing, *map(measures.least, required), strict=True)]
        self._groups = [_Group(key, tasks, measures, candidates) for key in sorted({request.entity.key for request in required})]
        self._wanted = [0]
        for task in reversed(tasks):
            self._wanted.append(self._wanted[-1] + measures.wanted(task.request))
        self._wanted.reverse()

    def charge_load(self, load: GroupInCell, sign: int = 1) -> None:
        """*load* stands, or (*sign* -1) no longer."""
        self._at[load.cell] = self._at.get(load.cell, 0) + sign
        self._pods += sign * load.pods
        more = sign * (load.wanted - load.pods)
        for cell in self._path(load.cell):
            self._inside[cell] = self._inside.get(cell, 0) + sign
            self._waiting[cell] = self._waiting.get(cell, 0) + more
            if (left := self._left.get(cell)) is not None:
                for measure, amount in enumerate(load.least):
                    left[measure] -= sign * amount

    def holds(self, least: Amounts, cell: int) -> bool:
        """Whether so much is left in *cell*, and in what it is in."""
        for each in self._path(cell):
            for need, left in zip(least, self._left[each], strict=True):
                if need > left:
                    return False
        return True

    def sound(self, done: int) -> bool:
        """Whether the bounds leave room for the tasks from number *done* on."""
        if not done and any(need > left for need, left in zip(self._needed, self._left[self._cell], strict=True)):
            return False
        return all(not group.refute(self._left, done) for group in self._groups)

    def effort(self, done: int) -> int:
        """The steps that ``sound`` takes."""
        return 1 + sum(group.effort(done) for group in self._groups)

    def most(self, done: int) -> int:
        """As many pods as can be placed at most, the tasks from number *done* on included."""
        here, waiting = self._spare(self._cell), self._wanted[done]
        if not self._level:
            return self._pods + min(here, self._waiting.get(self._cell, 0) + waiting)
        more = over = 0
        for each in self._bins:
            spare, wanted = self._spare(each), self._waiting.get(each, 0)
            more += min(spare, wanted)
            over += max(0, spare - wanted)
        spread = self._waiting.get(self._cell, 0) - sum(self._waiting.get(each, 0) for each in self._bins if each != self._cell)
        return self._pods + min(here, more + min(over, waiting) + spread)

    def state(self) -> tuple[tuple[int, int], ...]:
        """What is left in the domains, whatever their names, where pods are all alike."""
        return tuple(sorted((self._left[each][0], self._waiting.get(each, 0)) for each in self._bins))

    def distinct(self, cells: Sequence[int]) -> list[int]:
        """Of *cells* one of each kind by what is left in it, where pods are all alike."""
        found: dict[tuple[int, int], int] = {}
        for each in cells:
            found.setdefault((self._left[each][0], self._waiting.get(each, 0)), each)
        return list(found.values())

    def unlike(self, cells: Sequence[int], pinned: frozenset[int]) -> list[int]:
        """Of *cells*, ascending, one of each kind; what has something in it, or members that run, is like no other.

        Where a group may be given a wider domain, cells in two of that kind are alike only if these are as well.
        """
        same: dict[Amounts, list[int]] = {}
        for each in cells:
            if each not in pinned and self._untouched(each):
                same.setdefault(self._cells[each].room, []).append(each)
        gone = set()
        for alike in same.values():
            if len(alike) > 1:
                looks: set[tuple[int, ...]] = set()
                for each in alike:
                    look = self._kind(each, pinned)
                    if look in looks:
                        gone.add(each)
                    looks.add(look)
        return [each for each in cells if each not in gone]

    def preference(self, request: PlacementRequest, cell: int, *, elastic: bool) -> tuple[int, int]:
        """The smaller, the sooner *cell* is tried for *request*.

        The tightest first; where optional pods wait, the tightest of those that take them all, then the roomiest.
        """
        left = self._left[cell][self._measures.main(request)]
        if not elastic:
            return 0, left
        over = left - self._waiting.get(cell, 0) - self._measures.wanted(request)
        return (0, over) if over >= 0 else (1, -left)

    def _path(self, cell: int) -> tuple[int, ...]:
        """*cell* and what it is in, up to the cell of all."""
        if (found := self._paths.get(cell)) is None:
            above = self._cells[cell].above
            found = self._paths[cell] = above[: above.index(self._cell) + 1]
        return found

    def _kind(self, cell: int, pinned: frozenset[int]) -> tuple[int, ...]:
        """Equal for cells that can be exchanged: what tells them apart, and the wider ones that they are in and that are asked for."""
        found = [self._nest.symmetry_class(cell)]
        for each in self._path(cell)[1:-1]:
            if self._is_asked_for(self._cells[each].level):
                if self._inside.get(each) or each in pinned:
                    # It differs from others by what is in it; whatever contains it contains both.
                    return (*found, -1 - each)
                found.append(self._nest.symmetry_class(each))
        return tuple(found)

    def _is_asked_for(self, level: int) -> bool:
        """Whether any of the groups, or one below it, is confined to domains of *level*."""
        if self._asked is None:
            self._asked = frozenset(
                self._nest.level(each.key) for request in self._placement_requests.values() for each in request.entity.walk()
            )
        return level in self._asked

    def _untouched(self, cell: int) -> bool:
        path = self._path(cell)
        return not self._inside.get(cell) and not any(self._at.get(each) for each in path[1:-1])

    def _spare(self, cell: int) -> int:
        """Pods for which there is room beside those that are needed."""
        spare = [left // small for left, small in zip(self._left[cell], self._measures.smallest, strict=True) if small]
        return max(0, min(spare))


class _Group:
    """The tasks of one key."""

    def __init__(self, key: str, tasks: Sequence[GroupTask], measures: Measures, candidates: Mapping[int, tuple[int, ...]]) -> None:
        mine = [not task.optional and task.request.entity.key == key for task in tasks]
        placement_requests = [task.request for task, its in zip(tasks, mine, strict=True) if its]
        self._bins = sorted({each for request in placement_requests for each in candidates[request.number]})
        self._pressure = ResidualBounds(
            [measures.least(request) for request in placement_requests], exact=all(map(measures.exact, placement_requests))
        )
        self._done = [0, *itertools.accumulate(mine)]

    def effort(self, done: int) -> int:
        """The steps that ``refute`` takes."""
        return self._pressure.effort(len(self._bins), self._done[done])

    def refute(self, left: Mapping[int, Sequence[int]], done: int) -> bool:
        """Whether those that are not done have no room in what is left."""
        mine = self._done[done]
        return mine < self._done[-1] and self._pressure.refute([left[each] for each in self._bins], mine)
