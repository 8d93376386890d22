"""Groups, Workloads, priority classes and disruption budgets, and what the validation rules can look up of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from kubeapi.groups import Group, PodGroup
from kubeapi.meta import ObjectMeta
from kubeapi.priority import SYSTEM_CLASSES, PriorityClass
from kubeapi.workloads import Workload
from scheduler_core.cluster.store import Store, replace_in
from scheduler_core.loading.gather import Name
from scheduler_core.loading.gathered import Unusable
from scheduler_core.loading.priority import Priorities
from scheduler_core.loading.read_groups import SCHEDULING_KINDS, completed, entries_of_group, problems_of, read_budget, read_one
from scheduler_core.model.device_claims import PodEntry
from scheduler_core.model.problem import Problem
from scheduler_core.model.snapshot import DisruptionBudget
from validators.lookup import parent_of
from validators.model.objects import Named, Object, namespace_of

Key = tuple[str, str, str]
"""Kind, namespace, name."""


class GroupStore(Store[None]):
    """Groups and what they depend on; a ``Lookup`` of all but the budgets, with groups completed from their priority classes.

    Attributes:
        groups: the usable groups as they were read.
        workloads: the usable Workloads.
        classes: the usable priority classes, by name.
        budgets: the usable disruption budgets.

    """

    readers = {**dict.fromkeys(SCHEDULING_KINDS, read_one), "PodDisruptionBudget": read_budget}

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[Key, Group] = {}
        self.workloads: dict[Name, Workload] = {}
        self.classes: dict[str, PriorityClass] = {}
        self.budgets: dict[Name, DisruptionBudget] = {}
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
            self._priorities = Priorities(self.classes.values())
        return self._priorities

    def completed(self, key: Key) -> Group:
        """Return a group completed from its priority class."""
        return self._ranked(key)[0]

    def priority(self, key: Key) -> int:
        """Return the priority of a group: its own, that of its class, or 0."""
        return self._ranked(key)[1]

    def entries(self, name: Name) -> Mapping[PodEntry, str | None] | None:
        """Return ``entries_of_group`` for a PodGroup; None if there is no such group."""
        if name not in self._entries and isinstance(group := self.groups.get(("PodGroup", *name)), PodGroup):
            self._entries[name] = entries_of_group(group)
        return self._entries.get(name)

    def all_completed(self) -> tuple[Group, ...]:
        """Return the groups, completed, by namespace, name and kind."""
        return tuple(self.completed(key) for key in sorted(self.groups, key=lambda key: (*key[1:], key[0])))

    def sorted_budgets(self) -> tuple[DisruptionBudget, ...]:
        """Return the budgets by namespace and name."""
        return tuple(self.budgets[name] for name in sorted(self.budgets))

    def with_groups(self, groups: Sequence[Group]) -> GroupStore:
        """Return a store with more groups; this one if there are none."""
        if not groups:
            return self
        store = GroupStore.of_objects(
            each for kind in SCHEDULING_KINDS for each in (*(self.list_kind(kind) or ()), *groups) if each.kind == kind
        )
        store.budgets = self.budgets
        return store

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of objects that cannot be used as written."""
        problems: list[Problem] = []
        completed(self.groups.values(), self.priorities, problems)
        yield from problems
        for each in self.budgets.values():
            yield from problems_of(each)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        key = (kind, namespace, name)
        found: Object | None = None
        if kind == "PriorityClass":
            key, found = (kind, "", name), self.classes.get(name) or SYSTEM_CLASSES.get(name)
        elif kind == "Workload":
            found = self.workloads.get((namespace, name))
        elif key in self.groups:
            found = self.completed(key)
        return _named(key) if found is None and key in self.unusable else found

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        return tuple(self.completed(key) for key in sorted(self.child_keys(namespace, name)) if key[0] == kind)

    def child_keys(self, namespace: str, name: str) -> Collection[Key]:
        """Return the groups whose spec names this composite as parent, in any order."""
        return self._children.get((namespace, name), {}).keys()

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        if (listed := self._lists.get(kind)) is None:
            listed = self._lists[kind] = tuple(self._all(kind))
        return listed or None

    def _all(self, kind: str) -> Iterator[Object]:
        if kind == "PriorityClass":
            yield from (self.classes[name] for name in sorted(self.classes))
        elif kind == "Workload":
            yield from (self.workloads[name] for name in sorted(self.workloads))
        else:
            yield from (self.completed(key) for key in sorted(self.groups) if key[0] == kind)
        yield from map(_named, sorted(key for key in self.unusable if key[0] == kind))

    def _ranked(self, key: Key) -> tuple[Group, int]:
        if (found := self._completed.get(key)) is None:
            (group,) = completed((self.groups[key],), self.priorities, [])
            rank = self.priorities.rank(group.spec.priority, group.spec.priority_class_name, group.spec.preemption_policy)
            found = self._completed[key] = group, rank.value
        return found

    def _set(self, kind: str, name: Name, value: Any) -> None:
        self._lists.pop(kind, None)
        if kind == "PriorityClass":
            if replace_in(self.classes, name[1], value):
                self._priorities = None
                self._completed.clear()
                self._lists.clear()
        elif kind == "Workload":
            replace_in(self.workloads, name, value)
        elif kind == "PodDisruptionBudget":
            replace_in(self.budgets, name, value)
        else:
            self._set_group((kind, *name), value)

    def _set_group(self, key: Key, group: Group | None) -> None:
        self._completed.pop(key, None)
        self._entries.pop(key[1:], None)
        if (before := self.groups.pop(key, None)) is not None and (parent := parent_of(before)):
            siblings = self._children[key[1], parent]
            del siblings[key]
            if not siblings:
                del self._children[key[1], parent]
        if group is not None:
            self.groups[key] = group
            if parent := parent_of(group):
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
        return iter(self._store.groups)

    def __len__(self) -> int:
        return len(self._store.groups)
