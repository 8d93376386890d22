"""A cluster: objects are applied to it and removed from it, it is forked, and snapshots of it are taken."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeapi.gather import KINDS, by_name, gather, is_left_out, written_name
from kubeapi.gathered import GatheredObjects, Given, Objects
from kubeapi.groups import Group, PodGroup
from kubeapi.meta import replaced
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.priority import PriorityClass
from kubeapi.problem import Problem
from kubeapi.versions import served_versions
from scheduler_core.cluster.group_store import GROUPS, GroupPriorities, GroupStore, Key
from scheduler_core.cluster.load import load_gathered
from scheduler_core.cluster.node_store import NodeStore
from scheduler_core.cluster.node_table import TableInputs, build_node_table
from scheduler_core.cluster.rule_lookups import JoinedLookup, with_nodes
from scheduler_core.loading.build_pod_records import Records
from scheduler_core.loading.claim_options import report_storage
from scheduler_core.loading.parsed_pods import ParsedPod, requested_rows
from scheduler_core.loading.priority import Priorities
from scheduler_core.loading.read_groups import SCHEDULING_KINDS
from scheduler_core.loading.read_objects import one_each
from scheduler_core.loading.read_pods import Reader, read_pods
from scheduler_core.loading.read_volumes import read_drivers
from scheduler_core.loading.volume_pools import ClaimDemand, volume_numbers
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from validators.model.objects import namespace_of

INCREMENTAL = frozenset({"Node", "Pod", *GROUPS, "Workload"})
"""Kinds of which a snapshot can be changed; for changes of others it is built again."""
_READ = frozenset(KINDS)


class Cluster:
    """Objects of a cluster, which are applied and removed one by one, and of which snapshots are taken.

    A snapshot is as if all present objects had been loaded.  It shares with the one before what changes of nodes, pods, groups and Workloads
    leave as it is; after other changes it is built anew.
    """

    def __init__(self, known: ClusterSnapshot, kinds: Mapping[str, Objects] | None = None) -> None:
        """Create the cluster with the snapshot *known*, which was made of the objects by *kinds* or derived from such a one.

        Without *kinds*, only changes of nodes, pods, groups and Workloads are made that can be used.
        """
        self._known, self._kinds = known, kinds
        self._changes: dict[Key, Given | None] = {}
        self._generates_groups = functools.cache(self._has_references)

    def fork(self) -> Cluster:
        """Return a cluster with the same objects; changes of one are not seen by the other."""
        fork = Cluster(self._known, self._kinds)
        fork._changes, fork._generates_groups = dict(self._changes), self._generates_groups
        return fork

    def apply(self, *objects: Given) -> None:
        """Add or replace objects, as JSON text or parsed JSON, which must not change; kinds that placement does not read are skipped."""
        for each in objects:
            if isinstance(each, dict) and "items" not in each:
                # Its text is not needed before a snapshot is taken.
                if (key := _key_in(each)) is not None:
                    self._changes[key] = each
                continue
            gathered, _ = gather((each,))
            for kind in KINDS:
                self._changes |= {_key(kind, *written_name(one.text)): one for one in gathered[kind]}

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object, if there is such a one."""
        self._changes[_key(kind, namespace, name)] = None

    @property
    def builds_anew(self) -> bool:
        """Return whether a snapshot is built anew: claims differ, what provides them, the attach limits of existing nodes, or other kinds.

        The groups of v1alpha1 pods are generated from all pods, groups and Workloads.
        """
        if any(kind in INCREMENTAL and kind != "Node" for kind, _, _ in self._changes) and self._generates_groups():
            return True
        return any(
            (kind not in INCREMENTAL or (changed is None and kind != "Pod"))
            and not (kind == "CSINode" and self._changes.get(("Node", "", name)) is not None)
            for (kind, _, name), changed in self._changes.items()
        )

    def snapshot(self, *, serial: int = 0) -> ClusterSnapshot:
        """Return the snapshot of the present objects; its problems are those of the snapshot before unless it is built anew.

        Shapes of changed pods are numbered from *serial*, or beyond those of the snapshot before if these are higher.
        """
        if not self._changes:
            return self._known
        if self._kinds is None or not self.builds_anew:
            with contextlib.suppress(_NotSharedError):
                return self._changed(self._known, serial)
        return self._built_anew()

    def _has_references(self) -> bool:
        return any(b"workloadRef" in bytes(pod.text) for pod in (self._kinds or {}).get("Pod", ()))

    def _built_anew(self) -> ClusterSnapshot:
        kinds: dict[str, Objects] = {**(self._kinds or {})}
        applied = self._applied()
        for kind in dict.fromkeys(key[0] for key in self._changes):
            present = (each for key, each in named_objects(kind, kinds[kind]).items() if key not in self._changes)
            kinds[kind] = [*present, *applied[kind]]
        return load_gathered(kinds, [], self._known.profiles, self._known.nodes.device_levels, self._known.behavior)

    def _changed(self, snapshot: ClusterSnapshot, serial: int) -> ClusterSnapshot:
        exact = self._kinds is not None
        objects = self._applied()
        # A pod that has ended, or that cannot be used, is not there any more.
        pods = {f"{namespace}/{name}" for kind, namespace, name in self._changes if kind == "Pod"}
        if objects["CSINode"]:
            snapshot = _with_drivers(snapshot, objects["CSINode"])
        if exact and self._readmits([name for kind, _, name in self._changes if kind == "Node" and name not in snapshot.nodes.index]):
            raise _NotSharedError
        if objects["Node"]:
            snapshot = _with_nodes(snapshot, objects["Node"], exact=exact)
        if any(objects[kind] for kind in (*GROUPS, "Workload")):
            snapshot = _with_groups(snapshot, objects, exact=exact)
        return _with_pods(snapshot, pods, objects["Pod"], serial, exact=exact) if pods else snapshot

    def _applied(self) -> Mapping[str, Objects]:
        return gather(each for each in self._changes.values() if each is not None)[0]

    def _readmits(self, added: Sequence[str]) -> bool:
        """Return whether a pod that was left out can be on one of the nodes *added*."""
        if not added or not any(is_left_out(each, ("Pod",)) for each in self._known.problems):
            return False
        names = [name.encode() for name in added]
        return any(name in bytes(pod.text) for pod in (self._kinds or {})["Pod"] for name in names)


