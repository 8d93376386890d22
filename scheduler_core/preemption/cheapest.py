"""Equal pods on nodes that may be any of a domain: the units to take, node by node, so that enough of the pods find room.

On each node the sets of units are found to which none can be left back, with what each makes room for; then nodes are chosen
together, as in a knapsack.  With every unit on one node only and few on each, no plan has fewer units.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterator

import numpy as np

from scheduler_core.nodes import Ints
from scheduler_core.placement.site import Site
from scheduler_core.pods import PodShape
from scheduler_core.preemption.effort import Effort
from scheduler_core.preemption.shortage import Shortage
from scheduler_core.preemption.worth import Key, Worth
from scheduler_core.topology import Placement

_SUBSETS = 8
"""Units on a node up to which all sets of them are looked at."""
_UNIT, _POD = 2**42, 2**25
"""A unit weighs more than all pods, a pod more than all ranks."""
_ENDLESS = 2**61

Ways = tuple[tuple[int, tuple[int, ...]], ...]
"""Pods there is room for, and the positions of the units that leave for them."""
_Option = tuple[int, int, frozenset[int]]
"""Pods there is room for, the weight of the units that leave for them, these units."""


class Cheapest:
    """What to take from the units of a Shortage; without *broken* on one node never so that a disruption budget breaks."""

    def __init__(self, site: Site, shortage: Shortage, worth: Worth, effort: Effort, *, broken: bool) -> None:
        self._site = site
        self._shortage = shortage
        self._worth = worth
        self._effort = effort
        self._broken = broken
        self._ways: dict[object, Ways] = {}
        # So that all ranks of a plan together stay below a pod.
        self._scale = max(1, len(np.unique(shortage.unit)) ** 2 // (_POD - 1) + 1)

    @functools.cached_property
    def _rank(self) -> dict[int, int]:
        units = np.unique(self._shortage.unit)
        return dict(zip(units.tolist(), self._worth.ranks(units).tolist(), strict=True))

    def plan(self, shape: PodShape, count: int, placement: Placement) -> frozenset[int] | None:
        """Units without which *count* pods of *shape* fit in *placement*; None if none are found.

        Raises:
            SpentError: the effort is spent.

        """
        slots = self._shortage.slots(shape)
        short = count - int(slots.now[placement.nodes].sum())
        nodes = placement.nodes[slots.gain[placement.nodes] > 0]
        if short <= 0 or int(slots.gain[nodes].sum()) < short:
            return frozenset() if short <= 0 else None
        if short == 1:
            return self._best_node(shape, nodes)
        return self._knapsack(shape, nodes, short)

    def _best_node(self, shape: PodShape, nodes: Ints) -> frozenset[int] | None:
        """The best set of units that makes room for one pod on one of *nodes*."""
        if (single := self._best_unit(shape, nodes)) is not None:
            return single
        best: tuple[tuple[int, int], Key, frozenset[int]] | None = None
        for units, ways in self._on(shape, nodes):
            for _, positions in ways:
                chosen = frozenset(units[position] for position in positions)
                roughly = len(chosen), sum(int(self._worth.pods[unit]) for unit in chosen)
                if (best is not None and roughly > best[0]) or not self._allowed(chosen):
                    continue
                key = self._worth.key(chosen)
                if best is None or key < best[1]:
                    best = roughly, key, chosen
        return None if best is None else best[2]

    def _best_unit(self, shape: PodShape, nodes: Ints) -> frozenset[int] | None:
        """The one that is worth least of the units that are enough by themselves."""
        shortage, static = self._shortage, self._site.fit.static(shape)
        pairs = shortage.pairs_of(nodes)
        free = shortage.free[static.rows[:, None], shortage.node[pairs]]
        enough = (free + shortage.need[static.rows[:, None], pairs] >= static.amounts).all(axis=0)
        units = np.unique(shortage.unit[pairs[enough]])
        self._effort.take(1 + len(pairs) // 100)
        for unit in units[np.argsort(self._worth.ranks(units))].tolist():
            if self._allowed((unit,)):
                return frozenset((unit,))
        return None

    def _allowed(self, units: Collection[int]) -> bool:
        return self._broken or not self._worth.breaks(units)

    def _knapsack(self, shape: PodShape, nodes: Ints, short: int) -> frozenset[int] | None:
        cost: Ints = np.full(short + 1, _ENDLESS, dtype=np.int64)
        cost[0] = 0
        taken: list[tuple[list[_Option], Ints]] = []
        for units, ways in self._on(shape, nodes):
            options = self._options(units, ways, short)
            self._effort.take(len(options))
            best, choice = cost, np.full(short + 1, -1, dtype=np.int64)
            for number, (gain, weight, _) in enumerate(options):
                # Room for more pods than there are is no harm.
                through = cost[np.maximum(np.arange(short + 1) - gain, 0)] + weight
                better = through < best
                best, choice = np.where(better, through, best), np.where(better, number, choice)
            cost = best
            taken.append((options, choice))
        return _traced(taken, short) if cost[short] < _ENDLESS else None

    def _options(self, units: list[int], ways: Ways, short: int) -> list[_Option]:
        """For each number of pods the lightest way: the pods, the weight, the units."""
        lightest: dict[int, tuple[int, frozenset[int]]] = {}
        for gain, positions in ways:
            chosen = frozenset(units[position] for position in positions)
            weight = sum(_UNIT + int(self._worth.pods[unit]) * _POD + self._rank[unit] // self._scale for unit in chosen)
            most = min(gain, short)
            if most not in lightest or weight < lightest[most][0]:
                lightest[most] = weight, chosen
        return [(gain, *lightest[gain]) for gain in sorted(lightest)]

    def _on(self, shape: PodShape, nodes: Ints) -> Iterator[tuple[list[int], Ways]]:
        """For each node the units on it, those that are worth least first, and the ways to choose from them."""
        shortage, static = self._shortage, self._site.fit.static(shape)
        amounts = tuple(static.amounts[:, 0].tolist())
        pairs = shortage.pairs_of(nodes)
        needs = [tuple(each) for each in shortage.need[static.rows[:, None], pairs].T.tolist()]
        free = shortage.free[static.rows].T.tolist()
        together = zip(shortage.node[pairs].tolist(), shortage.unit[pairs].tolist(), needs, strict=True)
        for node, group in itertools.groupby(together, key=lambda each: each[0]):
            self._effort.take()
            ordered = sorted(((self._rank[unit], unit, need) for _, unit, need in group))
            key = (amounts, tuple(free[node]), tuple(need for _, _, need in ordered))
            if (ways := self._ways.get(key)) is None:
                ways = self._ways[key] = tuple(_ways(*key))
                self._effort.take(len(ways))
            yield [unit for _, unit, _ in ordered], ways


def _traced(taken: list[tuple[list[_Option], Ints]], short: int) -> frozenset[int]:
    found: set[int] = set()
    for options, choice in reversed(taken):
        if (number := int(choice[short])) >= 0:
            gain, _, units = options[number]
            found |= units
            short = max(0, short - gain)
    return frozenset(found)


def _ways(amounts: tuple[int, ...], free: tuple[int, ...], needs: tuple[tuple[int, ...], ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The sets of positions that make room for a pod more, and from which none can be left out; and how many pods."""

    def room(positions: tuple[int, ...]) -> int:
        left = [have + sum(needs[position][row] for position in positions) for row, have in enumerate(free)]
        return max(0, min(have // amount for have, amount in zip(left, amounts, strict=True)))

    now = room(())
    known: dict[tuple[int, ...], int] = {(): now}
    for positions in _subsets(needs, len(free)):
        # Of equal units the first leave first.
        if any(needs[each] == needs[other] for each in positions for other in range(each) if other not in positions):
            continue
        known[positions] = most = room(positions)
        less = (positions[:each] + positions[each + 1 :] for each in range(len(positions)))
        if most > now and all(known.get(fewer, now) < most for fewer in less):
            yield most - now, positions


def _subsets(needs: tuple[tuple[int, ...], ...], rows: int) -> Iterator[tuple[int, ...]]:
    """All sets of positions, small ones first; where there are too many, only the first of each of a few orders."""
    if len(needs) <= _SUBSETS:
        for size in range(1, len(needs) + 1):
            yield from itertools.combinations(range(len(needs)), size)
        return
    seen = set()
    for row in range(rows):
        order = sorted(range(len(needs)), key=lambda each: (-needs[each][row], each))
        for size in range(1, len(needs) + 1):
            positions = tuple(sorted(order[:size]))
            if positions not in seen:
                seen.add(positions)
                yield positions
