"""ClusterSnapshots of the cache: of everything, or of a few roots."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar, overload

from kubeapi.gather import left_out
from kubeapi.groups import Group
from kubeapi.meta import replaced
from kubeapi.problem import Problem, in_order
from scheduler_core.cluster.label_stores import NamespaceStore, SelectorStore
from scheduler_core.loading import label_case, v1alpha1
from scheduler_core.loading.pod_records import problems_of
from scheduler_core.loading.read_groups import completed, group_priorities
from scheduler_core.loading.read_groups import problems_of as problems_of_budget
from scheduler_core.loading.read_pods import unknown_node
from scheduler_core.model.names import Name as Root
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.sidecar.cache.group_cache import CachedObjects, GroupCache, Key
from scheduler_core.sidecar.cache.node_usage import NodeUsage
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.cache.volume_cache import VolumeCache

T = TypeVar("T")


class LiveSnapshots:
    """Creates snapshots of *node_usage* and *groups*; *unusable* has the reason for each pod that cannot be used."""

    def __init__(
        self,
        node_usage: NodeUsage,
        groups: GroupCache,
        volumes: VolumeCache,
        unusable_devices: Mapping[Key, str],
        selectors: SelectorStore,
        namespaces: NamespaceStore,
        unusable: dict[Key, str],
    ) -> None:
        self._node_usage = node_usage
        self._groups = groups
        self._volumes, self._unusable_devices = volumes, unusable_devices
        self._selectors, self._namespaces = selectors, namespaces
        self._unusable = unusable
        self._known = CachedObjects(groups, node_usage.nodes)

    def full_snapshot(self) -> ClusterSnapshot:
        """Return a snapshot of everything, equal to that of ``load`` over the same objects."""
        made, pods = self._with_v1alpha1_groups()
        groups = self._sorted((*self._complete(), *completed(made.groups, self._groups.priorities, [])))
        priorities = group_priorities(groups, self._groups.priorities)
        snapshot = self._snapshot(groups, pods)
        return dataclasses.replace(snapshot, priorities=priorities, desired=made.desired, problems=self._problems(groups, pods))

    def problems(self) -> tuple[Problem, ...]:
        """Return the objects that cannot be used, or only in part."""
        return self.full_snapshot().problems

    def lazy_snapshot(self) -> ClusterSnapshot:
        """Return a snapshot of everything whose parts are created on first use, without problems; valid until the next change."""
        node_usage = self._node_usage
        node_usage.placement_state()
        snapshot = self._snapshot((), ())
        pods = Lazy(lambda: sorted(node_usage.records(), key=lambda pod: pod.key))
        return dataclasses.replace(
            snapshot, pods=pods, groups=Lazy(lambda: self._sorted(self._complete())), priorities=LivePriorities(self._groups)
        )

    def snapshot_of_roots(self, roots: Iterable[Root]) -> ClusterSnapshot:
        """Return a snapshot of the trees of *roots* with their pods; a root can be a single pod."""
        node_usage = self._node_usage
        node_usage.placement_state()
        groups: list[Group] = []
        pods: list[LivePod] = []
        for root in roots:
            if root.kind == "Pod":
                pod = node_usage.pods.pods.get(f"{root.namespace}/{root.name}")
                pods += [pod] if pod is not None else []
                continue
            for live in self._groups.tree(root):
                groups.append(self._groups.completed(live))
                if live.key[0] == "PodGroup":
                    pods += node_usage.pods.members(*live.key[1:])
        records = sorted((node_usage.record(pod) for pod in pods if node_usage.is_counted(pod)), key=lambda pod: pod.key)
        return self._snapshot(self._sorted(groups), records)

    def _snapshot(self, groups: tuple[Group, ...], pods: Iterable[PodRecord]) -> ClusterSnapshot:
        budgets = self._groups.budgets
        nodes = self._node_usage.placement_state().nodes
        return ClusterSnapshot(
            nodes=nodes,
            pods=tuple(pods),
            groups=groups,
            priorities=LivePriorities(self._groups),
            desired={},
            budgets=tuple(budgets[name] for name in sorted(budgets)),
            known=self._known,
            volumes=self._volumes.objects,
            devices=self._node_usage.devices.objects(nodes),
            selectors=self._selectors.objects,
            namespaces=self._namespaces.labels,
        )

    def _with_v1alpha1_groups(self) -> tuple[v1alpha1.GeneratedGroups, list[PodRecord]]:
        """Return the groups generated for v1alpha1 pods, and the records of all pods, as members of these groups."""
        node_usage = self._node_usage
        node_usage.placement_state()
        counted = sorted((pod for pod in node_usage.pods.pods.values() if node_usage.is_counted(pod)), key=lambda pod: pod.key)
        if not node_usage.pods.with_workload_ref:
            return v1alpha1.GeneratedGroups((), {}), [node_usage.record(pod) for pod in counted]
        drafts = [replaced(pod.draft) for pod in counted]
        groups = [each.group for each in self._groups.groups.values()]
        made = v1alpha1.join(drafts, self._groups.workloads.values(), groups, self._groups.priorities)
        records = [replaced(node_usage.record(pod), group=draft.group) for pod, draft in zip(counted, drafts, strict=True)]
        return made, records

    def _complete(self) -> list[Group]:
        return [self._groups.completed(each) for each in self._groups.groups.values()]

    def _sorted(self, groups: Iterable[Group]) -> tuple[Group, ...]:
        return tuple(sorted(groups, key=lambda each: (each.metadata.namespace, each.metadata.name, each.kind)))

    def _problems(self, groups: tuple[Group, ...], pods: list[PodRecord]) -> tuple[Problem, ...]:
        node_usage, group_cache = self._node_usage, self._groups
        problems: list[Problem] = []
        unusable = {
            **group_cache.unusable,
            **self._unusable,
            **self._volumes.unusable,
            **self._unusable_devices,
            **self._selectors.unusable,
            **self._namespaces.unusable,
            **{("Node", "", name): why for name, why in node_usage.nodes.unusable.items()},
        }
        problems += [left_out(kind, (namespace, name), why) for (kind, namespace, name), why in unusable.items()]
        table = node_usage.nodes.table((), problems)
        completed(groups, group_cache.priorities, problems)
        for budget in group_cache.budgets.values():
            problems += problems_of_budget(budget)
        for pod in node_usage.pods.pods.values():
            draft = pod.draft
            if not node_usage.is_counted(pod):
                problems.append(unknown_node(draft))
                continue
            rank = group_cache.priorities.rank(draft.priority, draft.class_name, draft.policy)
            problems += problems_of(draft, rank, node_usage.nodes.nodes)
        problems += label_case.problems(table, groups, pods)
        problems += node_usage.levels.problems(node_usage.placement_state().nodes, groups)
        return in_order({*problems})


class Lazy(Sequence[T], Generic[T]):
    """Sequence that is created on first use."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make
        self._made: Sequence[T] | None = None

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._all()[index]

    def _all(self) -> Sequence[T]:
        if self._made is None:
            self._made = self._make()
        return self._made


class LivePriorities(Mapping[Key, int]):
    """Priorities of the groups, computed on demand."""

    def __init__(self, group_cache: GroupCache) -> None:
        self._group_cache = group_cache

    def __getitem__(self, key: Key) -> int:
        live = self._group_cache.groups[key]
        self._group_cache.completed(live)
        return live.priority

    def __iter__(self) -> Iterator[Key]:
        return iter(self._group_cache.groups)

    def __len__(self) -> int:
        return len(self._group_cache.groups)