def named_objects(kind: str, objects: Iterable[GatheredObjects]) -> dict[Key, GatheredObjects]:
    """Return the objects of a kind by key; of several of one name the one that sorts first as JSON."""
    return {(kind, *name): each for name, each in by_name(objects, []).items()}


def _key_in(content: Mapping[str, Any]) -> Key | None:
    """Return the key of an object; None if placement does not read its kind, or if it has none."""
    api_version, kind, metadata = content.get("apiVersion"), content.get("kind"), content.get("metadata")
    # dict: a mapping of another type is tested for slowly.
    if not isinstance(api_version, str) or not isinstance(kind, str) or not isinstance(metadata, dict) or not _is_read(api_version, kind):
        return None
    namespace, name = metadata.get("namespace"), metadata.get("name")
    return _key(kind, namespace if isinstance(namespace, str) else "", name) if isinstance(name, str) else None


@functools.lru_cache(maxsize=1_000)
def _is_read(api_version: str, kind: str) -> bool:
    return kind in _READ and served_versions.serves(api_version.rpartition("/")[0], kind)


def _key(kind: str, namespace: str, name: str) -> Key:
    return kind, "" if kind in CLUSTER_SCOPED else namespace or "default", name


class _NotSharedError(Exception):
    """A change that concerns more of a snapshot than its own object."""


def _with_groups(snapshot: ClusterSnapshot, objects: Mapping[str, Objects], *, exact: bool) -> ClusterSnapshot:
    changed = GroupStore()
    changed.fill(objects, [])
    if exact:
        _check_groups(snapshot, changed, sum(len(objects[kind]) for kind in (*GROUPS, "Workload")))
    known = (each for kind in SCHEDULING_KINDS for each in snapshot.known.list_kind(kind) or () if not isinstance(each, Group))
    store = GroupStore.of_objects((*known, *snapshot.groups, *changed.groups, *changed.objects["Workload"].values()))
    lookup = JoinedLookup(SCHEDULING_KINDS, lambda: store, snapshot.known)
    return dataclasses.replace(snapshot, groups=store.all_completed(), priorities=GroupPriorities(store), known=lookup)


