"""Cache of the objects of one kind in one API group, written by one thread and read by many without a lock.

A reader only calls ``dict.get`` and ``sorted(dict.values())``, which copies before it compares.  Both are atomic under the
interpreter's global lock, so a reader sees the dict before or after a change.  The result of a list is built separately and
replaces the old state by one assignment.
"""

from __future__ import annotations

import dataclasses
import operator
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from kubeapi.groups import PodGroup
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.priority import SYSTEM_CLASSES
from validators.model.objects import Object, namespace_of
from validators.object_lookup import parent_of
from workloadbuilder.adapters.members import MEMBERS, MemberIndex, Members, read_members

ObjectKey = tuple[str, str]
"""Namespace (empty for cluster-scoped kinds) and name."""


@dataclasses.dataclass(slots=True)
class _State:
    """Objects by name, by the group that they name as their parent, and PodGroups by the labels of their members in each namespace.

    ``changes`` counts changes.
    """

    objects: dict[ObjectKey, Object] = dataclasses.field(default_factory=dict)
    children: dict[ObjectKey, dict[str, Object]] = dataclasses.field(default_factory=dict)
    members: dict[str, MemberIndex] = dataclasses.field(default_factory=dict)
    changes: int = 0

    def add_or_update(self, new: Object) -> None:
        key = _key(new)
        old = self.objects.get(key)
        if old == new:
            # Most updates of nodes and pods change nothing that a rule reads.
            return
        if old is not None and parent_of(old) != parent_of(new):
            self._remove_from_parent(key, old)
        self.objects[key] = new
        if parent := parent_of(new):
            self.children.setdefault((key[0], parent), {})[key[1]] = new
        if (members := _members(new)) != (before := _members(old)):
            index = self.members.setdefault(key[0], MemberIndex())
            index.remove(key[1], before)
            index.add(key[1], members)
        self.changes += 1

    def remove(self, key: ObjectKey) -> None:
        old = self.objects.pop(key, None)
        if old is not None:
            self._remove_from_parent(key, old)
            if members := _members(old):
                self.members[key[0]].remove(key[1], members)
            self.changes += 1

    def _remove_from_parent(self, key: ObjectKey, old: Object) -> None:
        group = (key[0], parent_of(old))
        siblings = self.children.get(group)
        if siblings is not None and siblings.pop(key[1], None) is not None and not siblings:
            del self.children[group]


class Cache:
    """Objects of one kind in one API group.  They are unknown until listed, and after *stale_seconds* without contact with the server."""

    def __init__(
        self, kind: str, stale_seconds: float, clock: Callable[[], float] = time.monotonic, name: str = "", group: str = ""
    ) -> None:
        """Create an empty cache of a kind of the API *group*; *name* is that of the resource if it is not the kind."""
        self.kind, self.name, self.group = kind, name or kind, group
        self.served = True
        """False if the API server does not have this kind."""
        self.listed = False
        """True after the first complete list."""
        self.error = ""
        """Error of the last attempt to list or watch; empty if it succeeded."""
        self._stale_seconds, self._clock = stale_seconds, clock
        self._state = _State()
        self._last_contact = clock()
        self._listing: tuple[_State, int, tuple[Object, ...]] | None = None

    @property
    def known(self) -> bool:
        """True if the objects are listed and not stale."""
        return self.served and self.listed and self._clock() - self._last_contact <= self._stale_seconds

    def get(self, key: ObjectKey) -> Object | None:
        """Return the object; None if it does not exist or objects of this kind are unknown."""
        return self._state.objects.get(key) if self.known else None

    def children(self, group: ObjectKey) -> Sequence[Object]:
        """Return the objects that name *group* as their parent, sorted by name; none if they are unknown."""
        children = self._state.children.get(group) if self.known else None
        return sorted(children.values(), key=lambda each: each.metadata.name) if children else ()

    def group_of(self, namespace: str, labels: Mapping[str, str]) -> str:
        """Return the PodGroup whose members have *labels*; empty if none is known, or more than one."""
        members = self._state.members.get(namespace) if self.known else None
        return members.group_of(labels) if members is not None else ""

    def list_objects(self) -> Sequence[Object] | None:
        """Return all objects, sorted by namespace and name; None if they are unknown."""
        if not self.known:
            return None
        state, listing = self._state, self._listing
        # Read before copying: a change in between makes the copy outdated, and the next call copies again.
        changes = state.changes
        if listing is None or listing[0] is not state or listing[1] != changes:
            objects = sorted(state.objects.values(), key=_key)
            listing = self._listing = (state, changes, tuple(objects))
        return listing[2]

    def record_contact(self) -> None:
        """Note that the server has just responded or sent an event."""
        self._last_contact = self._clock()
        self.error = ""

    def replace(self, objects: Iterable[Object]) -> None:
        """Replace all objects by *objects*, the result of a list."""
        state = _State()
        for each in objects:
            state.add_or_update(each)
        self._state = state
        self.served = self.listed = True
        self.record_contact()

    def add_or_update(self, new: Object) -> None:
        """Add or replace an object."""
        self._state.add_or_update(new)

    def remove(self, old: Object) -> None:
        """Remove an object."""
        self._state.remove(_key(old))

    def not_served(self) -> None:
        """Note that the API server does not have this kind."""
        self.served, self.listed = False, False
        self._state = _State()
        self.record_contact()


