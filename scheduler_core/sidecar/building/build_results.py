"""Results of building, by object: for metrics and /explain; thread-safe.  The metrics themselves are those of a Protocol."""

from __future__ import annotations

import collections
import enum
import threading
from collections.abc import Mapping
from typing import Protocol

from scheduler_core.causes.built_groups import GroupsCause, NotBuiltReason
from scheduler_core.sidecar.building.owned_objects import Group, Name
from scheduler_core.sidecar.writes import WriteOutcome


class BuildResult(enum.StrEnum):
    """Result for an object that gets groups; the result of any other is its NotBuiltReason."""

    BUILT = "built"
    OUTDATED = "outdated"
    """Its groups are replaced when the pods of the old ones are gone."""
    REFUSED = "refused"
    """The API server does not accept them."""
    FAILED = "failed"
    """The last write had no answer, or an error of the server."""


Key = tuple[Group, Name]
Result = BuildResult | NotBuiltReason


class BuildMetrics(Protocol):
    """Metrics of mode build."""

    def written(self, write: str, outcome: WriteOutcome) -> None:
        """Count a write of this name."""

    def built(self, objects: Mapping[tuple[str, str], int], waiting: int, oldest: float) -> None:
        """Set the number of objects by kind and result, that of waiting pods, and for how many seconds the oldest of these has existed."""

    def pod_left(self, outcome: str) -> None:
        """Count a pod that has ``joined`` its group after it was created, or was ``released`` without one."""


class BuildResults:
    """Result for each object whose groups are asked for, with its cause if there is more to say."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: dict[Key, tuple[Result, GroupsCause | None]] = {}
        self._counts: collections.Counter[tuple[str, str]] = collections.Counter()

    def set(self, key: Key, result: Result, cause: GroupsCause | None = None) -> None:
        """Replace the result for an object."""
        with self._lock:
            self._remove(key)
            self._results[key] = result, cause
            self._counts[key[0][1], result.value] += 1

    def forget(self, key: Key) -> None:
        """Remove an object that is gone, or whose groups are not asked for."""
        with self._lock:
            self._remove(key)

    def forget_all(self) -> None:
        """Remove all objects: another replica builds their groups."""
        with self._lock:
            for key in [*self._results]:
                self._remove(key)

    def get(self, key: Key) -> tuple[Result, GroupsCause | None] | None:
        """Return the result for an object, and its cause; None if it has not been judged."""
        with self._lock:
            return self._results.get(key)

    def counts(self) -> dict[tuple[str, str], int]:
        """Return the number of objects by kind and result, with a 0 where there are none any more."""
        with self._lock:
            return dict(self._counts)

    def _remove(self, key: Key) -> None:
        if (before := self._results.pop(key, None)) is not None:
            self._counts[key[0][1], before[0].value] -= 1
