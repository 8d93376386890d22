"""Capacity for the root's most frequent pod by node and domain."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from scheduler_core.model.device_claims import DeviceNeed
from scheduler_core.model.device_pools import PoolDevice
from scheduler_core.model.names import Domain
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.devices.selection import Selection
from scheduler_core.plugins.profile import Profile, ShapeProfile
from scheduler_core.whatif.edits.node_templates import Content
from scheduler_core.whatif.edits.raw_objects import Book, key_of
from scheduler_core.whatif.trial.subject import Subject


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
                charge(self.free, pod.shape, pod.node, 1)

    def slots(self, shape: PodShape, free: Ints | None = None) -> Ints:
        """Return how many pods of *shape* each node holds; shape (nodes,)."""
        if free is None:
            if shape.serial not in self._slots:
                self._slots[shape.serial] = self.slots(shape, self.free)
            return self._slots[shape.serial]
        static = self.compiled(shape)
        counts: Ints = np.maximum((free[static.rows] // static.amounts).min(axis=0), 0)
        return counts if static.mask is None else counts * static.mask

    def compiled(self, shape: PodShape) -> ShapeProfile:
        """Return the requests of *shape*, and the nodes that its static filters allow."""
        return self._profile.compile(shape)

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


def charge(free: Ints, shape: PodShape, node: int, sign: int) -> None:
    """Take what a pod uses on *node* from *free*, shape (resources, nodes); give it back with *sign* -1."""
    for row, amount in shape.charges:
        free[row, node] -= sign * amount
