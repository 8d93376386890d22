"""Mailbox of the loop's thread: messages of watches, writers and the lease.

Edge: the queue between threads.
"""

from __future__ import annotations

import dataclasses
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from scheduler_core.model.decision import Name
from scheduler_core.sidecar.cache.informers import Changed, Listed, Unserved
from scheduler_core.sidecar.writes import Evict, Write, WriteOutcome


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """Result of a write."""

    write: Write
    outcome: WriteOutcome
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Rehearsed:
    """The server would allow every eviction of a root's *plan*; or would not allow *refused*, or cannot be asked."""

    root: Name
    plan: tuple[Evict, ...]
    refused: Evict | None
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """Something to be looked up by the thread that keeps the store; *answer* takes it."""

    look: Callable[[], Any]
    answer: Future[Any]


News = Listed | Changed | Unserved | Done | Rehearsed | Asked


class Mailbox:
    """News, in the order of arrival."""

    def __init__(self) -> None:
        self._news: queue.SimpleQueue[News | None] = queue.SimpleQueue()

    def enqueue(self, news: News | None) -> None:
        """Add news; None only wakes up who waits."""
        self._news.put(news)

    def dequeue(self, seconds: float, most: int) -> Iterator[News]:
        """Yield at most *most* messages; wait up to *seconds* for the first."""
        try:
            first = self._news.get(timeout=seconds) if seconds > 0 else self._news.get_nowait()
            yield from filter(None, (first,))
            for _ in range(most - 1):
                yield from filter(None, (self._news.get_nowait(),))
        except queue.Empty:
            return
