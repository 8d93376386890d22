"""Storage capacity that the claims of several pods use together.

``capacity`` of a CSIStorageCapacity is the available capacity of the storage that can be used to provision volumes (Kubernetes API, after
GetCapacity of the CSI specification).  So all volumes that are provisioned from it need at most that much together.  kube-scheduler
compares each claim with the whole capacity.  ``maximumVolumeSize`` limits only a single volume.

Counted are claims for which a volume must be provisioned, on nodes that match one CSIStorageCapacity of their class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Bools, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.storage import Segments
from scheduler_core.placement.state import PlacementState


class StorageDemand(Record, frozen=True):
    """Storage to be provisioned for one pod.

    Attributes:
        own: bytes by index of the storage class.
        shared: claims that several pods use: namespace and name, index of the storage class, bytes.

    """

    own: tuple[tuple[int, int], ...] = ()
    shared: tuple[tuple[str, int, int], ...] = ()

    def __bool__(self) -> bool:
        """Return whether it demands any."""
        return bool(self.own or self.shared)


class StorageSums:
    """Free capacity by storage class and segment, and the demand of *pods*, one for each shape.

    Attributes:
        classes: storage classes with a demand.
        segments: their segments.
        free: bytes that are left of each segment, by storage class.

    """

    def __init__(self, state: PlacementState, pods: Iterable[PodRecord], selected: Callable[[str], int]) -> None:
        """Prepare; *selected* returns the node that an earlier root has selected for a claim, -1 if none has."""
        self._state = state
        self._storage = state.nodes.storage
        self._selected = selected
        self._numbers: dict[str, int] = {}
        self.classes: list[str] = []
        self._number_of_claim: dict[ClaimRequest, int] = {}
        self.segments: list[Segments] = []
        self.free: list[list[int]] = []
        self._demands = {pod.shape.serial: self._demand(pod.shape) for pod in pods}

    def __bool__(self) -> bool:
        """Return whether any pod has a demand."""
        return any(self._demands.values())

    def demand(self, shape: PodShape) -> StorageDemand:
        """Return the demand of a pod of *shape*."""
        return self._demands[shape.serial]

    def holds(self, pods: Iterable[tuple[PodRecord, int]]) -> bool:
        """Return whether the segments have enough for *pods* on their nodes."""
        return StorageInUse(self).add_pods(pods)

    def demand_of(self, pod: PodRecord) -> StorageDemand:
        """Return the demand of *pod*, whose shape need not be one of those that were given."""
        if (demand := self._demands.get(pod.shape.serial)) is None:
            demand = self._demands[pod.shape.serial] = self._demand(pod.shape)
        return demand

    def _demand(self, shape: PodShape) -> StorageDemand:
        own: Counter[int] = Counter()
        shared: dict[str, tuple[str, int, int]] = {}
        needs = shape.volumes if shape.profile.filters("VolumeBinding") and self._storage is not None else ()
        for request in (need.request for need in needs if need.request is not None):
            # Pods of this root that are assumed since have selected nodes too, but their claims still count.
            if (number := self._number_of_claim.get(request)) is None:
                number = self._number_of_claim[request] = self._number(request)
            if number < 0:
                continue
            if request.shared:
                shared[request.shared] = request.shared, number, request.size or 0
            else:
                own[number] += request.size or 0
        return StorageDemand(tuple(sorted(own.items())), tuple(shared.values()))

    def _number(self, request: ClaimRequest) -> int:
        """Return the index of the storage class of *request*; -1 if its storage is not counted."""
        storage = self._storage
        if storage is None or not request.size or request.selected_node or (request.shared and self._selected(request.shared) >= 0):
            return -1
        options = storage.options(request)
        if options.matches or options.reserved >= 0 or options.segments is None:
            return -1
        if (number := self._numbers.get(request.storage_class)) is None:
            number = self._numbers[request.storage_class] = len(self.segments)
            self._add_class(request.storage_class, options.segments)
        return number

    def _add_class(self, name: str, segments: Segments) -> None:
        free = [*segments.capacities]
        for (storage_class, node), size in self._state.provisioned.items():
            if storage_class == name and (at := int(segments.of_node[node])) >= 0:
                free[at] -= size
        self.classes.append(name)
        self.segments.append(segments)
        self.free.append(free)


class StorageInUse:
    """Storage that some pods use."""

    def __init__(self, sums: StorageSums) -> None:
        self._sums = sums
        self._used: Counter[tuple[int, int]] = Counter()
        self._users: Counter[str] = Counter()

    @property
    def exceeded(self) -> bool:
        """Return whether more is used than is free."""
        return any(used > self._sums.free[number][at] for (number, at), used in self._used.items() if used)

    def add(self, demand: StorageDemand, node: int, amount: int) -> None:
        """Add a pod with *demand* on *node*, or (*amount* -1) remove it."""
        for number, size in demand.own:
            self._use(number, node, amount * size)
        for claim, number, size in demand.shared:
            before = self._users[claim]
            self._users[claim] += amount
            if not before or not self._users[claim]:
                self._use(number, node, amount * size)

    def add_pods(self, pods: Iterable[tuple[PodRecord, int]]) -> bool:
        """Add *pods* on their nodes; return False, and add none of them, if they need more than is free."""
        demands = [(self._sums.demand_of(pod), node) for pod, node in pods]
        for demand, node in demands:
            self.add(demand, node, 1)
        if not self.exceeded:
            return True
        for demand, node in reversed(demands):
            self.add(demand, node, -1)
        return False

    def suffices(self, demand: StorageDemand, nodes: Nodes) -> Bools:
        """Return which of *nodes* have enough for one more pod with *demand*; shape (nodes,)."""
        sizes = Counter(dict(demand.own))
        for claim, number, size in demand.shared:
            sizes[number] += 0 if self._users[claim] else size
        able: Bools = np.ones(len(nodes), dtype=bool)
        for number, size in sizes.items():
            at = self._sums.segments[number].of_node[nodes]
            enough = [size <= self._left(number, each) for each in range(len(self._sums.free[number]))]
            able &= (at < 0) | np.array([*enough, True])[at]
        return able

    def most(self, demand: StorageDemand, slots: Iterable[tuple[int, int]]) -> int:
        """Return an upper bound of the pods with *demand* on nodes that have at most *slots*: pairs of a node and a number."""
        slots = [*slots]
        bound = sum(count for _, count in slots)
        for number, size in demand.own:
            of_node = self._sums.segments[number].of_node
            by_segment: Counter[int] = Counter()
            for node, count in slots:
                by_segment[int(of_node[node])] += count
            bound = min(bound, sum(min(count, self._left(number, at) // size) if at >= 0 else count for at, count in by_segment.items()))
        return bound

    def by_node(self) -> Counter[tuple[str, int]]:
        """Return the bytes in use by storage class and the first node of their segment."""
        used = {
            (self._sums.classes[number], int((self._sums.segments[number].of_node == at).argmax())): size
            for (number, at), size in self._used.items()
        }
        return Counter(used)

    def _left(self, number: int, at: int) -> int:
        return max(0, self._sums.free[number][at] - self._used[number, at])

    def _use(self, number: int, node: int, size: int) -> None:
        if (at := int(self._sums.segments[number].of_node[node])) >= 0:
            self._used[number, at] += size
