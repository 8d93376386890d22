"""Groups of a live cluster, with Workloads, priority classes and disruption budgets.

The root of a group is computed on demand by following parents, so late or deleted parents need no correction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects
from kubeapi.groups import Group
from kubeapi.versions.served_versions import other_group
from scheduler_core.cluster.group_store import GROUPS, GroupStore, Key
from scheduler_core.cluster.store import add_to, discard_from
from scheduler_core.model.conditions import DISRUPTION_TARGET
from scheduler_core.model.names import Name as Root
from scheduler_core.sidecar.cache.field_managers import managers_of_condition
from scheduler_core.sidecar.writes import Condition, Ref
from validators.model.objects import namespace_of

_MAX_PARENTS = 64
"""Maximum number of parents to follow: far more than the four levels that a valid tree has."""


@dataclasses.dataclass(slots=True, eq=False)
class LiveGroup:
    """A PodGroup or a CompositePodGroup."""

    key: Key
    uid: str
    group: Group
    """The object as it was read; its metadata has the finalizers."""
    assumed_conditions: dict[str, Condition] = dataclasses.field(default_factory=dict)
    """Written conditions that no watch event has shown yet, by type."""
    binds_acknowledged: bool = False
    """For a root: whether this process saw all binds of its tree confirmed."""
    disrupted_by: frozenset[str] = frozenset()
    """Field managers of its condition DisruptionTarget."""

    @property
    def ref(self) -> Ref:
        """The reference to it."""
        return ref_of(self.group)

    @property
    def parent(self) -> str:
        """The name of the parent composite in its spec; empty if none."""
        return self.group.spec.parent_composite_pod_group_name or ""

    @property
    def workload(self) -> str:
        """The name of the Workload in its spec; empty if none."""
        reference = self.group.spec.workload_ref
        return reference.workload_name if reference is not None else ""

    def condition(self, type_: str) -> Condition | None:
        """Return the condition of that type, with writes in flight applied; None if there is none."""
        if (assumed := self.assumed_conditions.get(type_)) is not None:
            return assumed if assumed.status else None
        for each in self.group.status.conditions or ():
            if each.type == type_:
                return Condition(type_, each.status, each.reason, each.message, each.last_transition_time or "")
        return None


def ref_of(group: Group) -> Ref:
    """Return the reference to a group."""
    api_group = other_group(group.kind, group.api_version.rpartition("/")[0])
    return Ref(group.kind, namespace_of(group), group.metadata.name, group.metadata.uid, api_group)


class GroupCache(GroupStore):
    """Groups and what they depend on, with indices by parent and by Workload.

    Attributes:
        live: the usable groups with what only the sidecar reads of them.

    """

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[Key, LiveGroup] = {}
        self._by_workload: dict[Name, set[Key]] = {}

    def add_or_update(self, raw_object: GatheredObjects, name: Name, uid: str = "") -> None:
        """Add or replace an object, which has this uid."""
        key = (raw_object.kind, *name)
        before = self.live.get(key)
        super().add_or_update(raw_object, name)
        if (group := self.objects[raw_object.kind].get(name)) is None or raw_object.kind not in GROUPS:
            return
        acknowledged = before is not None and before.binds_acknowledged and before.uid == uid
        live = self.live[key] = LiveGroup(key, uid, group, binds_acknowledged=acknowledged)
        if live.condition(DISRUPTION_TARGET) is not None:
            live.disrupted_by = managers_of_condition(raw_object.text, DISRUPTION_TARGET)
        if live.workload:
            add_to(self._by_workload, (key[1], live.workload), key)

    def groups_of_workload(self, workload: Name) -> list[Key]:
        """Return the groups whose spec names this Workload."""
        return sorted(self._by_workload.get(workload, ()))

    def live_children(self, namespace: str, name: str) -> Iterator[LiveGroup]:
        """Return the groups whose spec names this composite as parent."""
        return map(self.live.__getitem__, self.child_keys(namespace, name))

    def root_of(self, key: Key) -> Root | None:
        """Return the root of the tree of a group; None if there is no such group.

        The root is the topmost existing group; in a cycle of parents, the first group of the cycle by name.
        """
        path = self.above(key)
        if not path:
            return None
        if (over := self._parent_of(path[-1])) in path:
            return Root(*min(each.key for each in path[path.index(over) :]))
        return Root(*path[-1].key)

    def above(self, key: Key) -> list[LiveGroup]:
        """Return a group and those above it, up to the root of its tree, or each group of a cycle once; empty if there is no such group."""
        live = self.live.get(key)
        path: list[LiveGroup] = []
        while live is not None and live not in path and len(path) <= _MAX_PARENTS:
            path.append(live)
            live = self._parent_of(live)
        return path

    def _parent_of(self, live: LiveGroup) -> LiveGroup | None:
        return self.live.get(("CompositePodGroup", live.key[1], live.parent)) if live.parent else None

    def tree(self, root: Root) -> list[LiveGroup]:
        """Return all groups of a tree, parents first; empty if the root does not exist."""
        top = self.live.get((root.kind, root.namespace, root.name))
        groups: dict[Key, LiveGroup] = {}
        stack = [top] if top is not None else []
        while stack:
            live = stack.pop()
            if live.key not in groups:
                groups[live.key] = live
                if live.key[0] == "CompositePodGroup":
                    stack.extend(self.live_children(*live.key[1:]))
        return list(groups.values())

    def _group_changed(self, key: Key, before: Group | None, after: Group | None) -> None:
        super()._group_changed(key, before, after)
        if (live := self.live.pop(key, None)) is not None and live.workload:
            discard_from(self._by_workload, (key[1], live.workload), key)
