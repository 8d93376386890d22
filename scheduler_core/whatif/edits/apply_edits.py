"""Steps applied to a snapshot; the result is as if the changed objects had been loaded, except for the problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.meta import replaced
from kubeapi.priority import PriorityClass
from kubeapi.workloads import Workload
from scheduler_core.loading.claim_options import report_storage
from scheduler_core.loading.gather import CAPACITY_KINDS, DEVICE_KINDS, VOLUME_KINDS, gather
from scheduler_core.loading.gathered import Objects
from scheduler_core.loading.load import load_gathered
from scheduler_core.loading.pod_drafts import Draft
from scheduler_core.loading.pod_records import Records
from scheduler_core.loading.priority import Priorities
from scheduler_core.loading.read_groups import completed, group_priorities, read_kind
from scheduler_core.loading.read_nodes import images_among, node_table, read_nodes
from scheduler_core.loading.read_objects import one_each
from scheduler_core.loading.read_pods import Reader, read_pods
from scheduler_core.loading.read_volumes import read_drivers
from scheduler_core.loading.volume_pools import ClaimDemand, volume_numbers
from scheduler_core.model.decision import Step
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.problem import Problem
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.raw_objects import Book
from validators.lookup import KnownObjects, Lookup
from validators.model.objects import Object, namespace_of
from validators.model.views import Node

T = TypeVar("T")
_GROUPS = ("PodGroup", "CompositePodGroup")
CLAIM_KINDS = (*VOLUME_KINDS, *CAPACITY_KINDS, "CSINode", *DEVICE_KINDS)
"""Kinds on which the requests of pods depend: a snapshot with other objects of them is loaded again."""


class _WithReplaced(KnownObjects):
    """Known objects after all objects of some kinds are replaced."""

    def __init__(self, before: Lookup, kinds: Iterable[str], objects: Iterable[Object]) -> None:
        super().__init__(objects, complete=False)
        self._before = before
        self._others = frozenset(kinds)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        return super().get(kind, namespace, name) if kind in self._others else self._before.get(kind, namespace, name)

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        return super().children(kind, namespace, name) if kind in self._others else self._before.children(kind, namespace, name)

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        return super().list_kind(kind) if kind in self._others else self._before.list_kind(kind)


def applied(snapshot: ClusterSnapshot, steps: Sequence[Step], *, serial: int = 0) -> ClusterSnapshot:
    """Return *snapshot* after *steps*: nodes, pods, groups and Workloads replaced or added, pods deleted.

    Shapes of replaced pods are numbered from *serial*, or beyond those of *snapshot* if these are higher.
    """
    objects, _ = gather([step.apply for step in steps if step.apply is not None])
    deleted = {f"{step.delete['namespace']}/{step.delete['name']}" for step in steps if step.delete is not None}
    if deleted:
        snapshot = dataclasses.replace(snapshot, pods=tuple(pod for pod in snapshot.pods if pod.key not in deleted))
    if objects["CSINode"]:
        snapshot = _with_drivers(snapshot, objects["CSINode"])
    if objects["Node"]:
        snapshot = _with_nodes(snapshot, objects["Node"])
    if any(objects[kind] for kind in (*_GROUPS, "Workload")):
        snapshot = _with_groups(snapshot, objects)
    return _with_pods(snapshot, objects["Pod"], serial) if objects["Pod"] else snapshot


def reloaded(book: Book, snapshot: ClusterSnapshot, steps: Sequence[Step]) -> ClusterSnapshot:
    """Return *snapshot*, which was loaded from the objects of *book*, after any *steps*, loaded again."""
    return load_gathered(book.kinds_after(steps), [], snapshot.profiles, snapshot.nodes.device_levels)


def changes_claims(steps: Sequence[Step]) -> bool:
    """Return whether *steps* change claims, what provides them, or the attach limits of existing nodes."""
    applied_kinds = {(str(step.apply.get("kind")), str(step.apply["metadata"]["name"])) for step in steps if step.apply is not None}
    return any(kind in CLAIM_KINDS and not (kind == "CSINode" and ("Node", name) in applied_kinds) for kind, name in applied_kinds)


def _with_groups(snapshot: ClusterSnapshot, objects: Mapping[str, Objects]) -> ClusterSnapshot:
    problems: list[Problem] = []
    priorities = _priorities(snapshot)
    leaves = read_kind(objects["PodGroup"], PodGroup, problems).good
    composites = read_kind(objects["CompositePodGroup"], CompositePodGroup, problems).good
    workloads = read_kind(objects["Workload"], Workload, problems).good
    replaced: tuple[Group, ...] = (*leaves, *composites)
    changed = {_name(group): group for group in replaced}
    groups = completed([*(group for group in snapshot.groups if _name(group) not in changed), *changed.values()], priorities, problems)
    # Of unusable groups only the names are known.
    others = (each for kind in (*_GROUPS, "Workload") for each in snapshot.known.list_kind(kind) or () if not isinstance(each, Group))
    known_objects = {_name(each): each for each in (*others, *workloads) if _name(each) not in changed}
    known = _WithReplaced(snapshot.known, (*_GROUPS, "Workload"), (*groups, *known_objects.values()))
    return dataclasses.replace(snapshot, groups=groups, priorities=group_priorities(groups, priorities), known=known)


def _with_pods(snapshot: ClusterSnapshot, objects: Objects, serial: int) -> ClusterSnapshot:
    problems: list[Problem] = []
    before = {pod.key: pod for pod in snapshot.pods}
    records = Records(snapshot.nodes, _priorities(snapshot), problems, snapshot.profiles)
    first = max(serial, 1 + max((pod.shape.serial for pod in snapshot.pods), default=0))
    shapes: dict[int, PodShape] = {}
    volumes = dataclasses.replace(snapshot.volumes, users=snapshot.volumes.users.copied())
    drafts, reader = read_pods(objects, snapshot.nodes.index, volumes, problems)
    if snapshot.devices is not None and any(draft.entries or draft.containers for draft in drafts):
        drafts = _resolve_devices(drafts, snapshot, reader)
    for draft in drafts:
        record = records.record(draft)
        if (shape := shapes.get(record.shape.serial)) is None:
            shape = shapes[record.shape.serial] = dataclasses.replace(record.shape, serial=first + record.shape.serial)
        known = before.get(record.key)
        # The group of a v1alpha1 pod was generated when it was loaded.
        before[record.key] = replaced(record, shape=shape, group=known.group if known else record.group)
    return dataclasses.replace(snapshot, pods=tuple(before[key] for key in sorted(before)), volumes=volumes)


def _resolve_devices(drafts: list[Draft], snapshot: ClusterSnapshot, reader: Reader) -> list[Draft]:
    """Return *drafts*, read by *reader*, with the requirements of their claims to the devices of *snapshot*."""
    from scheduler_core.loading.pod_devices import PodDevices, group_entries

    groups = group_entries(group for group in snapshot.groups if isinstance(group, PodGroup))
    return PodDevices(snapshot.devices or DeviceObjects(), groups.get).resolved(drafts, reader.forms)


def _with_drivers(snapshot: ClusterSnapshot, objects: Objects) -> ClusterSnapshot:
    """Return *snapshot* with the CSI drivers of nodes that are added next."""
    if snapshot.volumes.attach is None:
        return snapshot
    attach = snapshot.volumes.attach.copied()
    for (_, node), drivers in one_each(objects, read_drivers, []).good.items():
        attach.set_drivers(node, drivers)
    return dataclasses.replace(snapshot, volumes=dataclasses.replace(snapshot.volumes, attach=attach))


def _with_nodes(snapshot: ClusterSnapshot, objects: Objects) -> ClusterSnapshot:
    problems: list[Problem] = []
    read = read_nodes(objects, problems)
    more = node_table(read, snapshot.nodes.resources, problems, snapshot.volumes.attach)
    more.report_images(images_among(each.node.status.images, snapshot.nodes.reported) for each in read.values())
    table, new_index = _joined(snapshot.nodes, more)
    free = report_storage(table, snapshot.volumes)
    needs = (pod.shape.volumes for pod in snapshot.pods if pod.shape.volumes)
    demand = ClaimDemand.of_pods([need.request for need in each if need.request is not None] for each in needs)
    table.count_volumes(volume_numbers(table, free, demand, snapshot.nodes.storage))
    if snapshot.nodes.device_rows is not None:
        table.count_devices(snapshot.nodes.device_rows)
    known_nodes = {
        _name(each): each
        for each in (*(snapshot.known.list_kind("Node") or ()), *(Node(metadata=each.node.metadata) for each in read.values()))
    }
    pods = tuple(_renumbered(pod, new_index) for pod in snapshot.pods)
    return dataclasses.replace(snapshot, nodes=table, pods=pods, known=_WithReplaced(snapshot.known, ("Node",), known_nodes.values()))


def _renumbered(pod: PodRecord, new_index: Sequence[int]) -> PodRecord:
    node = new_index[pod.node] if pod.node >= 0 else -1
    nominated = new_index[pod.nominated] if pod.nominated >= 0 else -1
    return pod if (node, nominated) == (pod.node, pod.nominated) else replaced(pod, node=node, nominated=nominated)


def _joined(nodes: NodeTable, more: NodeTable) -> tuple[NodeTable, list[int]]:
    """Return *nodes* with *more*, which take precedence for equal names; and the new index of each of *nodes*."""
    kept = [index for index, name in enumerate(nodes.names) if name not in more.index]
    names = [*(nodes.names[index] for index in kept), *more.names]
    order = sorted(range(len(names)), key=names.__getitem__)

    def both(one: Sequence[T], other: Sequence[T]) -> list[T]:
        joined = [*(one[index] for index in kept), *other]
        return [joined[index] for index in order]

    rows = [more.row[name] for name in nodes.resources]
    table = NodeTable(
        both(nodes.names, more.names),
        both(nodes.labels, more.labels),
        both(nodes.taints, more.taints),
        both(nodes.unschedulable.tolist(), more.unschedulable.tolist()),
        nodes.resources,
        np.concatenate((nodes.allocatable[:, kept], more.allocatable[rows]), axis=1)[:, order],
        both(nodes.features, more.features),
        more.attach,
    )
    table.report_images(both(nodes.images, more.images))
    table.scored = nodes.scored
    # A node that replaces another one has its devices; a new node has none.
    levels = {key: dict(zip(nodes.names, values, strict=True)) for key, values in nodes.device_levels.items()}
    table.report_device_levels({key: tuple(values.get(name) for name in table.names) for key, values in levels.items()})
    table.backed = {name: np.array(both(mask.tolist(), [False] * len(more)), dtype=bool) for name, mask in nodes.backed.items()}
    return table, [table.index[name] for name in nodes.names]


def _priorities(snapshot: ClusterSnapshot) -> Priorities:
    return Priorities(each for each in snapshot.known.list_kind("PriorityClass") or () if isinstance(each, PriorityClass))


def _name(named: Object) -> tuple[str, str, str]:
    return named.kind, namespace_of(named), named.metadata.name
