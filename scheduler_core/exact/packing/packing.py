"""Do these pods fit on these nodes together, each within the nodes that it may use?

A demand is so many equal pods and a set of nodes.  Three answers, the cheap ones first: sums that do not fit refute it; a packing
found by best fit proves it; otherwise every way to fill the nodes is tried, node by node, only with fillings to which nothing can
be added, and never the same remainder at the same node twice.  That is exact (vector bin packing, KEP-4671 calls pods of several
shapes a case for which greedy promises nothing).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.model.nodes import Ints

_ORDERS = 6
"""Orders of the demands in which best fit is tried."""
_FITTING, _EACH, _CELLS = 8, 12, 64
"""Steps to fit, more for each demand, one of them for so many amounts that are looked at."""


@dataclasses.dataclass(frozen=True, slots=True)
class EqualPods:
    """Equal pods.

    Attributes:
        amounts: shape (rows,): what each needs of each resource looked at.
        count: how many.
        slots: shape (nodes,): how many of them each node would hold by itself, 0 where they may not be.

    """

    amounts: Ints
    count: int
    slots: Ints


Packed = list[Ints]
"""For each demand: shape (nodes,), how many of its pods go to each node."""


def pack(free: Ints, demands: Sequence[EqualPods], budget: StepBudget, *, thorough: bool = True) -> Packed | None:
    """A packing of *demands* into *free*, shape (rows, nodes); None if there is none, or if not *thorough* if none is found soon.

    Raises:
        StepsSpentError: the budget is spent before that is known.

    """
    budget.step(2 + len(demands))
    if not demands:
        return []
    if any(int(demand.slots.sum()) < demand.count for demand in demands):
        return None
    if len(demands) == 1:
        return [_first(demands[0].slots, demands[0].count, np.argsort(demands[0].slots, kind="stable"))]
    return _pack_alike(demands) if _alike(demands) else _pack_unlike(free, demands, budget, thorough=thorough)


def _pack_unlike(free: Ints, demands: Sequence[EqualPods], budget: StepBudget, *, thorough: bool) -> Packed | None:
    effort = len(demands) * (_EACH + free.size // _CELLS)
    for number, order in enumerate(itertools.islice(_orders(demands), _ORDERS)):
        budget.step(_FITTING + effort)
        if (found := _best_fit(free, demands, order)) is not None:
            return found
        if not number:
            budget.step(2 * effort)
            if _too_much(free, demands):
                return None
    return _Filling(free, demands, budget).run() if thorough else None


def _too_much(free: Ints, demands: Sequence[EqualPods]) -> bool:
    """Whether some demands, all confined to the nodes of one of them, need more than is free there."""
    for outer in demands:
        here = outer.slots > 0
        inside = [each for each in demands if not (each.slots[~here] > 0).any()]
        needed = sum((each.amounts * each.count for each in inside), np.zeros_like(outer.amounts))
        if (needed > free[:, here].sum(axis=1)).any() or _too_large(free[:, here], inside):
            return True
    return False


def _too_large(free: Ints, demands: Sequence[EqualPods]) -> bool:
    """Whether of one resource the pods that need at least so much of it do not fit, for any such amount: a node has r // t of them."""
    for row, room in enumerate(free):
        counts: dict[int, int] = {}
        for demand in demands:
            size = int(demand.amounts[row])
            counts[size] = counts.get(size, 0) + demand.count
        for size in counts.keys() - {0}:
            if sum(count for other, count in counts.items() if other >= size) > int((room // size).sum()):
                return True
            if sum(other * count for other, count in counts.items() if other >= size) > int(room[room >= size].sum()):
                return True
    return False


def _alike(demands: Sequence[EqualPods]) -> bool:
    """Whether all pods are of one shape, so that only their number counts, and no two sets of nodes overlap halfway."""
    first = demands[0]
    if any((each.amounts != first.amounts).any() for each in demands[1:]):
        return False
    heres = {int.from_bytes(np.packbits(demand.slots > 0).tobytes()) for demand in demands}
    return all(one & other in (0, one, other) for one, other in itertools.combinations(heres, 2))


def _pack_alike(demands: Sequence[EqualPods]) -> Packed | None:
    """Equal pods within nested or separate sets of nodes: who may use fewest nodes chooses first."""
    left = np.max([demand.slots for demand in demands], axis=0)
    found: list[Ints | None] = [None] * len(demands)
    for number in sorted(range(len(demands)), key=lambda each: (int((demands[each].slots > 0).sum()), each)):
        demand = demands[number]
        able = np.where(demand.slots > 0, left, 0)
        if int(able.sum()) < demand.count:
            return None
        found[number] = taken = _first(able, demand.count, np.argsort(able, kind="stable"))
        left = left - taken
    return [each for each in found if each is not None]


def _first(slots: Ints, count: int, order: Ints) -> Ints:
    """*count* pods on the nodes in *order*, each filled before the next."""
    ordered = slots[order]
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(ordered)[:-1]))
    taken: Ints = np.zeros_like(slots)
    taken[order] = np.clip(count - before, 0, ordered)
    return taken


def _orders(demands: Sequence[EqualPods]) -> Iterator[tuple[int, ...]]:
    """The confined and the large first; then other orders."""
    scale = np.maximum(np.max([demand.amounts for demand in demands], axis=0), 1)
    size = [float((demand.amounts / scale).sum()) for demand in demands]
    numbers = range(len(demands))
    yield tuple(sorted(numbers, key=lambda each: (int((demands[each].slots > 0).sum()), -size[each], each)))
    yield tuple(sorted(numbers, key=lambda each: (-size[each], each)))
    yield from itertools.permutations(numbers)


