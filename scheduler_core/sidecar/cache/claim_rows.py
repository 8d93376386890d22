"""Rows of a live node table that count volumes and devices, and the pods whose shapes depend on them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from scheduler_core.loading.parsed_pod_specs import ParsedPodSpec
from scheduler_core.model.nodes import NodeTable
from scheduler_core.sidecar.cache.live_devices import LiveDevices
from scheduler_core.sidecar.cache.live_storage import LiveStorage
from scheduler_core.sidecar.cache.placement_state import LivePlacementState
from scheduler_core.sidecar.cache.pod_cache import LivePod, PodCache
from scheduler_core.sidecar.cache.shape_cache import ShapeCache


class ClaimRows:
    """Rows for the claims of *pods*, whose shapes are *shapes*."""

    def __init__(self, storage: LiveStorage, devices: LiveDevices, pods: PodCache, shapes: ShapeCache) -> None:
        self._storage, self._devices = storage, devices
        self._pods, self._shapes = pods, shapes

    def count(self, pod: LivePod, amount: int) -> None:
        """Count the claims of a pod that is added, or with *amount* -1 removed."""
        self._storage.claims.count(pod.parsed_pod.form.requests(), amount)
        self._devices.count(pod.parsed_pod, amount)

    def add_to(self, table: NodeTable) -> None:
        """Add the rows to *table*, which has none."""
        if self._pods.with_device_claims:
            self._devices.update(table)
        table.add_device_rows(self._devices.names)
        if self._pods.with_device_claims:
            self._devices.fill(table)
        if self._pods.with_delayed_claims:
            table.count_volumes(self._storage.update(table).numbers)

    def fill(self, state: LivePlacementState) -> None:
        """Set how many devices are in use, after ``add_to``."""
        if self._pods.with_device_claims:
            state.requested.set_devices(self._devices.in_use(state.nodes))

    def update_devices(self, state: LivePlacementState, change: Callable[[LivePod], None]) -> bool:
        """Update the rows of devices, and let *change* count the pods again whose shapes differ; return False if *state* lacks a row."""
        nodes = state.nodes
        if not self._pods.with_device_claims or not self._devices.is_stale(nodes):
            return True
        others = self._devices.update(nodes)
        if not all(name in nodes.row for name in self._devices.names):
            return False
        self._devices.fill(nodes)
        self.fill(state)
        if others:
            state.forget([each.serial for each in self._shapes.allocating()])
        forms = self._shapes.with_other_devices(nodes, lambda shape: self._devices.is_wanted(shape.devices))
        self._shapes.drop(forms)
        for pod in _of_forms(self._pods.with_device_claims.values(), forms):
            change(pod)
        return True

    def update_volumes(self, state: LivePlacementState, remove: Callable[[LivePod], None], change: Callable[[LivePod], None]) -> None:
        """Update the options of claims and the rows of volumes; pods whose shapes differ are counted again by *remove* and *change*."""
        nodes = state.nodes
        if not self._pods.with_delayed_claims or not self._storage.is_stale(nodes):
            return
        update = self._storage.update(nodes)
        state.forget([each.serial for each in self._shapes.of_forms(ParsedPodSpec.requests)])
        with_claims = filter(ParsedPodSpec.requests, self._shapes.forms())
        forms = {form for form in with_claims if update.claims is None or not update.claims.isdisjoint(form.requests())}
        pods = _of_forms(self._pods.with_delayed_claims.values(), forms)
        for pod in pods:
            # Its shape can name rows that are removed.
            remove(pod)
        before = len(nodes.volume_names)
        nodes.count_volumes(update.numbers)
        if update.claims is None:
            state.requested.replace_last_rows(before, len(nodes.volume_names))
        self._shapes.drop(forms)
        for pod in pods:
            change(pod)


def _of_forms(pods: Collection[LivePod], forms: Collection[ParsedPodSpec]) -> list[LivePod]:
    return [each for each in pods if each.parsed_pod.form in forms] if forms else []
