"""Work queue of API writes: one in flight per object, urgent first, failed writes after a backoff.

Told the time; knows no thread.
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
    """A write that is to be carried out, *until* when it is tried, and how often it was."""

    write: Write
    until: float = float("inf")
    plan: EvictionDryRun | None = None
    """Ask the server only whether it would: an eviction, before any of this plan is carried out."""
    tries: int = 0
    read_first: bool = False
    """Whether the object is to be looked at before it is tried again."""
    maybe_done: bool = False
    """Whether a try may have been carried out: its answer was lost, or told of an error of the server's own."""
    term: int = 0
    """In which it was decided on, of those in which this process leads."""


@dataclasses.dataclass(slots=True, eq=False)
class EvictionDryRun:
    """Evictions that the server is asked about; *waiting* are those it has not answered yet."""

    on_done: Callable[[Evict | None, str], None]
    waiting: int
    refused: Evict | None = None
    why: str = ""


WriteKey = tuple[Ref, bool]
"""An object; its events, which nothing is to wait for, have a lane of their own."""


class WorkQueue:
    """Tasks, a lane for each object."""

    def __init__(self) -> None:
        self._by_key: dict[WriteKey, collections.deque[QueuedWrite]] = {}
        self._ready: list[tuple[float, int, int, WriteKey]] = []
        self._later: list[tuple[float, int, WriteKey]] = []
        self._count = itertools.count()
        self._events = 0
        self.paused_until = float("-inf")
        """Nothing is begun before: the server asked for quiet."""

    def __len__(self) -> int:
        """Tasks that are not done, those in hand too."""
        return sum(map(len, self._by_key.values()))

    @property
    def pending(self) -> int:
        """Tasks that are not done, without events, which nobody waits for."""
        return len(self) - self._events

    def add(self, task: QueuedWrite) -> bool:
        """Add a task; False for an event where there are too many, and for what waits already."""
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
        """The next task that may be begun; it stays first in its lane until ``done`` or ``again``."""
        if now < self.paused_until:
            return None
        while self._later and self._later[0][0] <= now:
            self._make_ready(heapq.heappop(self._later)[2])
        return self._by_key[heapq.heappop(self._ready)[3]][0] if self._ready else None

    def next_at(self) -> float | None:
        """When there may be something to take that there is not now; None: not before something is put."""
        moments = [self._later[0][0]] if self._later else []
        if self._ready:
            moments.append(self.paused_until)
        return max(min(moments), self.paused_until) if moments else None

    def done(self, task: QueuedWrite) -> None:
        """A task that was taken is over: the next of its lane may be begun."""
        name = _write_key(task.write)
        queued = self._by_key[name]
        queued.popleft()
        if isinstance(task.write, RecordEvent):
            self._events -= 1
        if queued:
            self._make_ready(name)
        else:
            del self._by_key[name]

    def add_after(self, task: QueuedWrite, moment: float) -> None:
        """A task that was taken is to be tried at *moment*."""
        heapq.heappush(self._later, (moment, next(self._count), _write_key(task.write)))

    def _make_ready(self, queued: WriteKey) -> None:
        task = self._by_key[queued][0]
        heapq.heappush(self._ready, (task.write.urgency, 0, next(self._count), queued))


def _write_key(write: Write) -> WriteKey:
    return write.target, isinstance(write, RecordEvent)


def _is_queued(task: QueuedWrite, queued: Collection[QueuedWrite]) -> bool:
    """Return whether *task* is queued for its object already and no later task undoes it.

    Who asks for a state to be written asks again while it does not show: while the server is slow, ever more would wait.
    """
    if (slot := task.write.slot) is None:
        return False
    last = next((each for each in reversed(tuple(queued)) if each.write.slot == slot), None)
    return last is not None and (last.write, last.term) == (task.write, task.term)
