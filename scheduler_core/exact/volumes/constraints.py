"""Volumes, claims and disks that the pods of a root compete for, if requests do not count them.

A claim can have one of several free volumes, or a volume is provisioned for it on a node.  All pods that use a claim must reach its volume,
or be on the node for which it is provisioned.  A ReadWriteOncePod claim has one user.  A volume that several pods use counts once against
the limit of a node.  Two pods on a node must not have conflicting inline disks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.exact.volumes.claim_volumes import ClaimVolumes, claim_volumes
from scheduler_core.exact.volumes.matching import Item, Matching, volumes_in
from scheduler_core.exact.volumes.storage_sums import StorageSums
from scheduler_core.model.attach_limits import row_name
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.volume_users import Disk, VolumeKey
from scheduler_core.model.volumes import ClaimName
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.assumed_volumes import PROVISIONED
from scheduler_core.plugins.claim_allocation import requests_count
from scheduler_core.plugins.dynamic_resources import DeviceAllocation
from scheduler_core.plugins.volume_binding import VolumeMatching
from scheduler_core.plugins.volume_counts import VolumeCounts


class VolumeDemand(Record, frozen=True):
    """Demand of one pod.

    Attributes:
        own: claims that no other pod uses: index of the claim's volumes, and number of these claims.
        shared: claims that several pods use, by the index of the claim's volumes.
        single: ReadWriteOncePod claims that other pods name too.
        attached: volumes that count once on a node, with the row of their limit.
        disks: inline disks.

    """

    own: tuple[tuple[int, int], ...] = ()
    shared: tuple[int, ...] = ()
    single: tuple[ClaimName, ...] = ()
    attached: tuple[tuple[int, VolumeKey], ...] = ()
    disks: tuple[Disk, ...] = ()

    def __bool__(self) -> bool:
        """Return whether it demands anything."""
        return bool(self.own or self.shared or self.single or self.attached or self.disks)

    @property
    def alone(self) -> bool:
        """Return whether a node, or the cluster, can have only one of these pods."""
        return bool(self.single) or any(disk.conflicts(disk) for disk in self.disks)


class VolumeConstraints:
    """Constraints on *pods*, one for each shape, in the present state; with *members* only these running pods use volumes.

    An eviction frees no volume, so the volumes that earlier pods have taken are taken in any case.

    Attributes:
        claims: volumes of each distinct claim specification; of a claim that several pods use, of that claim.
        several: volumes that more than one node reaches.
        counts: volumes in use by node.
        sums: storage capacity that claims use together.

    """

    def __init__(self, state: PlacementState, pods: Iterable[PodRecord], members: Sequence[PodRecord] | None = None) -> None:
        self._table = state.nodes
        self._storage = state.nodes.storage
        self._matching = next((each for each in state.stateful.plugins if isinstance(each, VolumeMatching)), None)
        self.counts = _counts(state, members)
        self._present = _counts(state, None).shared
        self.claims: list[ClaimVolumes] = []
        self._numbers: dict[ClaimRequest, int] = {}
        pods = [*pods]
        self._demands = {pod.shape.serial: self._demand(pod) for pod in pods}
        self.sums = StorageSums(state, pods, lambda claim: -1 if self._matching is None else self._matching.selected_node(claim))
        self.several = self._several()

    def demand(self, shape: PodShape) -> VolumeDemand:
        """Return the demand of a pod of *shape*."""
        return self._demands[shape.serial]

    def couples(self, shape: PodShape) -> bool:
        """Return whether the volumes of a pod of *shape* depend on those of other pods."""
        return bool(self.demand(shape) or self.sums.demand(shape))

    def items(self, demand: VolumeDemand, node: int, count: int) -> Iterator[Item]:
        """Yield the own claims of *count* pods with *demand* on *node* that need an existing volume."""
        for claim, own in demand.own if count else ():
            volumes = self.claims[claim]
            if not volumes.provisioned[node]:
                yield Item(count * own, ((volumes.on(node), count * own),))

    def rows(self) -> set[int]:
        """Return the rows of the limits of volumes that several pods use."""
        return {row for demand in self._demands.values() for row, _ in demand.attached}

    def present(self, node: int) -> Collection[VolumeKey]:
        """Return the volumes that running pods use on *node*: they need no more unit of its limit.

        With ``members`` that includes the volumes of all other pods, because those pods can stay when others are evicted.
        """
        return self._present.get(node, {}).keys()

    def attachments(self, node: int) -> Collection[VolumeKey]:
        """Return the volumes with a VolumeAttachment to *node*: its limit is smaller by them."""
        return self._table.attach.attached(self._table.names[node])

    def attached(self, row: int) -> Ints:
        """Return the volumes that pods on a node share and that count against the limit *row*; shape (nodes,)."""
        counts: Ints = np.zeros(len(self._table), dtype=np.int64)
        if driver := self._table.limit_rows.get(row):
            for node, shared in self.counts.shared.items():
                counts[node] = sum(volume[0] == driver and volume not in self.attachments(node) for volume in shared)
        return counts

    def most(self, shape: PodShape) -> Ints | None:
        """Return an upper bound of the pods of *shape* on each node by itself; shape (nodes,); None if there is none."""
        if not (demand := self.demand(shape)):
            return None
        bound: Ints = np.full(len(self._table), 1 if demand.alone else np.iinfo(np.int64).max)
        for number, count in demand.own:
            bound = np.minimum(bound, self._reached(number) // count)
        for number in demand.shared:
            bound = np.where(self._reached(number) > 0, bound, 0)
        if any(self.counts.users(*claim) for claim in demand.single):
            bound = np.zeros_like(bound)
        if demand.disks:
            bound[self.counts.nodes_in_conflict(demand.disks)] = 0
        return bound

    def node_classes(self) -> Ints:
        """Return equal numbers for nodes that can be exchanged without any change to volumes and disks; shape (nodes,)."""
        kinds = self._kinds_of_local_volumes()
        numbers: dict[object, int] = {}
        classes: Ints = np.zeros(len(self._table), dtype=np.int64)
        shared = {each for demand in self._demands.values() for _, each in demand.attached}
        for node in range(len(self._table)):
            reached = [each.on(node) for each in self.claims]
            here = 0
            for mask in reached:
                here |= mask
            in_use = shared.intersection(self.present(node))
            attached = shared.intersection(self.attachments(node))
            key = (
                tuple(mask & self.several for mask in reached),
                tuple(sorted(kinds[volume] for volume in volumes_in(here & ~self.several))),
                tuple(bool(each.provisioned[node]) for each in self.claims),
                frozenset(in_use),
                frozenset(attached),
                frozenset(self.counts.disks.get(node, ())),
                tuple(int(each.of_node[node]) for each in self.sums.segments),
            )
            classes[node] = numbers.setdefault(key, len(numbers))
        return classes

    def choose(self, pods: Iterable[tuple[PodRecord, int]]) -> dict[ClaimName, int] | None:
        """Return the volume of each claim of *pods* on their nodes, PROVISIONED for one to be provisioned; None if that is impossible.

        Claims that requests count, or whose volumes do not depend on other pods, are left out.
        """
        nodes: dict[ClaimName, tuple[int, set[int]]] = {}
        for pod, node in pods:
            requests = (need.request for need in pod.shape.volumes if need.request is not None)
            for name, request in zip(pod.delayed_claims, requests, strict=False):
                if (number := self._numbers.get(request)) is not None:
                    nodes.setdefault((pod.namespace, name), (number, set()))[1].add(node)
        names = [*nodes]
        items = [Item(1, ((self.common(number, reaching), 1),)) for number, reaching in nodes.values()]
        matching = Matching(items)
        optional = [self.provisions(number, reaching) for number, reaching in nodes.values()]
        if not all(matching.add(number) for number, each in enumerate(optional) if not each):
            return None
        for number in (number for number, each in enumerate(optional) if each):
            matching.add(number)
        return {**dict.fromkeys(names, PROVISIONED), **{names[item]: volume for item, volume in matching.volumes()}}

    def common(self, number: int, nodes: Iterable[int]) -> int:
        """Return the volumes that all of *nodes* reach."""
        mask = -1
        for node in nodes:
            mask &= self.claims[number].on(node)
        return mask

    def provisions(self, number: int, nodes: Iterable[int]) -> bool:
        """Return whether a volume that is provisioned serves all of *nodes*."""
        first, *others = {*nodes}
        return not others and bool(self.claims[number].provisioned[first])

    def _demand(self, pod: PodRecord) -> VolumeDemand:
        own: dict[int, int] = {}
        shared: list[int] = []
        enabled = pod.shape.profile.filters
        for request in self._dependent(pod.shape) if enabled("VolumeBinding") else ():
            if (number := self._numbers.get(request)) is None:
                number = self._numbers[request] = len(self.claims)
                self.claims.append(claim_volumes(request, self._table, self._matching))
            if request.shared:
                shared.append(number)
            else:
                own[number] = own.get(number, 0) + 1
        named = pod.named_volumes
        limited = ((self._table.row[row_name(volume[0])], volume) for volume in named.shared)
        return VolumeDemand(
            tuple(sorted(own.items())),
            tuple(dict.fromkeys(shared)),
            tuple((pod.namespace, claim) for claim in named.claims) if enabled("VolumeRestrictions") else (),
            tuple(limited) if enabled("NodeVolumeLimits") else (),
            named.disks if enabled("VolumeRestrictions") else (),
        )

    def _dependent(self, shape: PodShape) -> list[ClaimRequest]:
        """Return the claims of *shape* whose volumes depend on other pods and are not counted."""
        storage = self._storage
        requests = [need.request for need in shape.volumes if need.request is not None]
        return [each for each in requests if storage is not None and not storage.counted([each])]

    def _reached(self, number: int) -> Ints:
        """Return how many claims of one specification a node can serve; shape (nodes,)."""
        claim = self.claims[number]
        reached: Ints = np.full(len(self._table), claim.everywhere.bit_count(), dtype=np.int64)
        for node in claim.on_node:
            reached[node] = claim.on(node).bit_count()
        return np.where(claim.provisioned, np.iinfo(np.int64).max, reached)

    def _several(self) -> int:
        """Return the volumes that more than one node reaches."""
        once = twice = 0
        for claim in self.claims:
            seen = 0
            twice |= claim.everywhere
            for mask in claim.on_node.values():
                twice |= seen & mask
                seen |= mask
            once |= seen
        return twice

    def _kinds_of_local_volumes(self) -> dict[int, tuple[int, ...]]:
        """Return the claims that each volume of one node can serve."""
        kinds: dict[int, list[int]] = {}
        for number, claim in enumerate(self.claims):
            for mask in claim.on_node.values():
                for volume in volumes_in(mask & ~self.several):
                    kinds.setdefault(volume, []).append(number)
        return {volume: tuple(numbers) for volume, numbers in kinds.items()}


def volume_constraints(
    state: PlacementState, pods: Iterable[PodRecord], members: Sequence[PodRecord] | None = None
) -> VolumeConstraints | None:
    """Return the constraints on *pods*, one for each shape; None if requests count all volumes."""
    pods, storage = [*pods], state.nodes.storage
    plugins = [plugin for plugin in state.stateful.plugins if plugin.searched and not isinstance(plugin, DeviceAllocation)]
    related = any(not requests_count(plugin, pod) for plugin in plugins for pod in pods if plugin.touches(pod))
    requests = (need.request for pod in pods for need in pod.shape.volumes if need.request is not None)
    if related or (storage is not None and any(storage.options(each).segments for each in requests)):
        constraints = VolumeConstraints(state, pods, members)
        return constraints if related or constraints.sums else None
    return None


def _counts(state: PlacementState, members: Sequence[PodRecord] | None) -> VolumeCounts:
    if members is None:
        return next((plugin.counts.volumes for plugin in state.stateful.plugins), VolumeCounts(state.nodes))
    counts = VolumeCounts(state.nodes)
    for pod in members:
        counts.count(pod, pod.node, 1)
    return counts
