"""Checks that the cache has every change up to a moment: the versions that the API server had then are read, and awaited.

A term as leader begins with a check of all watched resources: the leader before can have bound pods, allocated claims or evicted pods that a
late watch does not show yet, however long one waits.  If this process was that leader, the versions are read only once no request of it can
take effect any more.  A gang is undone for missing members only after a check of pods and groups.  The time is an argument; ``waits``,
``failed`` and ``reasons`` may be called in any thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Protocol

from kubeapi.versions.served_versions import resources
from scheduler_core.sidecar.cache.cache import Cache

MEMBERS = frozenset(each.name for kind in ("Pod", "PodGroup", "CompositePodGroup") for each in resources(kind))
"""Resources that show which members of a gang exist."""
_UNKNOWN = ""
_LONGEST = 300
_NUMBERS = itertools.count(1)


class CatchUp(Protocol):
    """Informers, as ``cache.informers``."""

    def watched(self) -> frozenset[str]:
        """Return the resources that are watched and served."""

    def catch_up(self, check: int, names: frozenset[str], waits: Callable[[str], bool], failed: Callable[[str, str], None]) -> None:
        """Start to bring resources to the versions that the API server has now; they are reported with the number *check*."""


class VersionCheck:
    """Check of one set of resources at a time."""

    def __init__(
        self, cache: Cache, informers: CatchUp, names: frozenset[str] | None = None, settled: Callable[[], bool] = lambda: True
    ) -> None:
        """Check the resources of these names, or all that are watched; nothing is read before *settled* returns True."""
        self._cache, self._informers, self._names, self._settled = cache, informers, names, settled
        self.number, self.since = 0, 0.0
        """Number of the current check, and the time at which it began; 0: none has begun, or the last one was ended."""
        self._versions: dict[str, str] = {}
        """Version up to which each resource must be complete; empty: not read yet."""
        self._failures: dict[str, str] = {}
        self._reads = False

    def begin(self, now: float) -> None:
        """Begin a check of what is watched at *now*."""
        names = self._informers.watched() if self._names is None else self._informers.watched() & self._names
        number = next(_NUMBERS)
        self.number, self.since = number, now
        self._versions, self._failures, self._reads = dict.fromkeys(names, _UNKNOWN), {}, False
        self._read()

    def _read(self) -> None:
        if not self._reads and self._settled():
            self._reads, number = True, self.number
            self._informers.catch_up(number, frozenset(self._versions), lambda name: self.waits(number, name), self.failed)

    def end(self) -> None:
        """End the check: nothing is awaited."""
        self.number, self._versions = 0, {}

    def set_version(self, number: int, name: str, version: str) -> None:
        """Record the version that the API server had for the resource *name* after the check *number* had begun."""
        # A repeated attempt reads a later version, which is not needed.
        if number == self.number and self._versions.get(name) == _UNKNOWN:
            self._versions[name] = version

    def waits(self, number: int, name: str) -> bool:
        """Return whether *number* is the current check and still waits for the resource *name*."""
        return number == self.number and name in self._versions

    def failed(self, name: str, reason: str) -> None:
        """Record why the resource *name* could not be brought to its version."""
        self._failures[name] = reason

    def blocking(self) -> frozenset[str]:
        """Return the resources that are not complete; none: the check has passed."""
        if not self._versions:
            return frozenset()
        self._read()
        watched = self._informers.watched()
        for name, version in list(self._versions.items()):
            # A resource that is not served any more has no later changes.
            if name not in watched or (version != _UNKNOWN and self._cache.is_complete(name, version)):
                del self._versions[name]
        # Nothing is read of a resource that is not listed: the roots that need it wait for it anyway.
        return frozenset(filter(self._cache.is_listed, self._versions))

    def reasons(self, now: float) -> tuple[str, ...]:
        """Return for each blocking resource what is missing, since when, and why."""
        versions = sorted(item for item in list(self._versions.items()) if self._cache.is_listed(item[0]))
        return tuple(self._reason(name, version, now) for name, version in versions)

    def _reason(self, name: str, version: str, now: float) -> str:
        if not self._reads:
            return f"{name} objects: a request of the term before may still take effect, for {now - self.since:.0f} s"
        wanted = f"resourceVersion {version}" if version else "the current resourceVersion"
        failure = f": {failed[:_LONGEST]}" if (failed := self._failures.get(name)) else ""
        return f"{name} objects: not complete up to {wanted} for {now - self.since:.0f} s{failure}"


class MembersCheck:
    """Time up to which the cache shows all members of gangs; a check makes it later when that is needed."""

    def __init__(self, check: VersionCheck) -> None:
        self.check = check
        self._current_at = self._wanted = float("-inf")

    def is_current(self, since: float) -> bool:
        """Return whether the cache has everything up to the time *since*; if not, it will be checked."""
        self._wanted = max(self._wanted, since)
        return self._current_at >= since

    def advance(self, now: float) -> None:
        """End a check that has passed, and begin one that is needed."""
        if self.check.number and not self.check.blocking():
            self._current_at = self.check.since
            self.check.end()
        if self._current_at < self._wanted and not self.check.number:
            self.check.begin(now)
