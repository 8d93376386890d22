"""Cache of the cluster: watched objects, with the assumed changes of writes in flight applied.

A snapshot equals the result of ``load`` for the same objects.  The data that a cycle needs is updated incrementally.  Nothing here raises
because of the content of an object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kubeapi import decode, gather
from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects, Unusable
from kubeapi.groups import Group
from kubeapi.problem import Problem
from kubeapi.versions.served_versions import Resource, closest, resources
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.live import Unlisted, UnlistedReason
from scheduler_core.cluster.device_store import DeviceChange
from scheduler_core.cluster.group_store import Key
from scheduler_core.cluster.label_stores import NamespaceStore, SelectorStore
from scheduler_core.cluster.node_store import NodeChange
from scheduler_core.cluster.store import Store
from scheduler_core.cluster.stores import Stores
from scheduler_core.cluster.volume_store import VolumeChange
from scheduler_core.model.names import Name as Root
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.volumes import VolumeObjects
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.state import NO_PLUGINS, PlacementState
from scheduler_core.sidecar.cache.api_groups import ApiGroups, IgnoredObject
from scheduler_core.sidecar.cache.cluster_changes import Before, ChangeReporter, only_status_changed
from scheduler_core.sidecar.cache.device_cache import DeviceCache
from scheduler_core.sidecar.cache.freshness import Freshness, Stamp, number, read_head
from scheduler_core.sidecar.cache.group_cache import GroupCache, LiveGroup
from scheduler_core.sidecar.cache.live_snapshot import LiveSnapshots
from scheduler_core.sidecar.cache.node_usage import NodeUsage
from scheduler_core.sidecar.cache.optional_watches import NOTHING, ON_DEMAND, OPTIONAL, NeededKinds, Reads
from scheduler_core.sidecar.cache.pod_cache import LivePod, PodCache
from scheduler_core.sidecar.cache.pod_reader import PodReader
from scheduler_core.sidecar.cache.pod_updates import PodUpdates, SharedDeviceClaims
from scheduler_core.sidecar.cache.volume_cache import VolumeCache
from scheduler_core.sidecar.writes import Ref

_OF_KINDS = {kind: resources(kind) for kind in gather.KINDS if kind != "ResourceClaimTemplate"}
RESOURCES = {each.name: each for of_kind in _OF_KINDS.values() for each in of_kind}
"""Resources that are watched, by name; a pod waits until its claims are created from templates."""
FROM_START = frozenset(name for name, each in RESOURCES.items() if each.kind not in ON_DEMAND)
"""Resources that are watched from the start."""

_FEW_FORMS = 2_000
"""Number of pod forms above which unused forms are removed."""


class Cache:
    """The objects of a cluster.

    Attributes:
        usage: pods, nodes, and the resources in use.
        group_cache: groups, Workloads, priority classes and disruption budgets.
        reporter: changes that can help a root.
        devices: claims to devices, and the devices.
        needed: kinds that must be listed for the decisions on a root.

    """

    def __init__(
        self,
        membership: tuple[str, ...] = (),
        reads: Reads = NOTHING,
        behavior: SchedulerBehavior = KUBERNETES_1_37,
    ) -> None:
        """Create an empty cache.

        Args:
            membership: labels that name the PodGroup of a pod that names none as in ``kubeapi.pods.group_name``; the first one present is used.
            reads: purposes for which kinds are needed.
            behavior: kube-scheduler that is mirrored.

        """
        self._api_versions = {name: closest(each.kind, each.group, "") for name, each in RESOURCES.items()}
        self._versions = {name: Freshness() for name in RESOURCES}
        self._unlisted = {*RESOURCES}
        self._groups = ApiGroups(_OF_KINDS, self._versions)
        self._sweep_at = _FEW_FORMS
        self._unusable: dict[Key, str] = {}
        self.group_cache = GroupCache()
        self._volumes = VolumeCache()
        qualifies = behavior.qualifies_capacities
        self.devices = DeviceCache(self.group_cache.entries, SharedDeviceClaims(pods := PodCache()), qualifies=qualifies)
        self.usage = NodeUsage(self.group_cache, self._volumes, pods, self.devices, reads.device_topology, behavior)
        self._reader = PodReader(membership, self.devices)
        self.reporter = ChangeReporter(self.usage, self.group_cache, self._volumes.selected)
        self.needed = NeededKinds(reads, self._volumes, self.group_cache, pods, self.reporter.kind)
        self._updates = PodUpdates(self.usage, self._volumes, self._reader, self.reporter)
        stores = Stores(self.usage.nodes, self.group_cache, self._volumes, SelectorStore(), NamespaceStore(), self.devices)
        self._stores: dict[str, Store[Any]] = {kind: each for each in stores.all() for kind in each.readers}
        self._snapshots = LiveSnapshots(self.usage, stores, self.group_cache, self._groups, self._unusable)

    @property
    def volumes(self) -> VolumeObjects:
        """Return the usable claims and volumes."""
        return self._volumes.objects

    @property
    def synced(self) -> bool:
        """Return whether every resource that is watched from the start is listed or not served."""
        return self._unlisted.isdisjoint(FROM_START)

    def mark_unlisted(self, resource: str, failure: Unlisted) -> None:
        """Record why *resource* could not be listed."""
        self._unlisted.add(resource)
        self.needed.mark_unlisted(RESOURCES[resource].kind, failure)

    def mark_unserved(self, resource: str) -> None:
        """Record that the API server does not serve *resource*."""
        self.replace(resource, ())
        if RESOURCES[resource].kind in ON_DEMAND - OPTIONAL:
            self.mark_unlisted(resource, Unlisted(UnlistedReason.NOT_SERVED))

    def replace(
        self, resource: str, raws: Iterable[decode.Text], resource_version: str = "", *, first: bool = True, last: bool = True
    ) -> None:
        """Replace all objects of *resource* by a list at that resourceVersion; an outdated list deletes and restores nothing.

        A list can come in parts: then only the *first* part begins one, and objects that are missing are removed with the *last* part.
        """
        versions, version = self._versions[resource], number(resource_version)
        if first:
            versions.begin_list(version)
        is_new = versions.is_new(version)
        for raw in raws:
            self._receive(RESOURCES[resource], raw, listed=is_new)
        if not last:
            return
        for key in versions.end_list(version):
            namespace, _, name = key.partition("/")
            self._delete(RESOURCES[resource], (namespace, name))
        self.complete(resource, resource_version)
        self._unlisted.discard(resource)
        kind = RESOURCES[resource].kind
        if kind in ON_DEMAND and self._unlisted.isdisjoint(each.name for each in _OF_KINDS[kind]):
            self.needed.mark_listed(kind)

    def complete(self, resource: str, resource_version: str) -> None:
        """Record that all changes of *resource* up to that version are applied, by its watch or a list; not by responses to writes."""
        versions = self._versions[resource]
        versions.complete_to = max(versions.complete_to, number(resource_version))

    def forget_versions(self, resource: str) -> None:
        """Accept any version of the objects of *resource* from now on, because those of the API server begin anew."""
        self._versions[resource].restart()

    def is_listed(self, resource: str) -> bool:
        """Return whether objects of *resource* are read: it is listed, or not served."""
        return resource not in self._unlisted

    def is_complete(self, resource: str, resource_version: str) -> bool:
        """Return whether *resource* is listed and all its changes up to that version are applied."""
        return self.is_listed(resource) and self._versions[resource].complete_to >= number(resource_version)

    def apply(self, resource: str, event: str, raw: decode.Text) -> None:
        """Apply a watch event ADDED, MODIFIED or DELETED; other events and unreadable objects are ignored."""
        of = RESOURCES[resource]
        if event in ("ADDED", "MODIFIED"):
            self._receive(of, raw, listed=False)
        elif event == "DELETED" and (head := read_head(of.kind, raw)) is not None:
            _, name, stamp = head
            if self._versions[resource].delete("/".join(name), stamp):
                self._delete(of, name)
            self._sweep()

    def snapshot(self, roots: Iterable[Root] | None = None) -> ClusterSnapshot:
        """Return a snapshot of everything, or of the trees of *roots* with their pods (then without problems)."""
        return self._snapshots.full_snapshot() if roots is None else self._snapshots.snapshot_of_roots(roots)

    def lazy_snapshot(self) -> ClusterSnapshot:
        """Return a snapshot of everything whose parts are created on first use, without problems; valid until the next change."""
        return self._snapshots.lazy_snapshot()

    def snapshot_of_groups(self) -> ClusterSnapshot:
        """Return the same with only those pods that have a group or no node."""
        return self._snapshots.snapshot_of_groups()

    def start_cycle(self, options: PlacingOptions, ignore: frozenset[str], plugins: Plugins = NO_PLUGINS) -> PlacementState:
        """Return the placement state for one cycle; its stateful plugins must be given back before the next change."""
        usage = self.usage
        state = usage.placement_state()
        nominated = [usage.record(usage.pods.nominated[key]) for key in sorted(usage.pods.nominated)]
        stateful = usage.affinity.stateful(
            self._snapshots.snapshot_of_roots(()), state.nodes, usage.affinity_records, sparing=options.sparing
        )
        assumed = [usage.record(pod) for pod in usage.pods.assumed_or_pinned.values() if pod.assumed and pod.parsed_pod.delayed_claims]
        return state.start_cycle(options, ignore, stateful, nominated, plugins, assumed)

    def problems(self) -> tuple[Problem, ...]:
        """Return the objects that cannot be used, or only in part."""
        return self._snapshots.full_snapshot().problems

    def unreadable(self, namespace: str, *kinds: str) -> bool:
        """Return whether the namespace has an unreadable object of these kinds: it can refer to any group there."""
        return any(key[0] in kinds and key[1] == namespace for key in (*self._unusable, *self.group_cache.unusable))

    def counts(self) -> dict[str, int]:
        """Return the number of objects of each resource, including pods that have ended."""
        return {name: len(versions.known) for name, versions in self._versions.items()}

    def pod(self, ref: Ref) -> LivePod | None:
        """Return the pod of that name and uid; None if it does not exist or has ended."""
        pod = self.usage.pods.pods.get(ref.key)
        return pod if pod is not None and ref.uid in ("", pod.stamp.uid) else None

    def group(self, kind: str, namespace: str, name: str) -> LiveGroup | None:
        """Return a group; None if it does not exist or cannot be used."""
        return self.group_cache.live.get((kind, namespace, name))

    def groups(self) -> Iterator[LiveGroup]:
        """Return all usable groups."""
        return iter(tuple(self.group_cache.live.values()))

    def ignored(self) -> Iterator[IgnoredObject]:
        """Yield the objects that do not count, because an API group before theirs has one of the same kind and name."""
        return self._groups.ignored()

    def root_of(self, kind: str, namespace: str, name: str) -> Root | None:
        """Return the root of the tree of a group; None if there is no such group."""
        return self.group_cache.root_of((kind, namespace, name))

    def tree(self, root: Root) -> tuple[Group, ...]:
        """Return the groups of a tree, parents first."""
        return tuple(self.group_cache.completed(live.key) for live in self.group_cache.tree(root))

    def members(self, namespace: str, group: str) -> tuple[LivePod, ...]:
        """Return the pods of a PodGroup that have not ended."""
        return self.usage.pods.members(namespace, group)

    def children(self, namespace: str, composite: str) -> tuple[Group, ...]:
        """Return the groups whose spec names this composite as parent."""
        return tuple(map(self.group_cache.completed, self.group_cache.child_keys(namespace, composite)))

    def _receive(self, resource: Resource, raw: decode.Text, *, listed: bool) -> None:
        """Add an object unless its event is outdated, or it has no name."""
        head = read_head(kind := resource.kind, raw)
        if head is None:
            return
        api_version, name, stamp = head
        if self._versions[resource.name].add_or_update(key := "/".join(name), stamp, listed=listed):
            raw_object = GatheredObjects(kind, api_version or self._api_versions[resource.name], raw)
            if self._groups.add(resource, name, raw_object, stamp):
                self._add_object(raw_object, name, key, stamp)

    def _delete(self, resource: Resource, name: Name) -> None:
        """Remove an object that exists no more, unless one of another API group counts."""
        counted, following = self._groups.remove(resource, name)
        if following is not None:
            self._add_object(following[0], name, "/".join(name), following[1])
        elif counted:
            self._remove(resource.kind, name)

    def _add_object(self, raw_object: GatheredObjects, name: Name, key: str, stamp: Stamp) -> None:
        kind = raw_object.kind
        if kind == "Pod":
            self._add_pod(raw_object, name, key, stamp)
        elif kind in self.group_cache.readers:
            before = self.reporter.before_change(kind, name)
            self.group_cache.add_or_update(raw_object, name, stamp.uid)
            self._group_changed(kind, name, before)
        else:
            self._changed(self._stores[kind].add_or_update(raw_object, name))

    def _remove(self, kind: str, name: Name) -> None:
        if kind == "Pod":
            self._unusable.pop((kind, *name), None)
            if (pod := self.usage.remove_pod("/".join(name))) is not None:
                self._updates.forget(pod)
                self.needed.remove_pod(pod)
                self.reporter.pod(pod, None, self.usage.node_of(pod))
                self._updates.pod_changed(pod.key, pod, None)
        elif kind in self.group_cache.readers:
            before = self.reporter.before_change(kind, name)
            self.group_cache.remove(kind, name)
            self._group_changed(kind, name, before)
        else:
            self._changed(self._stores[kind].remove(kind, name))

    def _changed(self, change: object) -> None:
        """Update pods and nodes after a change in a store; changes of selectors have no effect on them."""
        match change:
            case NodeChange():
                self.usage.node_changed(change)
                if change.differs:
                    self.reporter.node(change.name, added=change.added, removed=change.removed)
            case VolumeChange():
                self._updates.apply(change)
            case DeviceChange():
                self._apply_devices(change)
            case bool():
                self._updates.namespace_changed(change)

    def _group_changed(self, kind: str, name: Name, before: Before) -> None:
        self.needed.group_changed((kind, *name), self.group_cache.live.get((kind, *name)))
        self.reporter.group(kind, name, before)
        self._updates.group_changed(kind, name)

    def _apply_devices(self, change: DeviceChange) -> None:
        self._updates.apply_devices(change)
        if change.resources is not None:
            for pod in self.usage.pods.with_device_claims.values():
                self.needed.add_pod(pod)

    def _add_pod(self, raw_object: GatheredObjects, name: Name, key: str, stamp: Stamp) -> None:
        self._unusable.pop((raw_object.kind, *name), None)
        before = self.usage.pods.pods.get(key)
        if before is not None:
            key = before.key
        old_node = self.usage.node_of(before) if before is not None else ""
        self._updates.forget(before)
        after: LivePod | None = None
        try:
            pod = self._reader.read_pod(raw_object, key, stamp, before, self._volumes.objects, self._updates.shared)
        except Unusable as error:
            self._unusable[raw_object.kind, *name] = str(error)
            self.needed.remove_pod(before)
            self.usage.remove_pod(key)
        else:
            if before is not None and isinstance(pod, LivePod) and only_status_changed(before, pod):
                before.take_status(pod)
                return
            self.needed.remove_pod(before)
            if isinstance(pod, LivePod):
                after = pod
                self.needed.add_pod(pod)
                self.usage.add_or_update_pod(pod)
            else:
                self.usage.end(pod)
        if before is not None or after is not None:
            self.reporter.pod(before, after, old_node)
            self._updates.pod_changed(key, before, after)

    def _sweep(self) -> None:
        """Remove the forms of deleted pods once the number of forms has doubled since the last time."""
        if len(self._reader) > self._sweep_at:
            forms = {pod.parsed_pod.form for pod in self.usage.pods.pods.values()}
            self._reader.sweep(forms)
            self.usage.sweep(forms)
            self._sweep_at = max(_FEW_FORMS, 2 * len(self._reader))
