"""Leader election by a Lease (coordination.k8s.io/v1): the decisions, without clock and requests.

A candidate takes the lease over once it has seen the same record for the record's duration, by its own clock: clocks of two
machines are never compared.  A leader leads for ``renew_seconds`` after the start of its last successful renewal.  That is
less than the lease's duration, so it stops before another candidate can start.
"""

from __future__ import annotations

import dataclasses
import threading

DURATION_SECONDS = 10.0
RENEW_SECONDS = 7.0
RETRY_SECONDS = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """Spec of a Lease.  *renewed* and *acquired* are for people only; *duration* is in seconds."""

    holder: str = ""
    duration: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0


class Election:
    """State of one candidate, for several threads.  Times are seconds of a monotonic clock.

    Once a caller was told that this candidate does not lead, its next renewal begins a new term, even if its request began in time: else
    the caller would begin a term whose number the writes of the one before have, too.
    """

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
        self._lock = threading.Lock()

    def term(self, now: float) -> int:
        """Return the number of the current term of leadership, counted from 1; 0 if this candidate does not lead."""
        return self._terms if self.leading(now) else 0

    def leading(self, now: float) -> bool:
        """Return True if this candidate leads, and therefore may write, at *now*."""
        return self.remaining(now) > 0

    def remaining(self, now: float) -> float:
        """Return the seconds for which this candidate leads without another renewal; 0 if it does not lead."""
        with self._lock:
            if now >= self._held_until:
                self._held_until = float("-inf")
            return max(0.0, self._held_until - now)

    def next_record(self, record: Record | None, now: float, stamp: str) -> Record | None:
        """Return the record to write after reading *record* at *now*; None while another holds the lease.

        *stamp* is the time of day for *acquired* and *renewed*.
        """
        if record != self._seen:
            self._seen, self._seen_at = record, now
        if record is None or not record.holder:
            return self._mine(record, stamp)
        if record.holder == self.identity:
            return dataclasses.replace(self._mine(record, stamp), acquired=record.acquired, transitions=record.transitions)
        if now < self._expires(record):
            return None
        return self._mine(record, stamp)

    def retry_seconds(self, now: float) -> float:
        """Return the time from *now* to the next step: RETRY_SECONDS, or less if the lease of another candidate can be taken before."""
        if self._seen is None or self._seen.holder in ("", self.identity):
            return RETRY_SECONDS
        left = self._expires(self._seen) - now
        return min(left, RETRY_SECONDS) if left > 0 else RETRY_SECONDS

    def record_write(self, record: Record, began: float) -> None:
        """Note that *record* was written by a request that began at *began*."""
        with self._lock:
            # After a late renewal another candidate may have led in between, so that a new term starts.
            renewed = began < self._held_until and self._seen is not None and self._seen.holder == self.identity
            self._terms += not renewed
            self._seen, self._seen_at = record, began
            self._held_until = began + self._renew_seconds

    def record_loss(self) -> None:
        """Note that another candidate holds the lease, or may hold it."""
        with self._lock:
            self._held_until = float("-inf")

    def release(self, record: Record) -> Record:
        """Stop leading and return the record that lets the next candidate start at once."""
        self.record_loss()
        return dataclasses.replace(record, holder="", duration=1)

    def _expires(self, record: Record) -> float:
        """Return the time at which *record*, the last one that was seen, can be replaced."""
        return self._seen_at + max(float(record.duration), self._duration)

    def _mine(self, record: Record | None, stamp: str) -> Record:
        transitions = record.transitions + 1 if record is not None else 0
        return Record(self.identity, round(self._duration), stamp, stamp, transitions)
