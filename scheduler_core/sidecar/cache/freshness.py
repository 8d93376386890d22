"""Filter of outdated events of one kind, by uid and resourceVersion: late, repeated or reordered events have no effect.

Resource versions of one kind are increasing integers (KEP-5504).  An event whose version is missing or not a number is always
accepted.
"""

from __future__ import annotations

import collections
from typing import Final

import msgspec

from kubeapi import decode
from kubeapi.base_structs import Record
from kubeapi.gather import Name
from kubeapi.meta import Struct
from kubeapi.names import CLUSTER_SCOPED

MAX_REMEMBERED = 10_000
"""Maximum number of remembered deletions; the oldest are removed first.  No watch is late by so many events."""


class Stamp(Record, frozen=True, gc=False):
    """uid and resourceVersion of an object; 0 if the version is unknown."""

    uid: str
    version: int

    def older_than(self, other: Stamp) -> bool:
        """Return whether this version is known to be older."""
        return 0 < self.version < other.version


def number(version: str) -> int:
    """Return a resourceVersion as a number; 0 if it is not a number."""
    return int(version) if version.isascii() and version.isdecimal() and len(version) < _DIGITS else 0


_DIGITS = 25


class _Meta(Struct, frozen=True, gc=False):
    """Name, namespace, uid and resourceVersion of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Head(Struct, frozen=True, gc=False):
    """The part of an object that identifies it."""

    api_version: str = ""
    metadata: _Meta = _Meta()


_HEAD: Final = msgspec.json.Decoder(_Head)


def read_head(kind: str, raw: decode.Text) -> tuple[str, Name, Stamp] | None:
    """Return apiVersion, name and stamp of an object; None if they cannot be read."""
    try:
        head = _HEAD.decode(raw)
    except (ValueError, RecursionError):
        return None
    meta = head.metadata
    if not meta.name:
        return None
    name = ("" if kind in CLUSTER_SCOPED else meta.namespace or "default", meta.name)
    return head.api_version, name, Stamp(meta.uid, number(meta.resource_version))


class Freshness:
    """Existing objects of one kind, by ``namespace/name``, each with its stamp."""

    def __init__(self) -> None:
        self.known: dict[str, Stamp] = {}
        self.complete_to = 0
        """Version up to which all changes of the kind are known."""
        self._gone: collections.OrderedDict[str, Stamp] = collections.OrderedDict()
        self._floor = 0
        self._list: int | None = None
        """Version of the list that is being read."""
        self._unlisted: set[str] = set()
        """Objects that this list has not shown, of those that were known at its beginning."""

    def add_or_update(self, key: str, stamp: Stamp, *, listed: bool = False) -> bool:
        """Record an object as of *stamp*, from an event or *listed*; return False if it is outdated or already known."""
        if listed:
            self._unlisted.discard(key)
        known = self.known.get(key)
        if known is not None:
            if stamp.older_than(known) or (known.version and known == stamp):
                return False
        elif self._is_gone(key, stamp) or (not listed and 0 < stamp.version <= self._floor):
            return False
        self.known[key] = stamp
        return True

    def delete(self, key: str, stamp: Stamp) -> bool:
        """Record the deletion of an object; return False if the event is outdated or the object was not known."""
        known = self.known.get(key)
        same = known is None or not stamp.uid or not known.uid or stamp.uid == known.uid
        if known is not None and not same and not known.older_than(stamp):
            return False
        self._remember_deletion(key, stamp if known is None or stamp.version >= known.version else Stamp(stamp.uid, known.version))
        return self.known.pop(key, None) is not None

    def restart(self) -> None:
        """Forget all versions; which objects exist is kept."""
        self.known = {key: Stamp(stamp.uid, 0) for key, stamp in self.known.items()}
        self._gone.clear()
        self._floor = self.complete_to = 0
        self._list, self._unlisted = None, set()

    def is_new(self, version: int) -> bool:
        """Return whether a list at *version* (0: unknown) is not older than another list."""
        return not 0 < version < self._floor

    def begin_list(self, version: int) -> None:
        """Begin a list at *version* (0: unknown), whose objects are ``add_or_update``d in any number of parts; it ends one at another."""
        if self.is_new(version) and (version != self._list or not version):
            self._floor, self._list, self._unlisted = max(self._floor, version), version, {*self.known}

    def end_list(self, version: int) -> list[str]:
        """Remove and return the objects that are missing from the list at *version*; none if another list is newer."""
        if version != self._list:
            return []
        gone = [key for key in self._unlisted if (stamp := self.known.get(key)) is not None and not 0 < version < stamp.version]
        for key in gone:
            del self.known[key]
        self._list, self._unlisted = None, set()
        return sorted(gone)

    def _is_gone(self, key: str, stamp: Stamp) -> bool:
        gone = self._gone.get(key)
        if gone is None:
            return False
        return bool(gone.uid and gone.uid == stamp.uid) or 0 < stamp.version <= gone.version

    def _remember_deletion(self, key: str, stamp: Stamp) -> None:
        if key not in self._gone or not stamp.older_than(self._gone[key]):
            self._gone[key] = stamp
        self._gone.move_to_end(key)
        while len(self._gone) > MAX_REMEMBERED:
            self._gone.popitem(last=False)
