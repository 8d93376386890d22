"""Vector bin packing: pods of several shapes on nodes, each within its eligible nodes.

A demand is a number of equal pods with their eligible nodes.  The cheap answers come first.  Sums that do not fit refute the demands.
A packing by best fit proves that they fit.  Otherwise all fillings of the nodes are enumerated, node by node.  Only fillings to which
no pod can be added are tried, and no remainder is tried twice at one node.  The answer is exact; for pods of several shapes greedy
placement gives no guarantee (KEP-4671).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.model.nodes import Ints

_ORDERS = 6
"""Number of orders of the demands in which best fit is tried."""
_FITTING, _EACH, _CELLS = 8, 12, 64
"""Steps for one best fit and for each of its demands; number of amounts that cost one more step."""


class EqualPods(Record, frozen=True):
    """A number of equal pods with their eligible nodes.

    Attributes:
        amounts: shape (rows,): requests of one pod.
        count: number of pods.
        slots: shape (nodes,): pods that each node holds by itself; 0 on nodes that are not eligible.

    """

    amounts: Ints
    count: int
    slots: Ints


Packed = list[Ints]
"""For each demand: shape (nodes,), the number of its pods on each node."""


def pack(free: Ints, demands: Sequence[EqualPods], budget: StepBudget, *, thorough: bool = True) -> Packed | None:
    """Return a packing of *demands* into *free*, shape (rows, nodes); None if there is none.

    If not *thorough*, None also means that best fit did not succeed.

    Raises:
        StepsSpentError: the budget is spent before the answer is known.

    """
    budget.step(2 + len(demands))
    if not demands:
        return []
    if any(int(demand.slots.sum()) < demand.count for demand in demands):
        return None
    if len(demands) == 1:
        return [_fill_in_order(demands[0].slots, demands[0].count, np.argsort(demands[0].slots, kind="stable"))]
    return _pack_equal(demands) if _are_equal(free, demands) else _pack_different(free, demands, budget, thorough=thorough)


def _pack_different(free: Ints, demands: Sequence[EqualPods], budget: StepBudget, *, thorough: bool) -> Packed | None:
    effort = len(demands) * (_EACH + free.size // _CELLS)
    for number, order in enumerate(itertools.islice(_orders(demands), _ORDERS)):
        budget.step(_FITTING + effort)
        if (packed := _best_fit(free, demands, order)) is not None:
            return packed
        if not number:
            budget.step(2 * effort)
            if _exceeds_sums(free, demands):
                return None
    return _Filling(free, demands, budget).run() if thorough else None


def _exceeds_sums(free: Ints, demands: Sequence[EqualPods]) -> bool:
    """Return whether demands that are confined to the nodes of one demand need more than is free there."""
    for outer in demands:
        eligible = outer.slots > 0
        inside = [each for each in demands if not (each.slots[~eligible] > 0).any()]
        needed = sum((each.amounts * each.count for each in inside), np.zeros_like(outer.amounts))
        if (needed > free[:, eligible].sum(axis=1)).any() or _exceeds_large_items(free[:, eligible], inside):
            return True
    return False


def _exceeds_large_items(free: Ints, demands: Sequence[EqualPods]) -> bool:
    """Return whether large pods do not fit: for some resource and size t, the pods that request at least t.

    A node with r free holds at most r // t of them, and none if r is less than t.
    """
    for row, free_amounts in enumerate(free):
        counts: dict[int, int] = {}
        for demand in demands:
            size = int(demand.amounts[row])
            counts[size] = counts.get(size, 0) + demand.count
        for size in counts.keys() - {0}:
            if sum(count for other, count in counts.items() if other >= size) > int((free_amounts // size).sum()):
                return True
            if sum(other * count for other, count in counts.items() if other >= size) > int(free_amounts[free_amounts >= size].sum()):
                return True
    return False


def _are_equal(free: Ints, demands: Sequence[EqualPods]) -> bool:
    """Return whether all requests are equal, nothing else limits the pods, and any two eligible node sets are nested or disjoint.

    A claim to a volume can limit the pods of one demand on a node, and leave capacity for those of another.
    """
    first = demands[0]
    if any((each.amounts != first.amounts).any() for each in demands[1:]):
        return False
    needed = first.amounts > 0
    by_requests = (free[needed] // first.amounts[needed][:, None]).min(axis=0)
    if any(((each.slots > 0) & (each.slots < by_requests)).any() for each in demands):
        return False
    node_sets = {int.from_bytes(np.packbits(demand.slots > 0).tobytes()) for demand in demands}
    return all(one & other in (0, one, other) for one, other in itertools.combinations(node_sets, 2))


def _pack_equal(demands: Sequence[EqualPods]) -> Packed | None:
    """Pack equal pods; the demand with the fewest eligible nodes is packed first."""
    left = np.max([demand.slots for demand in demands], axis=0)
    packed: list[Ints | None] = [None] * len(demands)
    for number in sorted(range(len(demands)), key=lambda each: (int((demands[each].slots > 0).sum()), each)):
        demand = demands[number]
        slots = np.where(demand.slots > 0, left, 0)
        if int(slots.sum()) < demand.count:
            return None
        packed[number] = taken = _fill_in_order(slots, demand.count, np.argsort(slots, kind="stable"))
        left = left - taken
    return [each for each in packed if each is not None]


def _fill_in_order(slots: Ints, count: int, order: Ints) -> Ints:
    """Return *count* pods on the nodes in *order*, each node filled before the next; shape (nodes,)."""
    ordered = slots[order]
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(ordered)[:-1]))
    taken: Ints = np.zeros_like(slots)
    taken[order] = np.clip(count - before, 0, ordered)
    return taken


def _orders(demands: Sequence[EqualPods]) -> Iterator[tuple[int, ...]]:
    """Yield orders of the demands: confined and large first, then large first, then all permutations."""
    scale = np.maximum(np.max([demand.amounts for demand in demands], axis=0), 1)
    size = [float((demand.amounts / scale).sum()) for demand in demands]
    numbers = range(len(demands))
    yield tuple(sorted(numbers, key=lambda each: (int((demands[each].slots > 0).sum()), -size[each], each)))
    yield tuple(sorted(numbers, key=lambda each: (-size[each], each)))
    yield from itertools.permutations(numbers)


def _best_fit(free: Ints, demands: Sequence[EqualPods], order: tuple[int, ...]) -> Packed | None:
    """Pack each demand on the nodes where it leaves the least free capacity."""
    left = free.copy()
    packed: list[Ints] = [demand.slots for demand in demands]
    scale = np.maximum(free.max(axis=1), 1)[:, None]
    for number in order:
        demand = demands[number]
        needed = demand.amounts > 0
        slots = np.minimum(demand.slots, (left[needed] // demand.amounts[needed][:, None]).min(axis=0))
        if int(slots.sum()) < demand.count:
            return None
        rest = ((left - demand.amounts[:, None] * slots) / scale).sum(axis=0)
        taken = _fill_in_order(slots, demand.count, np.argsort(rest, kind="stable"))
        left = left - demand.amounts[:, None] * taken
        packed[number] = taken
    return packed


class _Filling:
    """Enumeration of all maximal fillings, node after node."""

    def __init__(self, free: Ints, demands: Sequence[EqualPods], budget: StepBudget) -> None:
        self._budget = budget
        self._demands = demands
        self._used = np.flatnonzero(np.any([demand.slots > 0 for demand in demands], axis=0))
        # Nodes that are eligible for few demands come first.  Equal nodes are adjacent.
        slots = np.array([demand.slots[self._used] for demand in demands])
        order = np.lexsort((*slots, (slots > 0).sum(axis=0)))
        self._used = self._used[order]
        self._slots: list[tuple[int, ...]] = [tuple(each) for each in slots[:, order].T.tolist()]
        self._free: list[tuple[int, ...]] = [tuple(each) for each in free[:, self._used].T.tolist()]
        self._amounts: list[tuple[int, ...]] = [tuple(demand.amounts.tolist()) for demand in demands]
        after = np.cumsum(slots[:, order][:, ::-1], axis=1)[:, ::-1]
        self._slots_after: list[tuple[int, ...]] = [tuple(each) for each in after.T.tolist()]
        total = np.cumsum(np.array(self._free)[::-1], axis=0)[::-1]
        self._free_after: list[tuple[int, ...]] = [tuple(each) for each in total.tolist()] + [(0,) * len(free)]
        self._refuted: set[tuple[int, tuple[int, ...]]] = set()

    def run(self) -> Packed | None:
        """Return a packing; None if there is none."""
        chosen: list[tuple[int, ...]] = []
        if not self._fill(0, tuple(demand.count for demand in self._demands), chosen):
            return None
        packed: Packed = [np.zeros_like(demand.slots) for demand in self._demands]
        for node, counts in zip(self._used.tolist(), chosen, strict=False):
            for number, count in enumerate(counts):
                packed[number][node] = count
        return packed

    def _fill(self, at: int, left: tuple[int, ...], chosen: list[tuple[int, ...]]) -> bool:
        """Return whether *left* fits on the nodes from index *at* on; append the filling of each node to *chosen*.

        The stack is explicit, so a cluster may have more nodes than Python has stack frames.
        """
        stack: list[tuple[tuple[int, ...], Iterator[tuple[int, ...]]]] = []
        while True:
            if not any(left):
                return True
            if self._is_refuted(at, left):
                fillings: Iterator[tuple[int, ...]] = iter(())
            else:
                self._budget.step(2 + len(left))
                fillings = self._fillings(at, left)
            stack.append((left, fillings))
            while True:
                left, fillings = stack[-1]
                taken = next(fillings, None)
                if taken is not None:
                    break
                self._refuted.add((at, left))
                stack.pop()
                if not stack:
                    return False
                chosen.pop()
                at -= 1
            chosen.append(taken)
            left = tuple(have - gone for have, gone in zip(left, taken, strict=True))
            at += 1

    def _is_refuted(self, at: int, left: tuple[int, ...]) -> bool:
        if at >= len(self._slots) or (at, left) in self._refuted:
            return True
        if any(count > after for count, after in zip(left, self._slots_after[at], strict=True)):
            return True
        for row, free in enumerate(self._free_after[at]):
            if sum(count * amounts[row] for count, amounts in zip(left, self._amounts, strict=True)) > free:
                return True
        return False

    def _fillings(self, at: int, left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield the numbers of pods of *left* that fill a node so that no further pod fits, the fullest first."""
        slots, amounts = self._slots[at], self._amounts

        def choose(number: int, free: tuple[int, ...], counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            self._budget.step()
            if number == len(amounts):
                if self._is_full(at, left, free, counts):
                    yield counts
                return
            most = min(
                left[number], slots[number], *(available // need for available, need in zip(free, amounts[number], strict=True) if need)
            )
            # All pods of the last demand that fit are packed, as the filling must be maximal.
            for count in range(most, -1 if number + 1 < len(amounts) else max(most - 1, -1), -1):
                rest = tuple(available - count * need for available, need in zip(free, amounts[number], strict=True))
                yield from choose(number + 1, rest, (*counts, count))

        return choose(0, self._free[at], ())

    def _is_full(self, at: int, left: tuple[int, ...], free: tuple[int, ...], counts: tuple[int, ...]) -> bool:
        for number, amounts in enumerate(self._amounts):
            if counts[number] < min(left[number], self._slots[at][number]) and all(
                need <= available for need, available in zip(amounts, free, strict=True)
            ):
                return False
        return True
