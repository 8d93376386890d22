"""Where there is nearly room: slots for the root's commonest pod by node and domain, and which running pods stand in the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.profile import Profile
from scheduler_core.whatif.edits.node_templates import Content
from scheduler_core.whatif.edits.raw_objects import Book, key_of
from scheduler_core.whatif.trial.subject import Subject

MOST_MOVED = 8
"""Running pods moved or evicted for one root, at most."""
_WIDE = 512
"""Pods of a domain that are looked at, at most."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RoomInDomain:
    """A domain, or the cluster (key empty)."""

    key: str
    value: str
    nodes: Nodes
    slots: int


class NearlyRoom:
    """Capacity as it is, without anything nominated."""

    def __init__(self, snapshot: ClusterSnapshot, subject: Subject, book: Book) -> None:
        self.snapshot = snapshot
        self._book = book
        self._companions: dict[int, tuple[tuple[Content, ...], Ints]] = {}
        self.subject = subject
        nodes = snapshot.nodes
        self._profile = Profile(nodes)
        self.free: Ints = nodes.allocatable.copy()
        self._slots: dict[int, Ints] = {}
        self.on: dict[int, list[PodRecord]] = {}
        for pod in snapshot.pods:
            if pod.node >= 0:
                self.on.setdefault(pod.node, []).append(pod)
                _take(self.free, pod.shape, pod.node, 1)

    def slots(self, shape: PodShape, free: Ints | None = None) -> Ints:
        """Shape (nodes,): how many pods of *shape* each node holds."""
        if free is None:
            if shape.serial not in self._slots:
                self._slots[shape.serial] = self.slots(shape, self.free)
            return self._slots[shape.serial]
        static = self._profile.compile(shape)
        counts: Ints = np.maximum((free[static.rows] // static.amounts).min(axis=0), 0)
        return counts if static.mask is None else counts * static.mask

    def companions(self, node: int) -> tuple[tuple[Content, ...], Ints]:
        """The pods that a fresh node like *node* runs from the start, and what they take, by resource."""
        if node not in self._companions:
            there = {pod.key: pod for pod in self.on.get(node, ()) if not pod.terminating}
            written = self._book.objects_on_node(self.snapshot.nodes.names[node]) if there else []
            pods = [pod for pod in written if "/".join(key_of(pod)[1:]) in there]
            taken: Ints = np.zeros(len(self.free), dtype=np.int64)
            for pod in pods:
                for row, amount in there["/".join(key_of(pod)[1:])].shape.requests:
                    taken[row] += amount
            self._companions[node] = tuple(pods), taken
        return self._companions[node]

    @property
    def narrowest(self) -> str:
        """Of the root's topology keys, of which there is one, the one with the most domains."""
        return max(self.subject.keys, key=lambda key: len(self.snapshot.nodes.column(key).values))

    def areas(self, most: int) -> list[RoomInDomain]:
        """The domains with most room, of the narrowest key of the root and of the widest; the cluster where there are none."""
        keys = dict.fromkeys((self.narrowest, self.subject.keys[0])) if self.subject.keys else ()
        return [area for key in keys for area in self.divided(key, self.whole_cluster, most)] or [self.whole_cluster]

    @property
    def whole_cluster(self) -> RoomInDomain:
        """The cluster."""
        return RoomInDomain("", "", self.snapshot.nodes.everything, int(self.slots(self.subject.shape).sum()))

    def divided(self, key: str, area: RoomInDomain, most: int) -> list[RoomInDomain]:
        """The *most* domains of *key* inside *area* that have most room, in this order."""
        column, slots = self.snapshot.nodes.column(key), self.slots(self.subject.shape)
        ids = column.ids[area.nodes]
        there = area.nodes[ids >= 0]
        sums = np.bincount(ids[ids >= 0], weights=slots[there], minlength=len(column.values))
        counts = np.bincount(ids[ids >= 0], minlength=len(column.values))
        order = [number for number in np.argsort(-sums, kind="stable").tolist() if counts[number]][:most]
        return [RoomInDomain(key, column.values[number], area.nodes[ids == number], int(sums[number])) for number in order]

    def blockers(self, area: RoomInDomain, wanted: int, may: Callable[[PodRecord], bool]) -> list[PodRecord]:
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

    def moves(self, leaving: Iterable[PodRecord], area: RoomInDomain) -> dict[str, tuple[str, str]] | None:
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
                static = self._profile.compile(shape)
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
