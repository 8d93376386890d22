"""Where there is nearly room: slots for the root's commonest pod by node and domain, and which running pods stand in the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from scheduler_core.fit import Fit
from scheduler_core.nodes import Ints, Nodes
from scheduler_core.pods import PodRecord, PodShape
from scheduler_core.snapshot import ClusterSnapshot
from scheduler_core.whatif.subject import Subject

MOST_MOVED = 8
"""Running pods moved or evicted for one root, at most."""
_WIDE = 512
"""Pods of a domain that are looked at, at most."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Area:
    """A domain, or the cluster (key empty)."""

    key: str
    value: str
    nodes: Nodes
    slots: int


class Room:
    """Capacity as it is, without anything nominated."""

    def __init__(self, snapshot: ClusterSnapshot, subject: Subject) -> None:
        self.snapshot = snapshot
        self.subject = subject
        nodes = snapshot.nodes
        self._fit = Fit(nodes)
        self.free: Ints = nodes.allocatable.copy()
        self.on: dict[int, list[PodRecord]] = {}
        for pod in snapshot.pods:
            if pod.node >= 0:
                self.on.setdefault(pod.node, []).append(pod)
                _take(self.free, pod.shape, pod.node, 1)

    def slots(self, shape: PodShape, free: Ints | None = None) -> Ints:
        """Shape (nodes,): how many pods of *shape* each node holds."""
        left = self.free if free is None else free
        static = self._fit.static(shape)
        counts: Ints = np.maximum((left[static.rows] // static.amounts).min(axis=0), 0)
        return counts if static.mask is None else counts * static.mask

    def areas(self, most: int) -> list[Area]:
        """The domains with most room, of the narrowest key of the root and of the widest; the cluster where there is none."""
        slots, keys = self.slots(self.subject.shape), self.subject.keys
        nodes = self.snapshot.nodes
        if not keys:
            return [Area("", "", nodes.everything, int(slots.sum()))]
        found = []
        for key in dict.fromkeys((max(keys, key=lambda each: len(nodes.column(each).values)), keys[0])):
            column = nodes.column(key)
            domains = [(column.ids == number).nonzero()[0] for number in range(len(column.values))] if len(column.values) <= 64 else None
            if domains is None:
                sums = np.bincount(column.ids[column.ids >= 0], weights=slots[column.ids >= 0], minlength=len(column.values))
                best = np.argsort(-sums, kind="stable")[:most].tolist()
                each = [Area(key, column.values[number], (column.ids == number).nonzero()[0], int(sums[number])) for number in best]
            else:
                each = [Area(key, column.values[number], at, int(slots[at].sum())) for number, at in enumerate(domains)]
            found += sorted(each, key=lambda area: -area.slots)[:most]
        return found

    def blockers(self, area: Area, wanted: int, may: Callable[[PodRecord], bool]) -> list[PodRecord]:
        """Few running pods without which *area* has *wanted* slots more; none where there are no such few."""
        free, shape = self.free.copy(), self.subject.shape
        found: list[PodRecord] = []
        gained, plans = 0, {node: self._cheapest(node, shape, free, may, ()) for node in area.nodes.tolist()[:_WIDE]}
        while gained < wanted:
            open_ = [(len(plan), plan[0].key, node) for node, plan in plans.items() if plan]
            if not open_:
                return []
            _, _, node = min(open_)
            for pod in plans[node]:
                _take(free, pod.shape, node, -1)
            found += plans[node]
            gained += 1
            if len(found) > MOST_MOVED:
                return []
            plans[node] = self._cheapest(node, shape, free, may, found)
        return found

    def moves(self, leaving: Iterable[PodRecord], area: Area) -> dict[str, tuple[str, str]] | None:
        """A node outside *area* for each of the pods *leaving*, from and to by pod; None where one finds none."""
        free, names = self.free.copy(), self.snapshot.nodes.names
        outside = np.ones(len(names), dtype=bool)
        outside[area.nodes] = False
        found = {}
        for pod in leaving:
            able = (self.slots(pod.shape, free) > 0) & outside
            able[pod.node] = False
            if not able.any():
                return None
            # Where the least room is left for more of the root's pods, then by name.
            spare = np.where(able, self.slots(self.subject.shape, free), np.iinfo(np.int64).max)
            node = int(spare.argmin())
            _take(free, pod.shape, node, 1)
            found[pod.key] = (names[pod.node], names[node])
        return found

    def _cheapest(
        self, node: int, shape: PodShape, free: Ints, may: Callable[[PodRecord], bool], gone: Iterable[PodRecord]
    ) -> tuple[PodRecord, ...]:
        """The fewest pods of *node*, the largest first, that make a slot more there; empty where none do."""
        left = {pod.key for pod in gone}
        column = free[:, node].copy()
        before = _count(column, shape)
        scarce = min(shape.requests, key=lambda each: (column[each[0]] // each[1], each[0]))[0]
        movable = [pod for pod in self.on.get(node, ()) if pod.key not in left and may(pod)]
        taken: list[PodRecord] = []
        for pod in sorted(movable, key=lambda each: (-dict(each.shape.requests).get(scarce, 0), each.key)):
            if len(taken) == MOST_MOVED:
                return ()
            taken.append(pod)
            for row, amount in pod.shape.requests:
                column[row] += amount
            if _count(column, shape) > before:
                static = self._fit.static(shape)
                return tuple(taken) if static.mask is None or static.mask[node] else ()
        return ()


def units(pods: Iterable[PodRecord], snapshot: ClusterSnapshot, subject: Subject) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Who leaves, in words, with its running pods: whole trees, and single pods."""
    seen: set[object] = set()
    for pod in pods:
        unit = subject.units.get((pod.namespace, pod.group)) if pod.group else None
        if unit is None:
            yield f"Pod {pod.key}", (pod.key,)
        elif unit not in seen:
            seen.add(unit)
            members = (each for each in snapshot.pods if each.node >= 0 and each.group)
            all_ = tuple(each.key for each in members if subject.units.get((each.namespace, each.group)) == unit)
            yield f"{unit.kind} {unit.namespace}/{unit.name}", all_


def _take(free: Ints, shape: PodShape, node: int, sign: int) -> None:
    for row, amount in shape.requests:
        free[row, node] -= sign * amount


def _count(column: Ints, shape: PodShape) -> int:
    return max(0, min(int(column[row]) // amount for row, amount in shape.requests))
