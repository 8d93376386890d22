"""ClusterSnapshots of the cache: of everything, or of a few roots."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar, overload

from kubeapi.gather import left_out
from kubeapi.groups import Group
from kubeapi.meta import replaced
from kubeapi.problem import Problem
from scheduler_core.cluster.group_store import Key
from scheduler_core.cluster.rule_lookups import with_nodes
from scheduler_core.cluster.stores import Stores, assembled
from scheduler_core.loading import v1alpha1
from scheduler_core.loading.build_pod_records import problems_of
from scheduler_core.loading.read_pods import unknown_node
from scheduler_core.model.names import Name as Root
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.sidecar.cache.api_groups import ApiGroups
from scheduler_core.sidecar.cache.group_cache import GroupCache
from scheduler_core.sidecar.cache.node_usage import NodeUsage
from scheduler_core.sidecar.cache.pod_cache import LivePod

T = TypeVar("T")


class LiveSnapshots:
    """Creates snapshots of *stores*, whose groups are *groups*, and of the pods of *node_usage*.

    *api_groups* has the objects that do not count, and *unusable* the reason for each pod that cannot be used.
    """

    def __init__(
        self, node_usage: NodeUsage, stores: Stores, groups: GroupCache, api_groups: ApiGroups, unusable: Mapping[Key, str]
    ) -> None:
        self._node_usage, self._stores, self._groups, self._api_groups = node_usage, stores, groups, api_groups
        self._unusable = unusable
        self._known = functools.lru_cache(maxsize=1)(functools.partial(with_nodes, groups))

    def full_snapshot(self) -> ClusterSnapshot:
        """Return a snapshot of everything, equal to that of ``load`` over the same objects."""
        table = self._node_usage.placement_state().nodes
        generated, pods = self._with_v1alpha1_groups()
        problems = [*self._stores.unusable(), *self._api_groups.problems(), *self._stores.nodes.problems(), *self._problems_of_pods()]
        problems += self._node_usage.levels.problems(table)
        return assembled(self._stores, table, self._node_usage.devices.objects(table), tuple(pods), generated, problems)

    def lazy_snapshot(self) -> ClusterSnapshot:
        """Return a snapshot of everything whose parts are created on first use, without problems; valid until the next change."""
        records = self._node_usage.records
        return self._snapshot(Lazy(lambda: sorted(records(), key=lambda pod: pod.key)), Lazy(self._groups.all_completed))

    def snapshot_of_groups(self) -> ClusterSnapshot:
        """Return the same with only those pods that have a group or no node, which are few among all."""
        usage = self._node_usage
        pods = Lazy(lambda: sorted(map(usage.record, filter(usage.is_counted, usage.pods.grouped_or_pending())), key=lambda pod: pod.key))
        return self._snapshot(pods, Lazy(self._groups.all_completed))

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
                groups.append(self._groups.completed(live.key))
                if live.key[0] == "PodGroup":
                    pods += node_usage.pods.members(*live.key[1:])
        records = sorted((node_usage.record(pod) for pod in pods if node_usage.is_counted(pod)), key=lambda pod: pod.key)
        groups.sort(key=lambda each: (each.metadata.namespace, each.metadata.name, each.kind))
        return self._snapshot(tuple(records), tuple(groups))

    def _snapshot(self, pods: Sequence[PodRecord], groups: Sequence[Group]) -> ClusterSnapshot:
        table = self._node_usage.placement_state().nodes
        return self._stores.snapshot(table, self._node_usage.devices.objects(table), self._known(table), pods, groups)

    def _with_v1alpha1_groups(self) -> tuple[v1alpha1.GeneratedGroups, list[PodRecord]]:
        """Return the groups generated for v1alpha1 pods, and the records of all pods, as members of these groups."""
        node_usage, groups = self._node_usage, self._groups
        counted = sorted((pod for pod in node_usage.pods.pods.values() if node_usage.is_counted(pod)), key=lambda pod: pod.key)
        parsed_pods = [replaced(pod.parsed_pod) for pod in counted]
        made = v1alpha1.join(parsed_pods, groups.objects["Workload"].values(), groups.groups, groups.priorities)
        return made, [
            replaced(node_usage.record(pod), group=parsed_pod.group) for pod, parsed_pod in zip(counted, parsed_pods, strict=True)
        ]

    def _problems_of_pods(self) -> Iterator[Problem]:
        node_usage = self._node_usage
        yield from (left_out(kind, (namespace, name), why) for (kind, namespace, name), why in self._unusable.items())
        for pod in node_usage.pods.pods.values():
            parsed_pod = pod.parsed_pod
            if node_usage.is_counted(pod):
                rank = self._groups.priorities.rank(parsed_pod.priority, parsed_pod.class_name, parsed_pod.policy)
                yield from problems_of(parsed_pod, rank, node_usage.nodes.nodes)
            else:
                yield unknown_node(parsed_pod)


class Lazy(Sequence[T], Generic[T]):
    """Sequence that is created on first use."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._all = functools.cache(make)

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
