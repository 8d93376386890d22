"""Objects of one kind as they were last heard of, kept by one thread and read by many without a lock.

A reader only ever calls ``dict.get`` and ``sorted(dict.values())``, which copies before it compares.  Getting and
copying happen inside one step of the interpreter while it holds its global lock, so they see the dict before or after
a change and never in between; a list from the server is built aside and put in place by one assignment.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence

from validators.lookup import parent_of
from validators.model.cluster import SYSTEM_CLASSES
from validators.model.objects import CLUSTER_SCOPED, Object, namespace_of

Place = tuple[str, str]
"""Namespace (empty for kinds that have none) and name."""


@dataclasses.dataclass(slots=True)
class _State:
    """What is known: by name, and by the group that an object says it belongs to.  ``changes`` counts changes."""

    objects: dict[Place, Object] = dataclasses.field(default_factory=dict)
    children: dict[Place, dict[str, Object]] = dataclasses.field(default_factory=dict)
    changes: int = 0

    def add_or_update(self, found: Object) -> None:
        place = (namespace_of(found), found.metadata.name)
        before = self.objects.get(place)
        if before == found:
            # Most updates of nodes and pods change nothing that a rule reads.
            return
        if before is not None and parent_of(before) != parent_of(found):
            self._leave(place, before)
        self.objects[place] = found
        if parent := parent_of(found):
            self.children.setdefault((place[0], parent), {})[place[1]] = found
        self.changes += 1

    def remove(self, place: Place) -> None:
        gone = self.objects.pop(place, None)
        if gone is not None:
            self._leave(place, gone)
            self.changes += 1

    def _leave(self, place: Place, gone: Object) -> None:
        group = (place[0], parent_of(gone))
        siblings = self.children.get(group)
        if siblings is not None and siblings.pop(place[1], None) is not None and not siblings:
            del self.children[group]


class Cache:
    """The objects of one kind.  Unknown until listed, and again when it was not heard of for *stale_seconds*."""

    def __init__(self, kind: str, stale_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.kind = kind
        self.served = True
        """Whether the API server has this kind."""
        self.listed = False
        """Whether all objects were known once."""
        self.complaint = ""
        """Why the last attempt to list or watch failed; empty when it did not."""
        self._stale_seconds, self._clock = stale_seconds, clock
        self._state = _State()
        self._heard = clock()
        self._listing: tuple[_State, int, tuple[Object, ...]] | None = None

    @property
    def known(self) -> bool:
        """Whether what is here may be taken for what is in the cluster."""
        return self.served and self.listed and self._clock() - self._heard <= self._stale_seconds

    def get(self, place: Place) -> Object | None:
        """The object there, if it is known."""
        return self._state.objects.get(place) if self.known else None

    def children(self, group: Place) -> Sequence[Object]:
        """The objects that name *group* as theirs, by name; none where nothing is known."""
        found = self._state.children.get(group) if self.known else None
        return sorted(found.values(), key=lambda each: each.metadata.name) if found else ()

    def list_objects(self) -> Sequence[Object] | None:
        """All objects, by namespace and name; None where nothing is known."""
        if not self.known:
            return None
        state, listing = self._state, self._listing
        # Counted before it is copied: what changes meanwhile makes the copy out of date, and it is made again.
        changes = state.changes
        if listing is None or listing[0] is not state or listing[1] != changes:
            objects = sorted(state.objects.values(), key=lambda each: (namespace_of(each), each.metadata.name))
            listing = self._listing = (state, changes, tuple(objects))
        return listing[2]

    def record_contact(self) -> None:
        """The server has just been in touch."""
        self._heard = self._clock()
        self.complaint = ""

    def replace(self, objects: Iterable[Object]) -> None:
        """Take *objects* for all there are."""
        state = _State()
        for each in objects:
            state.add_or_update(each)
        self._state = state
        self.served = self.listed = True
        self.record_contact()

    def add_or_update(self, found: Object) -> None:
        """An object was added or changed."""
        self._state.add_or_update(found)

    def remove(self, gone: Object) -> None:
        """An object was deleted."""
        self._state.remove((namespace_of(gone), gone.metadata.name))

    def not_served(self) -> None:
        """The API server does not have this kind."""
        self.served, self.listed = False, False
        self._state = _State()
        self.record_contact()


class CachedLookup:
    """A Lookup over caches; kinds without one are unknown."""

    def __init__(self, caches: Iterable[Cache]) -> None:
        self._caches = {each.kind: each for each in caches}

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        cache = self._caches.get(kind)
        found = cache.get(("" if kind in CLUSTER_SCOPED else namespace, name)) if cache is not None else None
        return SYSTEM_CLASSES.get(name) if found is None and kind == "PriorityClass" else found

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        cache = self._caches.get(kind)
        return cache.children((namespace, name)) if cache is not None else ()

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        cache = self._caches.get(kind)
        return cache.list_objects() if cache is not None else None
