"""Watched objects, as JSON, by kind; thread-safe."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubeapi.decode import section
from workloadbuilder.adapters.built_kinds import controller_of

Json = Mapping[str, Any]
Name = tuple[str, str]
"""Namespace, empty for cluster-scoped kinds, and name."""
Group = tuple[str, str]
"""API group and kind."""


class Objects:
    """The objects of some kinds, which watches keep current; *changed* is called with each object that was added, changed or deleted."""

    def __init__(self, changed: Callable[[Group, Json], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._objects: dict[Group, dict[Name, Json]] = {}
        self._owned: dict[str, dict[tuple[Group, Name], Json]] = {}
        """Objects by the uid of their controller."""

    def set_all(self, group: Group, listed: Iterable[Json]) -> None:
        """Replace all objects of a kind by those of a list."""
        objects = {name_of(each): each for each in listed}
        with self._lock:
            before = self._objects.get(group, {})
            gone = [each for name, each in before.items() if name not in objects]
            for each in before.values():
                self._disown(group, each)
            self._objects[group] = objects
            for each in objects.values():
                self._own(group, each)
        for each in (*gone, *objects.values()):
            self._changed(group, each)

    def add_or_update(self, group: Group, manifest: Json) -> None:
        """Add or replace an object."""
        with self._lock:
            objects = self._objects.setdefault(group, {})
            if (before := objects.get(name_of(manifest))) is not None:
                self._disown(group, before)
            objects[name_of(manifest)] = manifest
            self._own(group, manifest)
        self._changed(group, manifest)

    def remove(self, group: Group, manifest: Json) -> None:
        """Remove an object."""
        with self._lock:
            if (before := self._objects.get(group, {}).pop(name_of(manifest), None)) is not None:
                self._disown(group, before)
        self._changed(group, manifest)

    def get(self, group: Group, name: Name) -> Json | None:
        """Return an object; None if it does not exist."""
        with self._lock:
            return self._objects.get(group, {}).get(name)

    def list_kind(self, group: Group, namespace: str | None = None) -> list[Json]:
        """Return the objects of a kind by name; only those of *namespace* unless it is None."""
        with self._lock:
            found = self._objects.get(group, {})
            return [found[name] for name in sorted(found) if namespace is None or name[0] == namespace]

    def owned_by(self, uid: str) -> list[Json]:
        """Return the objects whose controller has this uid, by kind and name."""
        with self._lock:
            return [each for _, each in sorted(self._owned.get(uid, {}).items(), key=lambda item: item[0])]

    def _own(self, group: Group, manifest: Json) -> None:
        if (owner := controller_of(manifest)) is not None:
            self._owned.setdefault(owner.uid, {})[group, name_of(manifest)] = manifest

    def _disown(self, group: Group, manifest: Json) -> None:
        if (owner := controller_of(manifest)) is not None:
            owned = self._owned.get(owner.uid, {})
            owned.pop((group, name_of(manifest)), None)
            if not owned:
                self._owned.pop(owner.uid, None)


def name_of(manifest: Json) -> Name:
    """Return namespace and name of an object."""
    metadata = section(manifest, "metadata")
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def uid_of(manifest: Json) -> str:
    """Return the uid of an object; empty if it has none."""
    return str(section(manifest, "metadata").get("uid") or "")


def created_seconds(manifest: Json) -> float:
    """Return the time of creation in seconds since the epoch; 0 if an object has none."""
    try:
        return dt.datetime.fromisoformat(str(section(manifest, "metadata").get("creationTimestamp"))).timestamp()
    except ValueError:
        return 0.0


def is_deleted(manifest: Json) -> bool:
    """Return whether an object is being deleted."""
    return section(manifest, "metadata").get("deletionTimestamp") is not None
