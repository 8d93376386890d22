"""Groups of a live cluster, with Workloads, priority classes and disruption budgets.

The root of a group is computed on demand by following parents, so late or deleted parents need no correction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects, Unusable
from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.meta import ObjectMeta
from kubeapi.priority import PriorityClass
from kubeapi.problem import Problem
from kubeapi.workloads import Workload
from scheduler_core.loading.priority import Priorities
from scheduler_core.loading.read_groups import completed, group_priorities, read_budget, read_one
from scheduler_core.loading.read_objects import attempt
from scheduler_core.model.conditions import DISRUPTION_TARGET
from scheduler_core.model.names import Name as Root
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.sidecar.cache.field_managers import managers_of_condition
from scheduler_core.sidecar.cache.freshness import Stamp
from scheduler_core.sidecar.cache.node_cache import NodeCache
from scheduler_core.sidecar.writes import Condition
from validators.lookup import KnownObjects
from validators.model.objects import Named, Object

Key = tuple[str, str, str]
"""Kind, namespace, name."""

GROUPS: Mapping[str, type[PodGroup | CompositePodGroup]] = {"PodGroup": PodGroup, "CompositePodGroup": CompositePodGroup}
_MAX_PARENTS = 64
"""Maximum number of parents to follow: far more than the four levels that a valid tree has."""


@dataclasses.dataclass(slots=True, eq=False)
class LiveGroup:
    """A PodGroup or a CompositePodGroup."""

    key: Key
    stamp: Stamp
    group: Group
    """The object as it was read; its metadata has the finalizers."""
    assumed_conditions: dict[str, Condition] = dataclasses.field(default_factory=dict)
    """Written conditions that no watch event has shown yet, by type."""
    binds_acknowledged: bool = False
    """For a root: whether this process saw all binds of its tree confirmed."""
    disrupted_by: frozenset[str] = frozenset()
    """Field managers of its condition DisruptionTarget."""
    completed_group: Group | None = None
    """The group completed from its priority class; None until first used."""
    priority: int = 0

    @property
    def uid(self) -> str:
        """Return the uid of the object."""
        return self.stamp.uid

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


class GroupCache:
    """Groups by kind, namespace and name, with an index by parent.

    Attributes:
        groups: usable groups.
        workloads: usable Workloads, by namespace and name.
        classes: usable priority classes, by name.
        budgets: usable disruption budgets, by namespace and name.
        unusable: reasons of unusable objects, by kind, namespace and name.
        priorities: priorities by class.

    """

    def __init__(self) -> None:
        self.groups: dict[Key, LiveGroup] = {}
        self.workloads: dict[Name, Workload] = {}
        self.classes: dict[str, PriorityClass] = {}
        self.budgets: dict[Name, DisruptionBudget] = {}
        self.unusable: dict[Key, str] = {}
        self.priorities = Priorities(())
        self._children: dict[Name, dict[Key, LiveGroup]] = {}
        self._by_workload: dict[Name, set[Key]] = {}
        self._workloads: tuple[Workload, ...] | None = None

    def add_or_update(self, raw_object: GatheredObjects, name: Name, stamp: Stamp) -> None:
        """Add or replace an object of one of these kinds."""
        key = (raw_object.kind, *name)
        self.unusable.pop(key, None)
        match raw_object.kind:
            case "PodGroup":
                self._add_object(raw_object, key, lambda: attempt(raw_object, lambda one: read_one(one, PodGroup))[1], stamp)
            case "CompositePodGroup":
                self._add_object(raw_object, key, lambda: attempt(raw_object, lambda one: read_one(one, CompositePodGroup))[1], stamp)
            case "Workload":
                self._add_object(raw_object, key, lambda: attempt(raw_object, lambda one: read_one(one, Workload))[1], stamp)
            case "PriorityClass":
                self._add_object(raw_object, key, lambda: attempt(raw_object, lambda one: read_one(one, PriorityClass))[1], stamp)
            case _:
                self._add_object(raw_object, key, lambda: attempt(raw_object, read_budget)[1], stamp)

    def _add_object(
        self,
        raw_object: GatheredObjects,
        key: Key,
        read: Callable[[], Group | Workload | PriorityClass | DisruptionBudget | Unusable],
        stamp: Stamp,
    ) -> None:
        value = read()
        if isinstance(value, Unusable):
            self.remove(raw_object.kind, key[1:])
            self.unusable[key] = str(value)
        elif isinstance(value, PriorityClass):
            self.classes[key[2]] = value
            self._update_priorities()
        elif isinstance(value, Workload):
            self.workloads[key[1:]] = value
            self._workloads = None
        elif isinstance(value, DisruptionBudget):
            self.budgets[key[1:]] = value
        else:
            before = self.groups.get(key)
            self._unlink(key)
            acknowledged = before is not None and before.binds_acknowledged and before.uid == stamp.uid
            live = self.groups[key] = LiveGroup(key, stamp, value, binds_acknowledged=acknowledged)
            if live.condition(DISRUPTION_TARGET) is not None:
                live.disrupted_by = managers_of_condition(raw_object.text, DISRUPTION_TARGET)
            if live.parent:
                self._children.setdefault((key[1], live.parent), {})[key] = live
            if live.workload:
                self._by_workload.setdefault((key[1], live.workload), set()).add(key)

    def remove(self, kind: str, name: Name) -> None:
        """Remove an object."""
        self.unusable.pop((kind, *name), None)
        if kind == "PriorityClass":
            if self.classes.pop(name[1], None) is not None:
                self._update_priorities()
        elif kind == "Workload":
            self.workloads.pop(name, None)
            self._workloads = None
        elif kind == "PodDisruptionBudget":
            self.budgets.pop(name, None)
        else:
            self._unlink((kind, *name))

    def groups_of_workload(self, workload: Name) -> list[Key]:
        """Return the groups whose spec names this Workload."""
        return sorted(self._by_workload.get(workload, ()))

    def children(self, namespace: str, name: str) -> Iterable[LiveGroup]:
        """Return the groups whose spec names this composite as parent."""
        return self._children.get((namespace, name), {}).values()

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
        live = self.groups.get(key)
        path: list[LiveGroup] = []
        while live is not None and live not in path and len(path) <= _MAX_PARENTS:
            path.append(live)
            live = self._parent_of(live)
        return path

    def _parent_of(self, live: LiveGroup) -> LiveGroup | None:
        return self.groups.get(("CompositePodGroup", live.key[1], live.parent)) if live.parent else None

    def tree(self, root: Root) -> list[LiveGroup]:
        """Return all groups of a tree, parents first; empty if the root does not exist."""
        top = self.groups.get((root.kind, root.namespace, root.name))
        groups: dict[Key, LiveGroup] = {}
        stack = [top] if top is not None else []
        while stack:
            live = stack.pop()
            if live.key not in groups:
                groups[live.key] = live
                if live.key[0] == "CompositePodGroup":
                    stack.extend(self.children(*live.key[1:]))
        return list(groups.values())

    def completed(self, live: LiveGroup) -> Group:
        """Return the group completed from its priority class."""
        if live.completed_group is None:
            (live.completed_group,) = completed((live.group,), self.priorities, [])
            (live.priority,) = group_priorities((live.completed_group,), self.priorities).values()
        return live.completed_group

    def problems(self) -> Iterator[Problem]:
        """Return the problems of groups that cannot be used as written."""
        problems: list[Problem] = []
        completed((each.group for each in self.groups.values()), self.priorities, problems)
        yield from problems

    def list_kind(self, kind: str) -> Sequence[Object]:
        """Return all usable objects of *kind*."""
        if kind == "Workload":
            if self._workloads is None:
                self._workloads = tuple(self.workloads.values())
            return self._workloads
        if kind == "PriorityClass":
            return tuple(self.classes.values())
        return tuple(self.completed(each) for each in self.groups.values() if each.key[0] == kind)

    def _unlink(self, key: Key) -> None:
        if (live := self.groups.pop(key, None)) is None:
            return
        if live.parent:
            siblings = self._children[key[1], live.parent]
            del siblings[key]
            if not siblings:
                del self._children[key[1], live.parent]
        if live.workload:
            keys = self._by_workload[key[1], live.workload]
            keys.discard(key)
            if not keys:
                del self._by_workload[key[1], live.workload]

    def _update_priorities(self) -> None:
        self.priorities = Priorities(self.classes.values())
        for each in self.groups.values():
            each.completed_group = None


class CachedObjects(KnownObjects):
    """``Lookup`` of the validation rules over the cache; objects are read on demand."""

    def __init__(self, group_cache: GroupCache, nodes: NodeCache) -> None:
        super().__init__((), complete=False)
        self._group_cache = group_cache
        self._nodes = nodes

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        group_cache = self._group_cache
        result: Object | None
        match kind:
            case "Node":
                result = self._nodes.get_node(name)
            case "PriorityClass":
                result = group_cache.classes.get(name)
                namespace = ""
            case "Workload":
                result = group_cache.workloads.get((namespace, name))
            case _:
                live = group_cache.groups.get((kind, namespace, name))
                result = group_cache.completed(live) if live is not None else None
        if result is None and (kind, namespace, name) in group_cache.unusable:
            result = Named(kind, ObjectMeta(name=name, namespace=namespace))
        return super().get(kind, namespace, name) if result is None else result

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        return tuple(self._group_cache.completed(each) for each in self._group_cache.children(namespace, name) if each.key[0] == kind)

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        result = self._nodes.list_nodes() if kind == "Node" else self._group_cache.list_kind(kind)
        more = [Named(kind, ObjectMeta(name=key[2], namespace=key[1])) for key in self._group_cache.unusable if key[0] == kind]
        return (*result, *more) if more else result or None
