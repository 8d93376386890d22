"""Writes that a controller has asked for and that do not show yet: asked for once, and again only after a while."""

from __future__ import annotations

from scheduler_core.sidecar.writes import AddFinalizer, Ref, RemoveFinalizer, SetCondition, Slot

RETRY_SECONDS = 30.0
"""A write that has not been seen by then is asked for again."""

StateWrite = SetCondition | AddFinalizer | RemoveFinalizer


class PendingWrites:
    """The last write of each slot of each object, until it is AGAIN_SECONDS old."""

    def __init__(self) -> None:
        self._submitted: dict[tuple[Ref, Slot], tuple[StateWrite, float]] = {}

    @property
    def next_retry(self) -> float | None:
        """When the first of them is to be asked for again if it is still missing; None: none is pending."""
        return min((until for _, until in self._submitted.values()), default=None)

    def expire(self, now: float) -> None:
        """Forget what is too old at *now*."""
        self._submitted = {key: submitted for key, submitted in self._submitted.items() if now < submitted[1]}

    def add(self, write: StateWrite, now: float) -> bool:
        """Record *write* and return whether it must be submitted: it differs from the last write of its slot."""
        key = (write.target, write.slot)
        if key in self._submitted and self._submitted[key][0] == write:
            return False
        self._submitted[key] = write, now + RETRY_SECONDS
        return True
