"""What is to be written next: one write at a time for each object, the urgent first, the failed after a while.

Told the time; knows no thread.
"""

from __future__ import annotations

import collections
import dataclasses
import heapq
import itertools
from collections.abc import Callable

from scheduler_core.sidecar.writes import (
    AddFinalizer,
    Bind,
    Evict,
    Nominate,
    Ref,
    Remove,
    RemoveFinalizer,
    SetCondition,
    Tell,
    Ungate,
    Write,
)

LONGEST_QUEUE_OF_EVENTS = 1000
_URGENCY: dict[type, int] = {
    Bind: 0,
    Ungate: 0,
    Evict: 0,
    Remove: 1,
    Nominate: 1,
    SetCondition: 2,
    RemoveFinalizer: 3,
    AddFinalizer: 3,
    Tell: 4,
}


def target(write: Write) -> Ref:
    """The object that is written."""
    return write.pod if isinstance(write, Bind | Ungate | Nominate | Evict | Remove) else write.target


@dataclasses.dataclass(slots=True, eq=False)
class Task:
    """A write that is to be carried out, *until* when it is tried, and how often it was."""

    write: Write
    until: float
    plan: Plan | None = None
    """Ask the server only whether it would: an eviction, before any of this plan is carried out."""
    tries: int = 0
    looked: bool = False
    """Whether the object is to be looked at before it is tried again."""
    unknown: bool = False
    """Whether a try may have been carried out: its answer was lost, or told of an error of the server's own."""


@dataclasses.dataclass(slots=True, eq=False)
class Plan:
    """Evictions that the server is asked about; *waiting* are those it has not answered yet."""

    told: Callable[[Evict | None, str], None]
    waiting: int
    refused: Evict | None = None
    why: str = ""


class Lanes:
    """Tasks, a lane for each object."""

    def __init__(self) -> None:
        self._lanes: dict[Ref, collections.deque[Task]] = {}
        self._ready: list[tuple[float, int, int, Ref]] = []
        self._later: list[tuple[float, int, Ref]] = []
        self._count = itertools.count()
        self._events = 0
        self.paused_until = float("-inf")
        """Nothing is begun before: the server asked for quiet."""

    def __len__(self) -> int:
        """Tasks that are not done, those in hand too."""
        return sum(map(len, self._lanes.values()))

    @property
    def pressing(self) -> int:
        """Tasks that are not done, without events, which nobody waits for."""
        return len(self) - self._events

    def put(self, task: Task) -> bool:
        """Add a task; False for an event where there are too many."""
        if isinstance(task.write, Tell):
            if self._events >= LONGEST_QUEUE_OF_EVENTS:
                return False
            self._events += 1
        ref = target(task.write)
        lane = self._lanes.setdefault(ref, collections.deque())
        lane.append(task)
        if len(lane) == 1:
            self._offer(ref)
        return True

    def take(self, now: float) -> Task | None:
        """The next task that may be begun; it stays first in its lane until ``done`` or ``again``."""
        if now < self.paused_until:
            return None
        while self._later and self._later[0][0] <= now:
            self._offer(heapq.heappop(self._later)[2])
        return self._lanes[heapq.heappop(self._ready)[3]][0] if self._ready else None

    def next_at(self) -> float | None:
        """When there may be something to take that there is not now; None: not before something is put."""
        moments = [self._later[0][0]] if self._later else []
        if self._ready:
            moments.append(self.paused_until)
        return max(min(moments), self.paused_until) if moments else None

    def done(self, task: Task) -> None:
        """A task that was taken is over: the next of its lane may be begun."""
        ref = target(task.write)
        lane = self._lanes[ref]
        lane.popleft()
        if isinstance(task.write, Tell):
            self._events -= 1
        if lane:
            self._offer(ref)
        else:
            del self._lanes[ref]

    def again(self, task: Task, moment: float) -> None:
        """A task that was taken is to be tried at *moment*."""
        heapq.heappush(self._later, (moment, next(self._count), target(task.write)))

    def _offer(self, ref: Ref) -> None:
        task = self._lanes[ref][0]
        heapq.heappush(self._ready, (_URGENCY[type(task.write)], 0, next(self._count), ref))