def _best_fit(free: Ints, demands: Sequence[EqualPods], order: tuple[int, ...]) -> Packed | None:
    """Each demand on the nodes where it leaves least."""
    left = free.copy()
    found: list[Ints] = [demand.slots for demand in demands]
    scale = np.maximum(free.max(axis=1), 1)[:, None]
    for number in order:
        demand = demands[number]
        needed = demand.amounts > 0
        slots = np.minimum(demand.slots, (left[needed] // demand.amounts[needed][:, None]).min(axis=0))
        if int(slots.sum()) < demand.count:
            return None
        rest = ((left - demand.amounts[:, None] * slots) / scale).sum(axis=0)
        taken = _first(slots, demand.count, np.argsort(rest, kind="stable"))
        left = left - demand.amounts[:, None] * taken
        found[number] = taken
    return found


class _Filling:
    """Every way to fill the nodes, one node after the other."""

    def __init__(self, free: Ints, demands: Sequence[EqualPods], budget: StepBudget) -> None:
        self._budget = budget
        self._demands = demands
        self._used = np.flatnonzero(np.any([demand.slots > 0 for demand in demands], axis=0))
        # Nodes that few demands may use come first, equal nodes side by side.
        slots = np.array([demand.slots[self._used] for demand in demands])
        order = np.lexsort((*slots, (slots > 0).sum(axis=0)))
        self._used = self._used[order]
        self._slots: list[tuple[int, ...]] = [tuple(each) for each in slots[:, order].T.tolist()]
        self._free: list[tuple[int, ...]] = [tuple(each) for each in free[:, self._used].T.tolist()]
        self._amounts: list[tuple[int, ...]] = [tuple(demand.amounts.tolist()) for demand in demands]
        after = np.cumsum(slots[:, order][:, ::-1], axis=1)[:, ::-1]
        self._after: list[tuple[int, ...]] = [tuple(each) for each in after.T.tolist()]
        total = np.cumsum(np.array(self._free)[::-1], axis=0)[::-1]
        self._room: list[tuple[int, ...]] = [tuple(each) for each in total.tolist()] + [(0,) * len(free)]
        self._dead: set[tuple[int, tuple[int, ...]]] = set()

    def run(self) -> Packed | None:
        """The packing, or None."""
        chosen: list[tuple[int, ...]] = []
        if not self._fill(0, tuple(demand.count for demand in self._demands), chosen):
            return None
        found: Packed = [np.zeros_like(demand.slots) for demand in self._demands]
        for node, counts in zip(self._used.tolist(), chosen, strict=False):
            for number, count in enumerate(counts):
                found[number][node] = count
        return found

    def _fill(self, at: int, left: tuple[int, ...], chosen: list[tuple[int, ...]]) -> bool:
        """Whether *left* fits on the nodes from *at* on; *chosen* gets what goes where.  An explicit stack: clusters are large."""
        stack: list[tuple[tuple[int, ...], Iterator[tuple[int, ...]]]] = []
        while True:
            if not any(left):
                return True
            if self._hopeless(at, left):
                ways: Iterator[tuple[int, ...]] = iter(())
            else:
                self._budget.step(2 + len(left))
                ways = self._fillings(at, left)
            stack.append((left, ways))
            while True:
                left, ways = stack[-1]
                taken = next(ways, None)
                if taken is not None:
                    break
                self._dead.add((at, left))
                stack.pop()
                if not stack:
                    return False
                chosen.pop()
                at -= 1
            chosen.append(taken)
            left = tuple(have - gone for have, gone in zip(left, taken, strict=True))
            at += 1

    def _hopeless(self, at: int, left: tuple[int, ...]) -> bool:
        if at >= len(self._slots) or (at, left) in self._dead:
            return True
        if any(count > after for count, after in zip(left, self._after[at], strict=True)):
            return True
        for row, room in enumerate(self._room[at]):
            if sum(count * amounts[row] for count, amounts in zip(left, self._amounts, strict=True)) > room:
                return True
        return False

    def _fillings(self, at: int, left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The ways to put pods of *left* on a node so that no further one fits, the fullest first."""
        slots, amounts = self._slots[at], self._amounts

        def choose(number: int, free: tuple[int, ...], counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            self._budget.step()
            if number == len(amounts):
                if self._is_full(at, left, free, counts):
                    yield counts
                return
            most = min(left[number], slots[number], *(room // need for room, need in zip(free, amounts[number], strict=True) if need))
            # Of the last demand nothing may be left out that fits.
            for count in range(most, -1 if number + 1 < len(amounts) else max(most - 1, -1), -1):
                rest = tuple(room - count * need for room, need in zip(free, amounts[number], strict=True))
                yield from choose(number + 1, rest, (*counts, count))

        return choose(0, self._free[at], ())

    def _is_full(self, at: int, left: tuple[int, ...], free: tuple[int, ...], counts: tuple[int, ...]) -> bool:
        for number, amounts in enumerate(self._amounts):
            if counts[number] < min(left[number], self._slots[at][number]) and all(
                need <= room for need, room in zip(amounts, free, strict=True)
            ):
                return False
        return True
