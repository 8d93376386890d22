"""Rate-limited logging of failed writes.

Failures often repeat many times for the same reason, so equal ones are counted and logged together.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.sidecar.writes import Write, WriteOutcome

EVERY_SECONDS = 60.0
"""Minimum interval between two log lines for equal failures; the next line has the number of suppressed ones."""
_LOGGED = frozenset({None, WriteOutcome.REFUSED, WriteOutcome.FAILED})
_RETRIED = "retried"
"""Outcome in the log line of a write whose first try failed."""
_LONGEST = 500
_Key = tuple[str, str, WriteOutcome | None]


class WriteFailures:
    """Failed writes that were logged, with the end of their interval."""

    def __init__(self) -> None:
        self._until: dict[_Key, float] = {}
        self._suppressed: dict[_Key, int] = {}

    def log_fields(self, write: Write, outcome: WriteOutcome | None, why: str, now: float) -> dict[str, Any] | None:
        """Return the fields of the log line; None if the write did not fail, or an equal failure was logged recently.

        Without an *outcome*, the first try of the write failed, and it is retried.
        """
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
            "outcome": outcome.value if outcome is not None else _RETRIED,
            "reason": why[:_LONGEST],
            "untold": self._suppressed.pop(key, 0),
        }
