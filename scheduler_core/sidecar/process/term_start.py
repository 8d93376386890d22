"""Start of a term as leader: nothing is decided before the cache has every change from before the term.

The leader before can have bound pods, allocated claims or evicted pods that a late watch does not show yet.  So for each watched kind the
version that the API server has after the lease was won is read, and the term begins once the cache is complete up to these versions.  The
time is an argument; ``waits``, ``failed`` and ``reasons`` may be called in any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from scheduler_core.sidecar.cache.cache import Cache

_UNKNOWN = ""
_LONGEST = 300


class CatchUp(Protocol):
    """Informers, as ``cache.informers``."""

    def watched(self) -> frozenset[str]:
        """Return the kinds that are watched and served."""

    def catch_up(self, term: int, kinds: frozenset[str], waits: Callable[[str], bool], failed: Callable[[str, str], None]) -> None:
        """Start to bring *kinds* to the versions that the API server has now."""


class TermStart:
    """Kinds for which the current term waits."""

    def __init__(self, cache: Cache, informers: CatchUp) -> None:
        self._cache, self._informers = cache, informers
        self._term, self._since = 0, 0.0
        self._versions: dict[str, str] = {}
        """Version up to which each kind must be complete; empty: not read yet."""
        self._failures: dict[str, str] = {}

    def begin(self, term: int, now: float) -> None:
        """Wait, in *term*, for all kinds that are watched now."""
        kinds = self._informers.watched()
        self._term, self._since = term, now
        self._versions, self._failures = dict.fromkeys(kinds, _UNKNOWN), {}
        self._informers.catch_up(term, kinds, lambda kind: self.waits(term, kind), self.failed)

    def end(self) -> None:
        """Wait for nothing any more."""
        self._term, self._versions = 0, {}

    def set_version(self, term: int, kind: str, version: str) -> None:
        """Record the version that the API server had for *kind* after the lease of *term* was won."""
        # A repeated attempt reads a later version, which is not needed.
        if term == self._term and self._versions.get(kind) == _UNKNOWN:
            self._versions[kind] = version

    def waits(self, term: int, kind: str) -> bool:
        """Return whether *term* is the current one and still waits for *kind*."""
        return term == self._term and kind in self._versions

    def failed(self, kind: str, reason: str) -> None:
        """Record why *kind* could not be brought to its version."""
        self._failures[kind] = reason

    def blocking(self) -> frozenset[str]:
        """Return the kinds for which the term waits; none: it has begun."""
        for kind, version in list(self._versions.items()):
            if version != _UNKNOWN and self._cache.is_complete(kind, version):
                del self._versions[kind]
        # Nothing is read of a kind that is not listed: the roots that need it wait for it anyway.
        return frozenset(filter(self._cache.is_listed, self._versions))

    def waited(self, now: float) -> float:
        """Return the seconds since the lease was won."""
        return now - self._since

    def reasons(self, now: float) -> tuple[str, ...]:
        """Return for each blocking kind why the term has not begun."""
        versions = sorted(item for item in list(self._versions.items()) if self._cache.is_listed(item[0]))
        return tuple(self._reason(kind, version, now) for kind, version in versions)

    def _reason(self, kind: str, version: str, now: float) -> str:
        wanted = f"resourceVersion {version}" if version else "the current resourceVersion"
        failure = f": {failed[:_LONGEST]}" if (failed := self._failures.get(kind)) else ""
        return f"{kind} objects: not complete up to {wanted} for {self.waited(now):.0f} s since this replica leads{failure}"
