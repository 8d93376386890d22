"""Groups, Workloads, priority classes and disruption budgets, and what the validation rules can look up of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from kubeapi.gather import Name
from kubeapi.gathered import Unusable
from kubeapi.groups import Group, PodGroup
from kubeapi.meta import ObjectMeta
from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.problem import Problem
from scheduler_core.cluster.store import Store
from scheduler_core.loading.priority import Priorities
from scheduler_core.loading.read_groups import SCHEDULING_KINDS, completed, entries_of_group, problems_of, read_budget, read_one
from scheduler_core.model.device_claims import PodEntry
from scheduler_core.model.snapshot import DisruptionBudget
from validators.model.objects import Named, Object, namespace_of

Key = tuple[str, str, str]
"""Kind, namespace (empty for cluster-scoped kinds), name."""
GROUPS = ("PodGroup", "CompositePodGroup")
"""Kinds of groups."""


class GroupStore(Store[None]):
    """Groups and what they depend on; a ``Lookup`` of all but the budgets, with groups completed from their priority classes.

    Attributes:
        objects: the usable objects as they were read, by kind, then by namespace and name.

    """

    readers = {**dict.fromkeys(SCHEDULING_KINDS, read_one), "PodDisruptionBudget": read_budget}

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, dict[Name, Any]] = {kind: {} for kind in self.readers}
        self._children: dict[Name, dict[Key, None]] = {}
        self._completed: dict[Key, tuple[Group, int]] = {}
        self._entries: dict[Name, Mapping[PodEntry, str | None]] = {}
        self._lists: dict[str, tuple[Object, ...]] = {}
        self._priorities: Priorities | None = None

    @classmethod
    def of_objects(cls, objects: Iterable[Object]) -> Self:
        """Return a store of objects that are known, the last of each name; of unusable ones only the names are."""
        store = cls()
        for each in objects:
            store._keep(each.kind, (namespace_of(each), each.metadata.name), Unusable() if isinstance(each, Named) else each)
        return store

    @property
    def priorities(self) -> Priorities:
        """Return the priorities by class."""
        if self._priorities is None:
            self._priorities = Priorities(self.objects["PriorityClass"].values())
        return self._priorities

    @property
    def groups(self) -> list[Group]:
        """Return the groups as they were read, in any order."""
        return [each for kind in GROUPS for each in self.objects[kind].values()]

    @property
    def budgets(self) -> tuple[DisruptionBudget, ...]:
        """Return the budgets by namespace and name."""
        return tuple(each for _, each in sorted(self.objects["PodDisruptionBudget"].items()))

    def completed(self, key: Key) -> Group:
        """Return a group completed from its priority class."""
        return self._ranked(key)[0]

    def priority(self, key: Key) -> int:
        """Return the priority of a group: its own, that of its class, or 0."""
        return self._ranked(key)[1]

    def all_completed(self) -> tuple[Group, ...]:
        """Return the groups, completed, by namespace, name and kind."""
        keys = sorted((*name, kind) for kind in GROUPS for name in self.objects[kind])
        return tuple(self.completed((kind, namespace, name)) for namespace, name, kind in keys)

    def entries(self, name: Name) -> Mapping[PodEntry, str | None] | None:
        """Return ``entries_of_group`` for a PodGroup; None if there is no such group."""
        if name not in self._entries and isinstance(group := self.objects["PodGroup"].get(name), PodGroup):
            self._entries[name] = entries_of_group(group)
        return self._entries.get(name)

    def with_groups(self, groups: Sequence[Group]) -> GroupStore:
        """Return a store with more groups; this one if there are none."""
        if not groups:
            return self
        store = GroupStore.of_objects((*(each for kind in SCHEDULING_KINDS for each in self.list_kind(kind) or ()), *groups))
        store.objects["PodDisruptionBudget"] = self.objects["PodDisruptionBudget"]
        return store

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of objects that cannot be used as written."""
        problems: list[Problem] = []
        completed(self.groups, self.priorities, problems)
        yield from problems
        for each in self.budgets:
            yield from problems_of(each)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        key = (kind, "" if kind == "PriorityClass" else namespace, name)
        if key in self.unusable:
            return _named(key)
        found: Object | None = self.objects.get(kind, {}).get(key[1:])
        if found is None:
            return SYSTEM_CLASSES.get(name) if kind == "PriorityClass" else None
        return self.completed(key) if kind in GROUPS else found

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        return tuple(self.completed(key) for key in sorted(self.child_keys(namespace, name)) if key[0] == kind)

    def child_keys(self, namespace: str, name: str) -> Iterable[Key]:
        """Return the groups whose spec names this composite as parent, those that changed last at the end."""
        return self._children.get((namespace, name), ())

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        if (listed := self._lists.get(kind)) is None:
            unusable = (_named(key) for key in sorted(self.unusable) if key[0] == kind)
            objects = sorted(self.objects.get(kind, {}).items())
            found = (self.completed((kind, *name)) if kind in GROUPS else each for name, each in objects)
            listed = self._lists[kind] = (*found, *unusable)
        return listed or None

    def _ranked(self, key: Key) -> tuple[Group, int]:
        if (found := self._completed.get(key)) is None:
            (group,) = completed((self.objects[key[0]][key[1:]],), self.priorities, [])
            rank = self.priorities.rank(group.spec.priority, group.spec.priority_class_name, group.spec.preemption_policy)
            found = self._completed[key] = group, rank.value
        return found

    def _set(self, kind: str, name: Name, value: Any) -> None:
        before = self.objects[kind].pop(name, None)
        if value is not None:
            self.objects[kind][name] = value
        self._lists.pop(kind, None)
        if kind == "PriorityClass":
            self._priorities = None
            self._completed.clear()
            self._lists.clear()
        elif kind in GROUPS:
            self._group_changed((kind, *name), before, value)

    def _group_changed(self, key: Key, before: Group | None, after: Group | None) -> None:
        self._completed.pop(key, None)
        self._entries.pop(key[1:], None)
        if before is not None and (parent := before.spec.parent_composite_pod_group_name):
            siblings = self._children[key[1], parent]
            del siblings[key]
            if not siblings:
                del self._children[key[1], parent]
        if after is not None and (parent := after.spec.parent_composite_pod_group_name):
            self._children.setdefault((key[1], parent), {})[key] = None


def _named(key: Key) -> Object:
    """Return an unusable object, of which only the name is known."""
    return Named(key[0], ObjectMeta(name=key[2], namespace=key[1]))


class GroupPriorities(Mapping[Key, int]):
    """Priorities of the groups of a store, computed on demand."""

    def __init__(self, store: GroupStore) -> None:
        self._store = store

    def __getitem__(self, key: Key) -> int:
        return self._store.priority(key)

    def __iter__(self) -> Iterator[Key]:
        return ((kind, *name) for kind in GROUPS for name in self._store.objects[kind])

    def __len__(self) -> int:
        return sum(len(self._store.objects[kind]) for kind in GROUPS)
