"""Pods that change because other objects change: claims, volumes, devices, drivers, and other pods with the same claims and volumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi.gather import Name
from scheduler_core.cluster.device_store import DeviceChange
from scheduler_core.cluster.volume_store import VolumeChange
from scheduler_core.loading.parsed_pods import NOTHING_ATTACHED
from scheduler_core.sidecar.cache.cluster_changes import ChangeReporter
from scheduler_core.sidecar.cache.node_usage import NodeUsage
from scheduler_core.sidecar.cache.pod_cache import LivePod, PodCache
from scheduler_core.sidecar.cache.pod_reader import PodReader
from scheduler_core.sidecar.cache.volume_cache import VolumeCache


class SharedDeviceClaims:
    """Keys of the ResourceClaims that several pods without a node use."""

    def __init__(self, pods: PodCache) -> None:
        self._pods = pods

    def __contains__(self, key: object) -> bool:
        namespace, _, name = str(key).partition("/")
        return (namespace, name) in self._pods.of_device_claims


class PodUpdates:
    """Updates pods and nodes of *usage* after changes of *volumes*, and of pods that share volumes."""

    def __init__(self, usage: NodeUsage, volumes: VolumeCache, reader: PodReader, reporter: ChangeReporter) -> None:
        self._usage, self._volumes, self._reader, self._reporter = usage, volumes, reader, reporter
        self.shared = usage.pods.of_claims

    def apply(self, change: VolumeChange) -> None:
        """Update nodes and pods after a change of objects about volumes."""
        for node in change.nodes:
            if self._usage.update_attach_limits(node, drivers=change.drivers):
                self._reporter.attached_volumes(node, helps=change.frees)
        if change.storage:
            self._usage.storage.classes_changed()
        self._usage.storage.volumes_changed(change.volumes)
        self._reporter.claims(change.claims)
        if (change.storage or change.volumes) and self._usage.pods.with_delayed_claims:
            self._reporter.storage(helps=change.storage or change.offers)
        # A new attachment takes the place of the volume of its pod, and frees nothing.
        disks = self._usage.pods.with_disks if change.disks else ()
        self._update((*self._users_of(change.claims), *disks), frees=change.frees or not change.nodes)

    def apply_devices(self, change: DeviceChange) -> None:
        """Update pods and nodes after a change of objects about devices."""
        if change.resources is not None:
            self._usage.set_device_resources(change.resources)
        if change.frees:
            self._reporter.devices()
        self._usage.levels.slices_changed(change.moved)
        if self._usage.levels.attributes:
            for node in self._usage.nodes.nodes if "" in change.moved else sorted(change.moved):
                self._reporter.node(node)
        pods = self._usage.pods
        keys = dict.fromkeys(pod.key for claim in sorted(change.claims) for pod in pods.of_device_claims.pods(claim))
        keys |= dict.fromkeys("/".join(pod) for pod in sorted(change.pods))
        keys |= dict.fromkeys(pod.key for group in sorted(change.groups) for pod in pods.members(*group) if pod.parsed_pod.entries)
        self._update((*keys, *(pods.with_device_claims if change.classes else ())))

    def namespace_changed(self, changed: bool) -> None:  # noqa: FBT001 - the result of a change
        """Report that the labels of a namespace *changed*, if a namespace selector reads them."""
        if changed and self._usage.affinity.namespace_changed():
            self._reporter.namespaces()

    def group_changed(self, kind: str, name: Name) -> None:
        """Update the pods of a PodGroup: claims can have been created for it."""
        members = self._usage.pods.members(*name) if kind == "PodGroup" else ()
        self._update([pod.key for pod in members if pod.parsed_pod.entries and not pod.parsed_pod.node])

    def pod_changed(self, pod: str, before: LivePod | None, after: LivePod | None) -> None:
        """Update the pods that share claims or volumes with *pod*, which was added, changed (both) or removed."""
        if all(each is None or each.parsed_pod.attached is NOTHING_ATTACHED for each in (before, after)):
            return
        pods = self._usage.pods
        claims = {(each.name[0], claim.name) for each in (before, after) if each is not None for claim in each.parsed_pod.claims}
        self._reporter.claims(each for each in claims & self._reporter.selected.keys() if not pods.of_claims.pods(each))
        shared = [key for index in (pods.of_claims, pods.of_device_claims) for key in index.shared_anew(before, after)]
        self._update((*shared, *self._other_users(pod, before, after)))

    def forget(self, pod: LivePod | None) -> None:
        """Record that a pod uses no volume any more."""
        if pod is not None:
            self._volumes.users.remove(pod.key, pod.parsed_pod.uses)

    def _users_of(self, claims: Iterable[Name]) -> Iterator[str]:
        return (pod.key for claim in claims for pod in self._usage.pods.of_claims.pods(claim))

    def _update(self, keys: Iterable[str], *, frees: bool = True) -> None:
        """Update the pods whose requirements on nodes have changed, and pods that use the same volumes.

        Changed pods are reported; those with a node only if the change *frees* volumes there.
        """
        pending = dict.fromkeys(keys)
        while pending:
            key, _ = pending.popitem()
            if (before := self._usage.pods.pods.get(key)) is None:
                continue
            if (after := self._reader.updated(before, self._volumes.objects, self.shared)) is not None:
                old_node = self._usage.node_of(before)
                self._usage.add_or_update_pod(after)
                if frees or not old_node:
                    self._reporter.pod(before, after, old_node)
                pending |= dict.fromkeys(self._other_users(key, before, after))
                pending |= dict.fromkeys(self._usage.pods.of_device_claims.shared_anew(before, after))

    def _other_users(self, pod: str, before: LivePod | None, after: LivePod | None) -> Iterator[str]:
        """Yield the other pods whose volumes count differently because *pod* was *before* and is *after*, None if it does not exist."""
        old, new = (dict.fromkeys(each.parsed_pod.uses, each.parsed_pod.node) if each is not None else {} for each in (before, after))
        for volume in {**old, **new}:
            yield from self._volumes.users.affected(volume, pod, old.get(volume), new.get(volume))
