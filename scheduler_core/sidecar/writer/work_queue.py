"""Work queue of API writes: one in flight per object, urgent first, failed writes after a backoff.

The time is an argument; the caller synchronizes threads.
"""

from __future__ import annotations

import collections
import dataclasses
import heapq
import itertools
from collections.abc import Callable, Collection

from scheduler_core.sidecar.writes import Evict, RecordEvent, Ref, Write

MAX_EVENTS = 1000


@dataclasses.dataclass(slots=True, eq=False)
class QueuedWrite:
    """Queued write, with the time *until* which it is retried and the number of its tries."""

    write: Write
    until: float = float("inf")
    plan: EvictionDryRun | None = None
    """The dry run that this eviction is part of; None: a real write."""
    tries: int = 0
    read_first: bool = False
    """Whether the object must be read before the next try."""
    maybe_done: bool = False
    """Whether an earlier try may have been carried out: its response was lost or a server error."""
    term: int = 0
    """Term of this process as leader in which the write was decided."""

    @property
    def changes_objects(self) -> bool:
        """Return whether it is neither part of a dry run nor an event."""
        return self.plan is None and not isinstance(self.write, RecordEvent)


@dataclasses.dataclass(slots=True, eq=False)
class EvictionDryRun:
    """Dry run of the evictions of a plan; *waiting* is the number of missing responses."""

    on_done: Callable[[Evict | None, str], None]
    waiting: int
    refused: Evict | None = None
    why: str = ""


WriteKey = tuple[Ref, bool]
"""An object, and whether the write is an event: events have a separate queue, because no other write must wait for them."""


class WorkQueue:
    """Queue of writes, with one write in flight per object."""

    def __init__(self) -> None:
        self._by_key: dict[WriteKey, collections.deque[QueuedWrite]] = {}
        self._ready: list[tuple[float, int, int, WriteKey]] = []
        self._later: list[tuple[float, int, WriteKey]] = []
        self._count = itertools.count()
        self._events = 0
        self.in_flight = 0
        """Number of writes between ``get`` and ``done`` or ``add_after``, without events and dry runs."""
        self.paused_until = float("-inf")
        """No write starts before this time, as the server requested by Retry-After."""

    def __len__(self) -> int:
        """Return the number of writes that are not done, including those in flight."""
        return sum(map(len, self._by_key.values()))

    @property
    def pending(self) -> int:
        """Number of writes that are not done, without events."""
        return len(self) - self._events

    def add(self, task: QueuedWrite) -> bool:
        """Add a write and return True; False for an excess event or a write that is already queued."""
        if isinstance(task.write, RecordEvent):
            if self._events >= MAX_EVENTS:
                return False
            self._events += 1
        name = _write_key(task.write)
        if _is_queued(task, self._by_key.get(name, ())):
            return False
        queued = self._by_key.setdefault(name, collections.deque())
        queued.append(task)
        if len(queued) == 1:
            self._make_ready(name)
        return True

    def get(self, now: float) -> QueuedWrite | None:
        """Return the next write to carry out, if any; its object is blocked until ``done`` or ``add_after``."""
        if now < self.paused_until:
            return None
        while self._later and self._later[0][0] <= now:
            self._make_ready(heapq.heappop(self._later)[2])
        if not self._ready:
            return None
        task = self._by_key[heapq.heappop(self._ready)[3]][0]
        self.in_flight += task.changes_objects
        return task

    def next_at(self) -> float | None:
        """Return the time from which ``get`` can return a write; None: not before the next ``add``."""
        moments = [self._later[0][0]] if self._later else []
        if self._ready:
            moments.append(self.paused_until)
        return max(min(moments), self.paused_until) if moments else None

    def done(self, task: QueuedWrite) -> None:
        """Remove a finished write; the next write of its object can start."""
        name = _write_key(task.write)
        queued = self._by_key[name]
        queued.popleft()
        self.in_flight -= task.changes_objects
        if isinstance(task.write, RecordEvent):
            self._events -= 1
        if queued:
            self._make_ready(name)
        else:
            del self._by_key[name]

    def add_after(self, task: QueuedWrite, moment: float) -> None:
        """Retry a write of ``get`` at *moment*."""
        self.in_flight -= task.changes_objects
        heapq.heappush(self._later, (moment, next(self._count), _write_key(task.write)))

    def _make_ready(self, queued: WriteKey) -> None:
        task = self._by_key[queued][0]
        heapq.heappush(self._ready, (task.write.urgency, 0, next(self._count), queued))


def _write_key(write: Write) -> WriteKey:
    return write.target, isinstance(write, RecordEvent)


def _is_queued(task: QueuedWrite, queued: Collection[QueuedWrite]) -> bool:
    """Return whether an equal write is already queued for the object, with no later write of the same slot.

    Controllers submit a write again while the watch does not show it: with a slow server, the queue would grow without this check.
    """
    if (slot := task.write.slot) is None:
        return False
    last = next((each for each in reversed(tuple(queued)) if each.write.slot == slot), None)
    return last is not None and (last.write, last.term) == (task.write, task.term)
