"""Submitted writes of a controller that the watch does not show yet; a write is repeated only after RETRY_SECONDS."""

from __future__ import annotations

from scheduler_core.sidecar.writes import AddFinalizer, Ref, RemoveFinalizer, SetCondition, Slot

RETRY_SECONDS = 30.0
"""Time after which a write that the watch does not show is submitted again."""

StateWrite = SetCondition | AddFinalizer | RemoveFinalizer


class PendingWrites:
    """Last write of each slot of each object, kept for RETRY_SECONDS."""

    def __init__(self) -> None:
        self._submitted: dict[tuple[Ref, Slot], tuple[StateWrite, float]] = {}

    @property
    def next_retry(self) -> float | None:
        """Time of the first retry; None: no write is pending."""
        return min((until for _, until in self._submitted.values()), default=None)

    def expire(self, now: float) -> None:
        """Remove the writes that have expired at *now*."""
        self._submitted = {key: submitted for key, submitted in self._submitted.items() if now < submitted[1]}

    def add(self, write: StateWrite, now: float) -> bool:
        """Record *write* and return whether it must be submitted: it differs from the last write of its slot."""
        key = (write.target, write.slot)
        if key in self._submitted and self._submitted[key][0] == write:
            return False
        self._submitted[key] = write, now + RETRY_SECONDS
        return True
