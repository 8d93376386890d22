"""All objects of a cluster but its pods, and the snapshot of them and of pods that files or events gave."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from kubeapi.base_structs import Record, replaced
from kubeapi.gather import DEVICE_KINDS, left_out
from kubeapi.gathered import Objects
from kubeapi.groups import Group
from kubeapi.problem import Problem, in_order
from scheduler_core.cluster.group_store import GroupPriorities, GroupStore
from scheduler_core.cluster.label_stores import NamespaceStore, SelectorStore
from scheduler_core.cluster.node_store import NodeStore
from scheduler_core.cluster.rule_lookups import with_nodes
from scheduler_core.cluster.store import Store
from scheduler_core.cluster.volume_store import VolumeStore
from scheduler_core.loading import label_case, label_suggestions, template_differences
from scheduler_core.loading.read_namespaces import missing_namespaces
from scheduler_core.loading.v1alpha1 import GeneratedGroups
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from validators.object_lookup import Lookup

if TYPE_CHECKING:
    from scheduler_core.cluster.device_store import DeviceStore


class Stores(Record, frozen=True):
    """Stores of a cluster; that of devices is None if there are none."""

    nodes: NodeStore
    groups: GroupStore
    volumes: VolumeStore
    selectors: SelectorStore
    namespaces: NamespaceStore
    devices: DeviceStore | None = None

    @classmethod
    def filled(cls, kinds: Mapping[str, Objects], problems: list[Problem]) -> Self:
        """Return stores of the objects by kind."""
        devices = None
        if any(kinds[kind] for kind in DEVICE_KINDS):
            from scheduler_core.cluster.device_store import DeviceStore

            devices = DeviceStore()
        stores = cls(NodeStore(), GroupStore(), VolumeStore(completes=True), SelectorStore(), NamespaceStore(), devices)
        for each in stores.all():
            each.fill(kinds, problems)
        return stores

    def all(self) -> Iterator[Store[Any]]:
        """Return all stores."""
        stores = (self.nodes, self.groups, self.volumes, self.selectors, self.namespaces, self.devices)
        return (each for each in stores if each is not None)

    def unusable(self) -> Iterator[Problem]:
        """Yield the problem of each object that cannot be used."""
        for each in self.all():
            yield from (left_out(kind, (namespace, name), why) for (kind, namespace, name), why in each.unusable.items())

    def snapshot(
        self, table: NodeTable, devices: DeviceObjects | None, known: Lookup, pods: Sequence[PodRecord] = (), groups: Sequence[Group] = ()
    ) -> ClusterSnapshot:
        """Return a snapshot with these nodes, devices, pods and groups, without problems; valid until the next change."""
        return ClusterSnapshot(
            nodes=table,
            pods=pods,
            groups=groups,
            priorities=GroupPriorities(self.groups),
            desired={},
            budgets=self.groups.budgets,
            known=known,
            volumes=self.volumes.objects,
            devices=devices,
            selectors=self.selectors.objects,
            namespaces=self.namespaces.labels,
        )


def assembled(
    stores: Stores,
    table: NodeTable,
    devices: DeviceObjects | None,
    pods: tuple[PodRecord, ...],
    generated: GeneratedGroups,
    problems: list[Problem],
) -> ClusterSnapshot:
    """Return the snapshot of everything: *generated* are the groups of v1alpha1 pods, and *problems* those of single objects."""
    stores = replaced(stores, groups=stores.groups.with_groups(generated.groups))
    groups = stores.groups.all_completed()
    snapshot = stores.snapshot(table, devices, with_nodes(stores.groups, table), pods, groups)
    problems += (*stores.groups.problems(), *label_case.problems(table, groups, pods), *label_suggestions.problems(table, groups, pods))
    problems += template_differences.problems(groups, snapshot.known)
    problems += missing_namespaces(pods, stores.namespaces.labels)
    if devices is not None:
        from scheduler_core.loading.device_levels import levels_not_named
        from scheduler_core.loading.unusable_pools import unusable_pools

        problems += levels_not_named(table, devices, groups)
        if any(need.allocates for shape in {pod.shape for pod in pods} for need in shape.devices):
            problems += unusable_pools(devices.slices)
    ordered = in_order({*problems})
    return dataclasses.replace(snapshot, desired=generated.desired, problems=ordered)
