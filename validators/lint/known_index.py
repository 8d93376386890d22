"""Index of the objects of many files that can change, as a lookup that records what is read.

The lookups have the results of ``lookup.KnownObjects`` for the same objects in the same order.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, overload

from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.priority import SYSTEM_CLASSES
from validators.lookup import references_to_groups
from validators.model.objects import Object, namespace_of

Place = tuple[bytes, int]
"""Sort key of an object: its file, and its number in the file."""
Key = tuple[str, ...]
"""Part of the index: ``name KIND NAMESPACE NAME``, ``children KIND NAMESPACE PARENT``, ``kind KIND``, or ``known KIND``.

The last one is whether the index has any object of that kind.
"""


P = TypeVar("P", Place, int)


class ObjectIndex:
    """Objects with their places, in order of place."""

    def __init__(self) -> None:
        self._objects: dict[Key, list[tuple[Place, Object]]] = {}
        self._groups: dict[Key, list[tuple[Place, Group]]] = {}
        """Cache: the groups among the objects of a key."""

    def add(self, place: Place, item: Object) -> set[Key]:
        """Add an object; return the keys whose objects are changed by that."""
        keys = {*_keys(item)}
        if not self._objects.get(("kind", item.kind)):
            keys.add(("known", item.kind))
        for key in _keys(item):
            self._groups.pop(key, None)
            bisect.insort(self._objects.setdefault(key, []), (place, item), key=_place)
        return keys

    def append(self, place: Place, item: Object) -> None:
        """Add an object after all others."""
        for key in _keys(item):
            self._groups.pop(key, None)
            self._objects.setdefault(key, []).append((place, item))

    def remove(self, place: Place, item: Object) -> set[Key]:
        """Remove an object that was added at *place*; return the keys whose objects are changed by that."""
        keys = {*_keys(item)}
        for key in _keys(item):
            self._groups.pop(key, None)
            listed = self._objects[key]
            del listed[bisect.bisect_left(listed, place, key=_place)]
            if not listed:
                del self._objects[key]
        if not self._objects.get(("kind", item.kind)):
            keys.add(("known", item.kind))
        return keys

    def objects(self, key: Key) -> list[tuple[Place, Object]]:
        """Return the objects of a key with their places."""
        return self._objects.get(key, [])

    def groups(self, key: Key) -> list[tuple[Place, Group]]:
        """Return the groups among the objects of a key with their places: many objects of one name can be unreadable as groups."""
        groups = self._groups.get(key)
        if groups is None:
            groups = self._groups[key] = [*groups_among(self.objects(key))]
        return groups


class RecordingLookup:
    """Lookup in an index; *reads* has the keys on which its results depend."""

    def __init__(self, index: ObjectIndex) -> None:
        self._index = index
        self.reads: set[Key] = set()

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        listed = self.read(("name", kind, "" if kind in CLUSTER_SCOPED else namespace, name))
        if listed:
            return listed[0][1]
        return SYSTEM_CLASSES.get(name) if kind == "PriorityClass" else None

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        listed = self.read(("children", kind, namespace, name))
        return _Objects(lambda: listed)

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup.  The result depends on the objects of the kind only if it is read."""
        self.reads.add(("known", kind))
        return _Objects(lambda: self.read(("kind", kind))) if self._index.objects(("kind", kind)) else None

    def read(self, key: Key) -> list[tuple[Place, Object]]:
        """Return the objects of a key with their places, and record the key."""
        self.reads.add(key)
        return self._index.objects(key)

    def read_groups(self, key: Key) -> list[tuple[Place, Group]]:
        """Return the groups of a key with their places, and record the key."""
        self.reads.add(key)
        return self._index.groups(key)


def groups_among(objects: Iterable[tuple[P, Object]]) -> Iterator[tuple[P, Group]]:
    """Yield the groups among *objects* with their places."""
    return ((place, item) for place, item in objects if isinstance(item, (PodGroup, CompositePodGroup)))


def related_groups(group: Group, read: Callable[[Key], Iterable[tuple[P, Group]]]) -> list[tuple[P, Group]]:
    """Return all groups that are connected with *group* by references to parents, with their places, in order of place.

    *read* returns the groups of a key with their places.
    """
    related: dict[P, Group] = {}
    seen: set[Key] = set()
    waiting = [*_neighbours(group)]
    while waiting:
        key = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        for place, item in read(key):
            if place not in related:
                related[place] = item
                waiting += _neighbours(item)
    return sorted(related.items(), key=lambda each: each[0])


def _neighbours(group: Group) -> Iterator[Key]:
    """Yield the keys of the group itself, its parent and, for a composite, its children."""
    namespace = namespace_of(group)
    yield "name", group.kind, namespace, group.metadata.name
    if parent := group.spec.parent_composite_pod_group_name:
        yield "name", "CompositePodGroup", namespace, parent
    if isinstance(group, CompositePodGroup) and group.metadata.name:
        yield from (("children", kind, namespace, group.metadata.name) for kind in ("PodGroup", "CompositePodGroup"))


class _Objects(Sequence[Object]):
    """Objects of a key, read when they are used, and not copied: each of many pods looks up all pods of its group."""

    def __init__(self, read: Callable[[], list[tuple[Place, Object]]]) -> None:
        self._read = read

    @overload
    def __getitem__(self, index: int) -> Object: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Object]: ...
    def __getitem__(self, index: int | slice) -> Object | Sequence[Object]:
        entries = self._read()[index]
        return [item for _, item in entries] if isinstance(entries, list) else entries[1]

    def __iter__(self) -> Iterator[Object]:
        return (item for _, item in self._read())

    def __len__(self) -> int:
        return len(self._read())


def _place(entry: tuple[Place, Object]) -> Place:
    return entry[0]


def _keys(item: Object) -> Iterator[Key]:
    namespace = namespace_of(item)
    yield "kind", item.kind
    yield "name", item.kind, namespace, item.metadata.name
    yield from (("children", kind, namespace, parent) for kind, parent in references_to_groups(item))
