"""Pods by node and the resources they use: as reported by the watch, with assumed changes.

Every change of a pod first removes its old usage and then adds the new one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator

from kubeapi.meta import replaced
from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.cluster.node_store import NodeChange
from scheduler_core.loading.build_pod_records import record_of
from scheduler_core.loading.build_pod_shapes import scored_images
from scheduler_core.loading.parsed_pod_specs import ParsedPodSpec
from scheduler_core.loading.parsed_pods import requested_rows
from scheduler_core.model.names import HOSTNAME
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile
from scheduler_core.sidecar.cache.claim_rows import ClaimRows
from scheduler_core.sidecar.cache.device_cache import DeviceCache
from scheduler_core.sidecar.cache.group_cache import GroupCache
from scheduler_core.sidecar.cache.live_devices import LiveDevices
from scheduler_core.sidecar.cache.live_levels import LiveLevels
from scheduler_core.sidecar.cache.live_storage import LiveStorage
from scheduler_core.sidecar.cache.node_cache import NodeCache
from scheduler_core.sidecar.cache.placement_state import LivePlacementState
from scheduler_core.sidecar.cache.pod_affinity import PodAffinityCache
from scheduler_core.sidecar.cache.pod_cache import Ended, LivePod, PodCache, pinned_hostname
from scheduler_core.sidecar.cache.shape_cache import ShapeCache
from scheduler_core.sidecar.cache.volume_cache import VolumeCache


class NodeUsage:
    """Pods on nodes, and the resources they use.

    Attributes:
        nodes: the nodes.
        pods: the pods that have not ended.
        affinity: pod counts for affinity and topology spread.
        storage: volumes for claims without a volume.
        devices: devices for claims that are not allocated.
        levels: topology levels by attributes of devices.

    """

    def __init__(
        self,
        groups: GroupCache,
        volumes: VolumeCache,
        pods: PodCache,
        devices: DeviceCache,
        device_topology: Iterable[str] = (),
        behavior: SchedulerBehavior = KUBERNETES_1_37,
    ) -> None:
        self.nodes, self.pods = NodeCache(volumes.attach, behavior), pods
        self.affinity = PodAffinityCache()
        self.storage, self.devices = LiveStorage(volumes), LiveDevices(devices, self._is_running)
        self.levels = LiveLevels(self.devices, device_topology)
        self._groups = groups
        self._ungates, self._binds = False, ""
        self._placement_state: LivePlacementState | None = None
        """None after a node or resource was added or removed."""
        self._stale = False
        """True if a node changed since the placement state was built."""
        self._shapes = ShapeCache()
        self._claim_rows = ClaimRows(self.storage, self.devices, pods, self._shapes)
        self._images: set[str] = set()
        """Names of images that a known pod has, or had since the placement state was built."""
        self._new_images = False
        """Whether a name was added that a node reports."""

    def set_options(self, *, ungates: bool, binds: str = "", profile: SchedulerProfile = DEFAULT_PROFILE) -> None:
        """Set whether pods with only our scheduling gate count as ungated, and pinned pods as assigned to their node; and the profile.

        Pods of the scheduler *binds* are bound by us: once ungated they are pending like other pods, and fit only on the pinned node.
        """
        if (ungates, binds, profile) != (self._ungates, self._binds, self._shapes.profile):
            self._ungates, self._binds, self._shapes.profile = ungates, binds, profile
            self._placement_state, self.nodes.scored_resources = None, profile.scored_resources
            self.invalidate_records()

    def node_of(self, pod: LivePod) -> str:
        """Return the node on which the pod counts; empty while it is pending."""
        if pod.parsed_pod.node:
            return pod.parsed_pod.node
        if pod.assumed in self.nodes.nodes:
            return pod.assumed
        # Any user with permission to create pods can write this annotation: it counts only in mode ungate.
        read = self.nodes.nodes.get(pod.pinned_node) if self._ungates and pod.parsed_pod.scheduler != self._binds else None
        host = read.labels.get(HOSTNAME, "") if read is not None else ""
        return pod.pinned_node if host and host == pinned_hostname(pod) else ""

    def is_counted(self, pod: LivePod) -> bool:
        """Return whether the pod is counted: a pod on a node that does not exist is not."""
        return not pod.parsed_pod.node or pod.parsed_pod.node in self.nodes.nodes

    def record(self, pod: LivePod) -> PodRecord:
        """Return the record of a counted pod for placement; requires an up-to-date placement state."""
        if (record := pod.record) is None:
            record = pod.record = self._record(pod, self.placement_state().nodes)
        return record

    def add_or_update_pod(self, pod: LivePod) -> LivePod | None:
        """Add or replace *pod* and return the pod that it replaces, if any."""
        if (before := self.pods.add_or_update(pod)) is not None:
            self._uncount(before)
            self._claim_rows.count(before, -1)
            pod.keep_assumed(before)
        self._claim_rows.count(pod, 1)
        self.devices.pod_changed(pod.key)
        self._count(pod)
        return before

    def remove_pod(self, key: str) -> LivePod | None:
        """Remove a pod and return it, if it existed."""
        if (before := self.pods.remove(key)) is not None:
            self._uncount(before)
            self._claim_rows.count(before, -1)
            self.devices.pod_changed(key)
        return before

    def end(self, ended: Ended) -> LivePod | None:
        """Record that a pod has ended and return its last state, if it was known."""
        before = self.remove_pod(ended.key)
        self.pods.end(ended)
        return before

    def changed(self, pod: LivePod) -> None:
        """Update *pod* after a change of its assumed state."""
        self._uncount(pod)
        self.devices.pod_changed(pod.key)
        pod.record = None
        self._count(pod)

    def node_changed(self, change: NodeChange) -> None:
        """Update the placement state after a change of a node."""
        self._stale |= change.differs
        if change.added or change.removed:
            self._placement_state = None

    def update_attach_limits(self, node: str, *, drivers: bool) -> bool:
        """Update the number of volumes that *node* can attach, and its *drivers* if they changed; return whether the node exists."""
        if (state := self._placement_state) is not None and (column := state.nodes.index.get(node)) is not None:
            state.set_attach_limits(column, self.nodes.attach.amounts(node), drivers=drivers)
        return node in self.nodes.nodes

    def set_device_resources(self, names: Container[str]) -> None:
        """Set the extended resources that devices provide on nodes without them."""
        self.nodes.device_resources, self._placement_state = names, None

    def invalidate_records(self) -> None:
        """Drop the cached records of all pods, because priority classes changed."""
        for pod in self.pods.pods.values():
            pod.record = None

    def placement_state(self) -> LivePlacementState:
        """Return the nodes and their usage, rebuilt if needed."""
        if self._placement_state is not None:
            self._stale |= self.levels.differ(self._placement_state.nodes)
        if self._placement_state is None or (self._stale and not self._rebuild_in_place(self._placement_state)):
            self._build()
        elif self._new_images or not self.nodes.changed_images.isdisjoint(self._images):
            self._update_images(self._placement_state)
        self._stale = False
        if (state := self._placement_state) is None:
            raise RuntimeError("internal error: the placement state was just built")
        if not self._claim_rows.update_devices(state, self.changed):
            state = self._build()
        self._claim_rows.update_volumes(state, self._uncount, self.changed)
        return state

    def shape(self, form: ParsedPodSpec) -> PodShape | None:
        """Return the shape of pods of *form*; None if it requests a resource that no node has and no known pod requests."""
        nodes = self.placement_state().nodes
        return self._shapes.get(form, (), nodes) if all(nodes.row.has(name) for name, _ in form.demand.requests) else None

    def records(self) -> Iterator[PodRecord]:
        """Return the records of all counted pods."""
        return (self.record(pod) for pod in self.pods.pods.values() if self.is_counted(pod))

    def affinity_records(self) -> Iterator[PodRecord]:
        """Return the same records, and remember them as counted for affinity."""
        for pod in self.pods.pods.values():
            if self.is_counted(pod):
                pod.affinity_record = self.record(pod)
                yield pod.affinity_record

    def sweep(self, forms: set[ParsedPodSpec]) -> None:
        """Remove the shapes that no pod has; *forms* are the forms of existing pods."""
        self.affinity.sweep(self._shapes.sweep(forms))
        if self._placement_state is not None:
            self._placement_state.profiles.clear()

    def _rebuild_in_place(self, before: LivePlacementState) -> bool:
        """Rebuild the node table, keep the counted pods, and return True; return False if the names of nodes or resources changed."""
        if (table := self.nodes.table_like(before.nodes, self._images)) is None:
            return False
        self._new_images = False
        self.levels.set_on(table)
        self._placement_state = dataclasses.replace(LivePlacementState.from_nodes(table), requested=before.requested)
        self.affinity.recount()
        self._stale = False
        self._recount_pods_with(before.nodes.reported.keys() ^ table.reported.keys())
        for pod in list(self.pods.assumed_or_pinned.values()):
            self.changed(pod)
        return True

    def _update_images(self, state: LivePlacementState) -> None:
        """Set the images of the nodes; it changes no feasibility, so the rest of the placement state is kept."""
        before = state.nodes.reported.keys()
        self.nodes.report_images(state.nodes, self._images, changed_nodes=not self._new_images)
        self._new_images = False
        state.profiles.clear()
        self._recount_pods_with(before ^ state.nodes.reported.keys())

    def _recount_pods_with(self, images: set[str]) -> None:
        """Count the pods again that have one of *images*: their shapes changed."""
        for pod in [each for each in self.pods.pods.values() if not images.isdisjoint(each.parsed_pod.images)] if images else ():
            self.changed(pod)

    def _build(self) -> LivePlacementState:
        self._images = {name for images in {pod.parsed_pod.images for pod in self.pods.pods.values()} for name in images}
        self.devices.nodes_changed()
        table = self.nodes.table(requested_rows(pod.parsed_pod for pod in self.pods.pods.values()), self._images)
        self._new_images = False
        self.levels.set_on(table)
        self._claim_rows.add_to(table)
        state, self._stale = LivePlacementState.from_nodes(table), False
        self._claim_rows.fill(state)
        self._placement_state = state
        self._shapes.clear()
        self.affinity.reset()
        self.pods.nominated.clear()
        for pod in self.pods.pods.values():
            pod.record = pod.counted = pod.affinity_record = None
            self._count_on(state, pod)
        return state

    def _is_running(self, key: str) -> bool:
        """Return whether the pod with *key* counts on a node."""
        pod = self.pods.pods.get(key)
        return pod is not None and self.is_counted(pod) and bool(self.node_of(pod))

    def _count(self, pod: LivePod) -> None:
        if self._placement_state is not None:
            self._count_on(self._placement_state, pod)

    def _count_on(self, state: LivePlacementState, pod: LivePod) -> None:
        self.pods.index_assumed_or_pinned(pod)
        if not self.is_counted(pod):
            return
        form, nodes = pod.parsed_pod.form, state.nodes
        images = scored_images(pod.parsed_pod.images, nodes)
        for name in pod.parsed_pod.images:
            if name not in self._images:
                self._images.add(name)
                self._new_images |= name in self.nodes.image_counts
        if ((form, images) not in self._shapes or pod.parsed_pod.named_volumes) and not all(
            map(nodes.row.has, requested_rows([pod.parsed_pod]))
        ):
            # A resource that no pod requested before adds a row to the node table.
            self._placement_state = None
            return
        shape, node = self._shapes.get(form, images, nodes), nodes.index.get(self.node_of(pod), -1)
        if node >= 0:
            state.requested.add(shape, node, 1)
        elif pod.nominated in nodes.index and not pod.parsed_pod.terminating and not pod.deletion_assumed:
            self.pods.nominated[pod.key] = pod
        self.affinity.count(shape, 1)
        if self.affinity.counting:
            # ``record`` would update the state first, and count the pod twice.
            pod.affinity_record = pod.record = pod.record or self._record(pod, nodes)
            self.affinity.add_pod(pod.affinity_record)
        pod.counted, pod.counted_node = shape, node

    def _uncount(self, pod: LivePod) -> None:
        shape, node, affinity_record = pod.counted, pod.counted_node, pod.affinity_record
        pod.counted = pod.affinity_record = None
        self.pods.nominated.pop(pod.key, None)
        if shape is None or self._placement_state is None:
            return
        if node >= 0:
            self._placement_state.requested.add(shape, node, -1)
        self.affinity.count(shape, -1)
        if affinity_record is not None:
            self.affinity.remove_pod(affinity_record)

    def _record(self, pod: LivePod, nodes: NodeTable) -> PodRecord:
        parsed_pod = pod.parsed_pod
        rank = self._groups.priorities.rank(parsed_pod.priority, parsed_pod.class_name, parsed_pod.policy)
        node, nominated = nodes.index.get(self.node_of(pod), -1), nodes.index.get(pod.nominated, -1)
        shape = self._shapes.get(parsed_pod.form, scored_images(parsed_pod.images, nodes), nodes)
        record = pod.with_assumed(record_of(parsed_pod, shape, rank, node=node, nominated=nominated))
        return replaced(record, gates=()) if self._ungates and parsed_pod.gates == (PLACEMENT_GATE,) else record
