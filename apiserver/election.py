"""Who leads, by a Lease (coordination.k8s.io/v1): the decisions, told the time and what the server says.

A candidate takes the lease over once it has seen the same record for as long as the record says it lasts, by its own clock:
clocks of two machines are never compared.  A leader counts as leading for ``renew_seconds`` after it *began* its last
renewal that went through, which is less than the lease lasts: it stops before another may begin.
"""

from __future__ import annotations

import dataclasses

DURATION_SECONDS = 10.0
RENEW_SECONDS = 7.0
RETRY_SECONDS = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """What a Lease says.  *renewed* and *acquired* are texts for people; nothing is computed from them."""

    holder: str = ""
    duration: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0


class Election:
    """One candidate.  Times are seconds of one clock that never goes back."""

    def __init__(self, identity: str, *, duration: float = DURATION_SECONDS, renew_seconds: float = RENEW_SECONDS) -> None:
        if not 0 < renew_seconds < duration:
            raise ValueError(f"renew_seconds must be above 0 and below duration: {renew_seconds}, {duration}")
        self.identity = identity
        self._duration = duration
        self._renew_seconds = renew_seconds
        self._seen: Record | None = None
        self._seen_at = 0.0
        self._held_until = float("-inf")
        self._terms = 0

    def term(self, now: float) -> int:
        """Which time it leads at *now*, counted from 1; 0 if it may not write."""
        return self._terms if self.leading(now) else 0

    def leading(self, now: float) -> bool:
        """Whether this one may write at *now*."""
        return now < self._held_until

    def remaining(self, now: float) -> float:
        """Seconds for which it may still write; 0 if it may not."""
        return max(0.0, self._held_until - now)

    def wants(self, record: Record | None, now: float, stamp: str) -> Record | None:
        """The record to be written, seeing *record* at *now*; None while another holds it.  *stamp* is the time of day for people."""
        if record != self._seen:
            self._seen, self._seen_at = record, now
        if record is None or not record.holder:
            return self._mine(record, stamp)
        if record.holder == self.identity:
            return dataclasses.replace(self._mine(record, stamp), acquired=record.acquired, transitions=record.transitions)
        if now - self._seen_at < max(float(record.duration), self._duration):
            return None
        return self._mine(record, stamp)

    def record_write(self, record: Record, began: float) -> None:
        """*record* was written by a request that began at *began*."""
        # Whoever renews too late may have been followed meanwhile, also by one that has given it up again.
        renewed = self.leading(began) and self._seen is not None and self._seen.holder == self.identity
        self._terms += not renewed
        self._seen, self._seen_at = record, began
        self._held_until = began + self._renew_seconds

    def record_loss(self) -> None:
        """Another holds it, or may."""
        self._held_until = float("-inf")

    def released(self, record: Record) -> Record:
        """The record that lets the next one begin at once."""
        self.record_loss()
        return dataclasses.replace(record, holder="", duration=1)

    def _mine(self, record: Record | None, stamp: str) -> Record:
        transitions = record.transitions + 1 if record is not None else 0
        return Record(self.identity, round(self._duration), stamp, stamp, transitions)
