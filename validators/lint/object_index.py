"""Index of objects by the keys by which rules look them up, and lookups in an index; one records what is read.

The lookups have the results of ``object_lookup.KnownObjects`` for the same objects in the same order.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.priority import SYSTEM_CLASSES
from validators.hierarchy.tree import GroupTree
from validators.model.objects import Object, namespace_of
from validators.object_lookup import counting, references_to_groups

Place = tuple[bytes, int]
"""Sort key of an object: its file, and its number in the file."""
Key = tuple[str, ...]
"""Part of the index: ``name KIND NAMESPACE NAME``, ``children KIND NAMESPACE PARENT``, ``kind KIND``, or ``known KIND``.

The last one is whether the index has any object of that kind.
"""


P = TypeVar("P", bound=Any)
"""Place of an object: a ``Place`` or a number, by which objects are in order."""


class ObjectIndex(Generic[P]):
    """Objects with their places, in order of place."""

    def __init__(self) -> None:
        self._objects: dict[Key, list[tuple[P, Object]]] = {}
        self._groups: dict[Key, list[tuple[P, Group]]] = {}
        """Cache: the groups among the objects of a key."""

    def add(self, place: P, item: Object) -> set[Key]:
        """Add an object; return the keys whose objects are changed by that."""
        keys = {*_keys(item)}
        if not self._objects.get(("kind", item.kind)):
            keys.add(("known", item.kind))
        for key in _keys(item):
            self._groups.pop(key, None)
            bisect.insort(self._objects.setdefault(key, []), (place, item), key=_place)
        return keys

    def append(self, place: P, item: Object) -> None:
        """Add an object after all others."""
        for key in _keys(item):
            self._groups.pop(key, None)
            self._objects.setdefault(key, []).append((place, item))

    def remove(self, place: P, item: Object) -> set[Key]:
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

    def objects(self, key: Key) -> list[tuple[P, Object]]:
        """Return the objects of a key with their places."""
        return self._objects.get(key, [])

    def groups(self, key: Key) -> list[tuple[P, Group]]:
        """Return the groups among the objects of a key with their places: many objects of one name can be unreadable as groups."""
        groups = self._groups.get(key)
        if groups is None:
            groups = self._groups[key] = [*groups_among(self.objects(key))]
        return groups


class IndexLookup(Generic[P]):
    """Lookup in an index.  Of the kinds *listed*, no other objects exist."""

    def __init__(self, index: ObjectIndex[P], listed: Container[str] = ()) -> None:
        self._index = index
        self._listed = listed
        self._widths: dict[tuple[str, str], bool] = {}

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        listed = self.read(("name", kind, "" if kind in CLUSTER_SCOPED else namespace, name))
        if (item := counting(each for _, each in listed)) is not None:
            return item
        return SYSTEM_CLASSES.get(name) if kind == "PriorityClass" else None

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        listed = self.read(("children", kind, namespace, name))
        return _Objects(lambda: listed)

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        if not self._index.objects(("kind", kind)):
            return () if kind in self._listed else None
        return _Objects(lambda: self.read(("kind", kind)))

    def connected(self, place: P, group: Group) -> Connected[P]:  # noqa: ARG002 - the group has the keys of its place
        """Return the groups that are connected with *group*."""
        return connected_groups(group, self.read_groups, self._widths)

    def read(self, key: Key) -> list[tuple[P, Object]]:
        """Return the objects of a key with their places."""
        return self._index.objects(key)

    def read_groups(self, key: Key) -> list[tuple[P, Group]]:
        """Return the groups of a key with their places."""
        return self._index.groups(key)


class RecordingLookup(IndexLookup[P]):
    """Lookup in an index; *reads* has the keys on which its results depend."""

    def __init__(self, index: ObjectIndex[P]) -> None:
        super().__init__(index)
        self.reads: set[Key] = set()

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup.  The result depends on the objects of the kind only if it is read."""
        self.reads.add(("known", kind))
        return super().list_kind(kind)

    def read(self, key: Key) -> list[tuple[P, Object]]:
        """Return the objects of a key with their places, and record the key."""
        self.reads.add(key)
        return super().read(key)

    def read_groups(self, key: Key) -> list[tuple[P, Group]]:
        """Return the groups of a key with their places, and record the key."""
        self.reads.add(key)
        return super().read_groups(key)


def groups_among(objects: Iterable[tuple[P, Object]]) -> Iterator[tuple[P, Group]]:
    """Yield the groups among *objects* with their places."""
    return ((place, item) for place, item in objects if isinstance(item, (PodGroup, CompositePodGroup)))


@dataclasses.dataclass(frozen=True, slots=True)
class Connected(Generic[P]):
    """Groups that are connected by references to parents, by place, and their tree."""

    groups: Mapping[P, Group]
    tree: GroupTree

    def among(self, places: Mapping[P, None]) -> list[P]:
        """Return those of *places* that have one of the groups."""
        fewer, others = sorted((self.groups, places), key=len)
        return [each for each in fewer if each in others]


def connected_groups(group: Group, read: Callable[[Key], Iterable[tuple[P, Group]]], widths: dict[tuple[str, str], bool]) -> Connected[P]:
    """Return all groups that are connected with *group*, in order of place.

    *read* returns the groups of a key with their places.  *widths* is the cache of ``GroupTree``, which depends on nodes only.
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
    groups = dict(sorted(related.items(), key=lambda each: each[0]))
    tree = GroupTree.build(groups.values())
    tree.widths = widths
    return Connected(groups, tree)


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

    def __init__(self, read: Callable[[], Sequence[tuple[Any, Object]]]) -> None:
        self._read = read

    @overload
    def __getitem__(self, index: int) -> Object: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Object]: ...
    def __getitem__(self, index: int | slice) -> Object | Sequence[Object]:
        if isinstance(index, slice):
            return [item for _, item in self._read()[index]]
        return self._read()[index][1]

    def __iter__(self) -> Iterator[Object]:
        return (item for _, item in self._read())

    def __len__(self) -> int:
        return len(self._read())


def _place(entry: tuple[P, Object]) -> P:
    return entry[0]


def _keys(item: Object) -> Iterator[Key]:
    namespace = namespace_of(item)
    yield "kind", item.kind
    yield "name", item.kind, namespace, item.metadata.name
    yield from (("children", kind, namespace, parent) for kind, parent in references_to_groups(item))
