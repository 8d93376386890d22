"""Capacity for the root's most frequent pod by node and domain, and running pods whose removal would add capacity."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from scheduler_core.model.device_claims import DeviceNeed
from scheduler_core.model.device_pools import PoolDevice
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.devices.selection import Selection
from scheduler_core.plugins.profile import Profile
from scheduler_core.whatif.edits.node_templates import Content
from scheduler_core.whatif.edits.raw_objects import Book, key_of
from scheduler_core.whatif.trial.subject import Subject

MOST_MOVED = 8
"""Maximum number of running pods moved or evicted for a root."""
_WIDE = 512
"""Maximum number of nodes examined in a domain."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DomainCapacity:
    """Slots in a domain, or in the cluster (key empty)."""

    key: str
    value: str
    nodes: Nodes
    slots: int

    @property
    def domain(self) -> Domain | None:
        """Return the domain; None for the cluster."""
        return Domain(self.key, self.value) if self.key else None


class PresentCapacity:
    """Present capacity; nominations are ignored."""

    def __init__(self, snapshot: ClusterSnapshot, subject: Subject, book: Book) -> None:
        self.snapshot = snapshot
        self.book = book
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
                _charge(self.free, pod.shape, pod.node, 1)

    def slots(self, shape: PodShape, free: Ints | None = None) -> Ints:
        """Return how many pods of *shape* each node holds; shape (nodes,)."""
        if free is None:
            if shape.serial not in self._slots:
                self._slots[shape.serial] = self.slots(shape, self.free)
            return self._slots[shape.serial]
        static = self._profile.compile(shape)
        counts: Ints = np.maximum((free[static.rows] // static.amounts).min(axis=0), 0)
        return counts if static.mask is None else counts * static.mask

    @functools.cached_property
    def fits_new_nodes(self) -> bool:
        """Return whether a new node, which has no devices of its own, can take one of the waiting pods."""
        shapes = {pod.shape for pod in self.subject.waiting}
        objects = self.snapshot.devices
        if objects is None or not all(any(need.allocates and need.spec for need in shape.devices) for shape in shapes):
            return True
        selection = Selection(exact=False)
        shared = [
            PoolDevice((each.driver, each.pool, device.name), device.content, each)
            for each in objects.slices
            if not each.node
            for device in each.devices
        ]

        def served(need: DeviceNeed) -> bool:
            return need.spec is None or all(
                any(selection.selects(alternative, 0, device) for alternative in request.alternatives for device in shared)
                for request in need.spec.requests
            )

        return any(all(served(need) for need in shape.devices if need.allocates) for shape in shapes)

    def companions(self, node: int) -> tuple[tuple[Content, ...], Ints]:
        """Return the DaemonSet and static pods of a new node like *node*, and their requests by resource."""
        if node not in self._companions:
            running = {pod.key: pod for pod in self.on.get(node, ()) if not pod.terminating}
            raw_pods = self.book.objects_on_node(self.snapshot.nodes.names[node]) if running else []
            pods = [pod for pod in raw_pods if "/".join(key_of(pod)[1:]) in running]
            requests: Ints = np.zeros(len(self.free), dtype=np.int64)
            for pod in pods:
                for row, amount in running["/".join(key_of(pod)[1:])].shape.charges:
                    requests[row] += amount
            self._companions[node] = tuple(pods), requests
        return self._companions[node]

    @property
    def narrowest(self) -> str:
        """Return the topology key of the root with the most domains; the root has at least one key."""
        return max(self.subject.keys, key=lambda key: len(self.snapshot.nodes.column(key).values))

    def areas(self, most: int, shape: PodShape | None = None) -> list[DomainCapacity]:
        """Return the domains with the most capacity for *shape*, of the root's narrowest and widest key; the cluster without keys."""
        keys = dict.fromkeys((self.narrowest, self.subject.keys[0])) if self.subject.keys else ()
        return [area for key in keys for area in self.divided(key, self.whole_cluster, most, shape)] or [self.whole_cluster]

    @property
    def whole_cluster(self) -> DomainCapacity:
        """Return the cluster as one domain."""
        return DomainCapacity("", "", self.snapshot.nodes.everything, int(self.slots(self.subject.shape).sum()))

    def divided(self, key: str, area: DomainCapacity, most: int, shape: PodShape | None = None) -> list[DomainCapacity]:
        """Return the *most* domains of *key* inside *area* with the most capacity for *shape*, the root's by default, in that order."""
        column, slots = self.snapshot.nodes.column(key), self.slots(shape or self.subject.shape)
        ids = column.ids[area.nodes]
        labelled = area.nodes[ids >= 0]
        sums = np.bincount(ids[ids >= 0], weights=slots[labelled], minlength=len(column.values))
        counts = np.bincount(ids[ids >= 0], minlength=len(column.values))
        order = [number for number in np.argsort(-sums, kind="stable").tolist() if counts[number]][:most]
        return [DomainCapacity(key, column.values[number], area.nodes[ids == number], int(sums[number])) for number in order]

    def blockers(self, area: DomainCapacity, missing: int, allowed: Callable[[PodRecord], bool]) -> list[PodRecord]:
        """Return a few running pods without which *area* has *missing* more slots; empty if too many would be needed."""
        free, shape = self.free.copy(), self.subject.shape
        pods: list[PodRecord] = []
        gained, plans = 0, {node: self._cheapest(node, shape, free, allowed, ()) for node in area.nodes.tolist()[:_WIDE]}
        while gained < missing:
            remaining = [(len(plan), plan[0].key, node) for node, plan in plans.items() if plan]
            if not remaining:
                return []
            _, _, node = min(remaining)
            for pod in plans[node]:
                _charge(free, pod.shape, node, -1)
            pods += plans[node]
            gained += 1
            if len(pods) > MOST_MOVED:
                return []
            plans[node] = self._cheapest(node, shape, free, allowed, pods)
        return pods

    def moves(self, leaving: Iterable[PodRecord], area: DomainCapacity) -> dict[str, tuple[str, str]] | None:
        """Return a node outside *area* for each of the pods *leaving*, as old and new node by pod; None if one has none."""
        free, names = self.free.copy(), self.snapshot.nodes.names
        outside = np.ones(len(names), dtype=bool)
        outside[area.nodes] = False
        result = {}
        for pod in leaving:
            allowed = (self.slots(pod.shape, free) > 0) & outside
            allowed[pod.node] = False
            if not allowed.any():
                return None
            # Choose the node with the fewest slots for the root's pods, then by name.
            slots_left = np.where(allowed, self.slots(self.subject.shape, free), np.iinfo(np.int64).max)
            node = int(slots_left.argmin())
            _charge(free, pod.shape, node, 1)
            result[pod.key] = (names[pod.node], names[node])
        return result

    def _cheapest(
        self, node: int, shape: PodShape, free: Ints, allowed: Callable[[PodRecord], bool], removed: Iterable[PodRecord]
    ) -> tuple[PodRecord, ...]:
        """Return the fewest pods of *node*, the largest first, whose removal adds a slot; empty if there are none."""
        removed_keys = {pod.key for pod in removed}
        column = free[:, node].copy()
        before = _count(column, shape)
        scarce = min(shape.requests, key=lambda each: (column[each[0]] // each[1], each[0]))[0]
        movable = [pod for pod in self.on.get(node, ()) if pod.key not in removed_keys and allowed(pod)]
        chosen: list[PodRecord] = []
        for pod in sorted(movable, key=lambda each: (-dict(each.shape.charges).get(scarce, 0), each.key)):
            if len(chosen) == MOST_MOVED:
                return ()
            chosen.append(pod)
            for row, amount in pod.shape.charges:
                column[row] += amount
            if _count(column, shape) > before:
                static = self._profile.compile(shape)
                return tuple(chosen) if static.mask is None or static.mask[node] else ()
        return ()


def units(pods: Iterable[PodRecord], snapshot: ClusterSnapshot, subject: Subject) -> Iterator[tuple[Name, tuple[str, ...]]]:
    """Return the names of the units of *pods* with their running pods: whole trees, and single pods."""
    seen: set[object] = set()
    for pod in pods:
        unit = subject.units.get((pod.namespace, pod.group)) if pod.group else None
        if unit is None:
            yield Name("Pod", pod.namespace, pod.name), (pod.key,)
        elif unit not in seen:
            seen.add(unit)
            members = (each for each in snapshot.pods if each.node >= 0 and each.group)
            running = tuple(each.key for each in members if subject.units.get((each.namespace, each.group)) == unit)
            yield unit, running


def _charge(free: Ints, shape: PodShape, node: int, sign: int) -> None:
    for row, amount in shape.charges:
        free[row, node] -= sign * amount


def _count(column: Ints, shape: PodShape) -> int:
    return max(0, min(int(column[row]) // amount for row, amount in shape.requests))
