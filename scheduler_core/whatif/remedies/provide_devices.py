"""Changes that provide what the claims of a root to devices lack: tolerations, fewer conditions, the class that was meant, more devices."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence

from kubeapi.nodes import Taint
from scheduler_core.cluster.group_store import Key
from scheduler_core.loading.label_suggestions import similar_name
from scheduler_core.model.device_claims import DeviceNeed, DeviceObjects
from scheduler_core.model.device_pools import DevicePools, PoolDevice
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import Alternative, Request
from scheduler_core.model.nodes import Ints, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.devices.selection import AllocationError, Selection
from scheduler_core.plugins.devices.tolerations import tolerated
from scheduler_core.whatif.edits.device_edits import ClaimSource, LikeDevice, more_devices
from scheduler_core.whatif.edits.edited_objects import pod_of
from scheduler_core.whatif.edits.node_templates import section
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity

_TAINTS = 3
"""Maximum number of taints that are tolerated for a request."""
_MOST_PODS = 64
"""Maximum number of pods for which devices are added."""
_MOST_NODES = 256
"""Maximum number of nodes of a domain to which devices are added."""


class ProvidingDevices:
    """Tries changes of claims and of devices, and keeps those that work."""

    def __init__(self, finding: Finding, capacity: PresentCapacity) -> None:
        self._finding = finding
        self._capacity = capacity
        self._waiting = [pod for pod in finding.subject.waiting if any(need.allocates or need.refusal for need in pod.shape.devices)]

    def keep(self, most_areas: int) -> None:
        """Try all changes: those of claims first, then more devices in the domains with the most other capacity."""
        objects = self._capacity.snapshot.devices
        if not self._waiting or objects is None:
            return
        for source, need in self._sources():
            self._keep_relaxed(source, need, objects)
        for area in self._capacity.areas(most_areas, self._bare):
            self._keep_more(area, objects)

    @functools.cached_property
    def _bare(self) -> PodShape:
        """The shape of the first pod without its own devices; nodes that cannot use those of shared claims have no capacity for it."""
        return _without_own_devices(self._waiting[0].shape, self._capacity.snapshot.nodes)

    def _sources(self) -> Iterator[tuple[ClaimSource, DeviceNeed]]:
        """Yield the objects with the specifications of the claims that are not allocated, each once."""
        found: dict[tuple[str, str, str], tuple[dict[Key, None], DeviceNeed]] = {}
        for pod in self._waiting:
            entries = section(pod_of(self._capacity.book, pod.key) or {}, "spec").get("resourceClaims") or ()
            by_field = {f"spec.resourceClaims[{index}]": each for index, each in enumerate(entries)}
            for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False):
                if need.extended is not None or need.allocated is not None:
                    continue
                template = str(by_field[need.field].get("resourceClaimTemplateName") or "")
                # The key of a claim that does not exist yet has a colon.
                created = "" if ":" in claim.key else claim.key.rpartition("/")[2]
                key: Key = ("ResourceClaim", pod.namespace, created) if created else ("ResourceClaimTemplate", pod.namespace, template)
                about = ("ClaimOfTemplate", pod.namespace, template) if created and template else key
                found.setdefault(about, ({}, need))[0].setdefault(key)
        for keys, need in found.values():
            yield ClaimSource(tuple(keys)), need

    def _keep_relaxed(self, source: ClaimSource, need: DeviceNeed, objects: DeviceObjects) -> None:
        published = _Published(objects)
        if (spec := need.spec) is None:
            self._keep_known_classes(source, published)
            return
        for request in spec.requests:
            for taint in published.taints(request.alternatives[-1]):
                self._finding.keep_if_verified(source.tolerating(request.name, taint))
            if any(published.has_more(each) for each in request.alternatives):
                self._finding.keep_if_verified(source.without_selectors(request.name))
        for attribute in dict.fromkeys(each.attribute for each in spec.constraints):
            self._finding.keep_if_verified(source.without_constraint(attribute))

    def _keep_known_classes(self, source: ClaimSource, published: _Published) -> None:
        """Try classes with similar names for requests of a claim whose class does not exist; any other class is other hardware."""
        for request in source.devices(self._capacity.book).get("requests") or ():
            before = (request.get("exactly") or request).get("deviceClassName")
            if before and before not in published.classes and (similar := similar_name(str(before), published.classes)):
                self._finding.keep_if_verified(source.with_class(str(request.get("name")), str(before), similar))

    def _keep_more(self, area: DomainCapacity, objects: DeviceObjects) -> None:
        """Try more devices for the only request of the pods whose claim is not shared."""
        shape = self._waiting[0].shape
        requests = [each for need in shape.devices if not need.shared for each in _requests(need)]
        if len(area.nodes) > _MOST_NODES or any(pod.shape is not shape for pod in self._waiting):
            return
        for request in requests:
            alternative = request.alternatives[-1]
            if not alternative.every:
                numbers, like = self._missing(area, alternative, objects)
                if numbers:
                    self._finding.keep_if_verified(more_devices(numbers, like, alternative.device_class, area.domain))

    def _missing(
        self, area: DomainCapacity, alternative: Alternative, objects: DeviceObjects
    ) -> tuple[dict[str, int], Mapping[str, LikeDevice]]:
        """Return the devices that the nodes of *area* lack for the pods of the root: numbers, and what they are like, by node."""
        nodes, local = self._capacity.snapshot.nodes, _Local(self._capacity, objects)
        slots: Ints = self._capacity.slots(self._bare)
        known = {node: found for node in area.nodes.tolist() if (found := local.devices(node, alternative))}
        pods = {node: min(int(slots[node]), len(free) // alternative.count) for node, (free, _) in known.items()}
        missing = self._pods() - sum(pods.values())
        added: dict[int, int] = {}
        while missing > 0:
            # The node that needs the fewest devices for one more pod.
            choices = [
                (_lacking(known[node][0], pods[node] + 1, alternative, added.get(node, 0)), node)
                for node in known
                if pods[node] < slots[node]
            ]
            if not choices:
                return {}, {}
            more, node = min(choices)
            added[node], pods[node], missing = added.get(node, 0) + more, pods[node] + 1, missing - 1
        return {nodes.names[node]: number for node, number in added.items() if number}, {
            nodes.names[node]: known[node][1] for node in added
        }

    def _pods(self) -> int:
        """Return the number of pods that the root needs, at most ``_MOST_PODS``."""
        groups = [each for each in self._finding.subject.groups if each.waiting]
        needed = sum(max(each.minimum - each.members + len(each.waiting), 1) if each.gang else 1 for each in groups)
        return min(needed or 1, _MOST_PODS)


class _Published:
    """All devices, free or not: changes of claims are tried only if they select more of them.

    Attributes:
        classes: selectors of each device class, by name.

    """

    def __init__(self, objects: DeviceObjects) -> None:
        self._selection = Selection()
        self._devices = [
            PoolDevice((each.driver, each.pool, device.name), device.content, each) for each in objects.slices for device in each.devices
        ]
        self.classes: dict[str, tuple[str, ...]] = dict(sorted(objects.resources.values()))

    def taints(self, alternative: Alternative) -> list[Taint]:
        """Return taints of devices that *alternative* selects and does not tolerate, the first by key."""
        contents = (each.content for each in self._devices if _selects(self._selection, alternative, each))
        found = {each for content in contents for each in content.taints or () if not tolerated((each,), alternative.tolerations)}
        ordered = sorted(found, key=lambda each: (each.key, each.value, each.effect))
        return [Taint(each.key, each.effect, each.value) for each in ordered[:_TAINTS]]

    def has_more(self, alternative: Alternative) -> bool:
        """Return whether its class has devices that the selectors of *alternative* exclude."""
        of_class = dataclasses.replace(alternative, selectors=())
        return any(_selects(self._selection, of_class, each) and not _selects(self._selection, alternative, each) for each in self._devices)


class _Local:
    """Devices that belong to one node."""

    def __init__(self, capacity: PresentCapacity, objects: DeviceObjects) -> None:
        self._pools = DevicePools(capacity.snapshot.nodes, objects.slices)
        self._usage = DeviceUsage(objects.allocated.values())
        self._guards_shared_devices = capacity.snapshot.nodes.behavior.guards_shared_devices
        self._selection = Selection()
        self._slices = {(each.driver, each.pool, device.name): each.name for each in objects.slices for device in each.devices}

    def devices(self, node: int, alternative: Alternative) -> tuple[list[PoolDevice], LikeDevice] | None:
        """Return the free devices of *node* for *alternative*, and one that more can be like; None if it has no device of its own."""
        matching = [
            each
            for pool in self._pools.on(node)
            for each in pool.devices
            if each.published.node and _selects(self._selection, alternative, each)
        ]
        like = next((each for each in matching if not each.content.consumes_counters and not each.content.allow_multiple_allocations), None)
        if like is None:
            return None
        free = [each for each in matching if self._is_free(each) and tolerated(each.content.taints, alternative.tolerations)]
        return free, LikeDevice(self._slices[like.id], like.id[2])

    def _is_free(self, device: PoolDevice) -> bool:
        is_guarded = self._guards_shared_devices and not device.content.allow_multiple_allocations
        return not (self._usage.is_used(device.id) if is_guarded else self._usage.is_taken(device.id))


def _selects(selection: Selection, alternative: Alternative, device: PoolDevice) -> bool:
    try:
        return selection.selects(alternative, 0, device)
    except AllocationError:
        return False


def _lacking(free: Sequence[PoolDevice], pods: int, alternative: Alternative, added: int) -> int:
    return max(pods * alternative.count - len(free) - added, 0)


def _requests(need: DeviceNeed) -> Iterator[Request]:
    if need.spec is not None:
        yield from need.spec.requests
    if need.extended is not None:
        yield from (each for _, of_name in need.extended.requests for each in of_name)


def _without_own_devices(shape: PodShape, nodes: NodeTable) -> PodShape:
    """Return *shape* with the claims that pods share or that are allocated, and without requests for devices."""
    rows = nodes.counted.union(nodes.row[name] for name in nodes.backed)
    requests = tuple((row, amount) for row, amount in shape.requests if row not in rows)
    # Shapes of pods have numbers from 0.
    return dataclasses.replace(
        shape,
        serial=-1 - shape.serial,
        devices=tuple(each for each in shape.devices if each.shared or each.allocated is not None),
        requests=requests,
    )