def _with_pods(snapshot: ClusterSnapshot, changed: Iterable[str], objects: Objects, serial: int, *, exact: bool) -> ClusterSnapshot:
    """Return *snapshot* with the pods *objects* in place of those that *changed*, by key."""
    problems: list[Problem] = []
    before = {pod.key: pod for pod in snapshot.pods}
    first = max(serial, 1 + max((pod.shape.serial for pod in snapshot.pods), default=0))
    records = Records(snapshot.nodes, _priorities(snapshot), problems, snapshot.profiles, first)
    volumes = dataclasses.replace(snapshot.volumes, users=snapshot.volumes.users.copied())
    parsed_pods, reader = read_pods(objects, snapshot.nodes.index, volumes, problems)
    if exact and (
        any(parsed_pod.reference is not None for parsed_pod in parsed_pods)
        or not all(map(snapshot.nodes.row.has, requested_rows(parsed_pods)))
    ):
        # The group of a v1alpha1 pod is generated from all its pods; a resource that no pod requested before adds a row.
        raise _NotSharedError
    gone = {key: before.pop(key, None) for key in changed}
    if snapshot.devices is not None and any(parsed_pod.entries or parsed_pod.containers for parsed_pod in parsed_pods):
        parsed_pods = _resolve_devices(parsed_pods, snapshot, reader)
    for parsed_pod in parsed_pods:
        record = records.record(parsed_pod)
        known = gone.get(record.key) if parsed_pod.reference is not None else None
        before[record.key] = record if known is None else replaced(record, group=known.group)
    return dataclasses.replace(snapshot, pods=tuple(before[key] for key in sorted(before)), volumes=volumes)


def _check_groups(snapshot: ClusterSnapshot, changed: GroupStore, given: int) -> None:
    """Raise _NotSharedError if not all of the *given* groups can be used, or if pods can get other claims to devices from *changed* ones."""
    before = (group for group in snapshot.groups if (namespace_of(group), group.metadata.name) in changed.objects[group.kind])
    claims = (group.spec.resource_claims for group in (*changed.groups, *before) if isinstance(group, PodGroup))
    if len(changed.groups) + len(changed.objects["Workload"]) < given or (snapshot.devices is not None and any(claims)):
        raise _NotSharedError


def _resolve_devices(parsed_pods: list[ParsedPod], snapshot: ClusterSnapshot, reader: Reader) -> list[ParsedPod]:
    """Return *parsed_pods*, read by *reader*, with the requirements of their claims to the devices of *snapshot*."""
    from scheduler_core.loading.pod_devices import PodDevices

    return PodDevices(snapshot.devices or DeviceObjects(), GroupStore.of_objects(snapshot.groups).entries).resolved(
        parsed_pods, reader.forms
    )


def _with_drivers(snapshot: ClusterSnapshot, objects: Objects) -> ClusterSnapshot:
    """Return *snapshot* with the CSI drivers of nodes that are added next."""
    if snapshot.volumes.attach is None:
        return snapshot
    attach = snapshot.volumes.attach.copied()
    for (_, node), drivers in one_each(objects, read_drivers, []).good.items():
        attach.set_drivers(node, drivers)
    return dataclasses.replace(snapshot, volumes=dataclasses.replace(snapshot.volumes, attach=attach))


def _with_nodes(snapshot: ClusterSnapshot, objects: Objects, *, exact: bool) -> ClusterSnapshot:
    changed = NodeStore()
    changed.fill({"Node": objects}, [])
    read, rows = changed.nodes, snapshot.nodes.row
    if exact and (len(read) < len(objects) or not all(name in rows for each in read.values() for name in each.allocatable)):
        raise _NotSharedError
    more = build_node_table(TableInputs(read, snapshot.nodes.resources, snapshot.volumes.attach, snapshot.nodes.reported))
    table, new_index = snapshot.nodes.joined(more)
    free = report_storage(table, snapshot.volumes)
    needs = (pod.shape.volumes for pod in snapshot.pods if pod.shape.volumes)
    demand = ClaimDemand.of_pods([need.request for need in each if need.request is not None] for each in needs)
    table.count_volumes(volume_numbers(table, free, demand, snapshot.nodes.storage))
    if snapshot.nodes.device_rows is not None:
        table.count_devices(snapshot.nodes.device_rows)
    pods = tuple(renumbered(pod, new_index) for pod in snapshot.pods)
    return dataclasses.replace(snapshot, nodes=table, pods=pods, known=with_nodes(snapshot.known, table))


def renumbered(pod: PodRecord, new_index: Sequence[int]) -> PodRecord:
    """Return *pod* with the new index of each node."""
    node = new_index[pod.node] if pod.node >= 0 else -1
    nominated = new_index[pod.nominated] if pod.nominated >= 0 else -1
    return pod if (node, nominated) == (pod.node, pod.nominated) else replaced(pod, node=node, nominated=nominated)


def _priorities(snapshot: ClusterSnapshot) -> Priorities:
    return Priorities(each for each in snapshot.known.list_kind("PriorityClass") or () if isinstance(each, PriorityClass))
