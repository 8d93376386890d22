"""Rate-limited logging of failed writes.

Told what became of each; writes nothing itself.  What is refused once is mostly refused a thousand times, for one reason.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.sidecar.writes import Write, WriteOutcome

EVERY_SECONDS = 60.0
"""For which one kind of write is told of once; how many more there were is told with the next."""
_LOGGED = frozenset({WriteOutcome.REFUSED, WriteOutcome.FAILED})
_LONGEST = 500
_Key = tuple[str, str, WriteOutcome]


class WriteFailures:
    """Failed writes that were logged, with the time."""

    def __init__(self) -> None:
        self._until: dict[_Key, float] = {}
        self._suppressed: dict[_Key, int] = {}

    def log_fields(self, write: Write, outcome: WriteOutcome, why: str, now: float) -> dict[str, Any] | None:
        """The fields of the line that tells of it; None where there is nothing to tell, or it has just been told of its like."""
        if outcome not in _LOGGED:
            return None
        target = write.target
        key = type(write).__name__, target.kind, outcome
        if now < self._until.get(key, now):
            self._suppressed[key] = self._suppressed.get(key, 0) + 1
            return None
        self._until[key] = now + EVERY_SECONDS
        return {
            "write": key[0],
            "object": f"{target.kind} {target.key}",
            "outcome": outcome.value,
            "reason": why[:_LONGEST],
            "untold": self._suppressed.pop(key, 0),
        }