class CachedLookup:
    """Lookup over caches; kinds without a cache are unknown.

    A kind can have a cache for each API group: of objects with one name, that of the first cache counts.
    """

    def __init__(self, caches: Iterable[Cache]) -> None:
        self._caches: dict[str, list[Cache]] = {}
        for each in caches:
            self._caches.setdefault(each.kind, []).append(each)
        self._merged: dict[str, tuple[list[Sequence[Object]], Sequence[Object]]] = {}

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        key = "" if kind in CLUSTER_SCOPED else namespace, name
        cached = next((found for each in self._caches.get(kind, ()) if (found := each.get(key)) is not None), None)
        return SYSTEM_CLASSES.get(name) if cached is None and kind == "PriorityClass" else cached

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        caches = self._served(kind)
        children = [(cache, child) for cache in caches for child in cache.children((namespace, name))]
        if len(caches) > 1:
            children = [each for each in children if _counts(*each, caches)]
            children.sort(key=lambda each: each[1].metadata.name)
        return [child for _, child in children]

    def group_of(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, str] | None:
        """Return API group and name of the PodGroup whose members have *labels*; of several API groups the first that has one."""
        found = ((each.group, each.group_of(namespace, labels)) for each in self._served("PodGroup"))
        return next((each for each in found if each[1]), None)

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        lists: list[Sequence[Object]] = []
        for each in self._served(kind):
            if (objects := each.list_objects()) is None:
                return None
            lists.append(objects)
        if len(lists) < 2:
            return lists[0] if lists else None
        merged = self._merged.get(kind)
        # The list of a cache is the same object until the cache changes.
        if merged is None or not all(map(operator.is_, merged[0], lists)) or len(merged[0]) != len(lists):
            by_name = {_key(each): each for objects in reversed(lists) for each in objects}
            merged = self._merged[kind] = lists, tuple(by_name[key] for key in sorted(by_name))
        return merged[1]

    def _served(self, kind: str) -> list[Cache]:
        return [each for each in self._caches.get(kind, ()) if each.served]


def _key(each: Object) -> ObjectKey:
    return namespace_of(each), each.metadata.name


def _members(each: Object | None) -> Members:
    """Return the label sets of the members of a PodGroup; none if it lists none, or is being deleted."""
    if not isinstance(each, PodGroup) or each.metadata.deletion_timestamp is not None:
        return ()
    return read_members((each.metadata.annotations or {}).get(MEMBERS))


def _counts(cache: Cache, child: Object, caches: Sequence[Cache]) -> bool:
    """Return whether no cache before *cache* has an object of the name of *child*, its object."""
    return next((each for each in caches if each.get(_key(child)) is not None), cache) is cache
