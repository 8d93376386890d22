"""Reports objects that do not count, because another API group has one of the same kind and name, in an event on each.

The controller returns writes and makes none.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.sidecar.cache.api_groups import IgnoredObject
from scheduler_core.sidecar.writes import RecordEvent, Ref
from scheduler_core.wording.live_words import ignored_words

IGNORED = "Ignored"
"""Reason of the event."""


class IgnoredObjects:
    """Reconciler of the events, each of which is recorded once."""

    def __init__(self) -> None:
        self._reported: set[Ref] = set()

    def wanted(self, ignored: Iterable[IgnoredObject]) -> tuple[RecordEvent, ...]:
        """Return the missing events, by kind and name."""
        found = {each.ref: each for each in ignored}
        new = sorted(found.keys() - self._reported)
        self._reported = {*found}
        return tuple(RecordEvent(ref, "Warning", IGNORED, ignored_words(ref.kind, found[ref].used)) for ref in new)
