"""Mailbox of the loop's thread: messages of watches, writers and HTTP requests.

Edge: the queue between threads.
"""

from __future__ import annotations

import dataclasses
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import msgspec

from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.informers import Bookmark, Changed, CurrentVersion, Listed, NotListed, Restored, Unserved
from scheduler_core.sidecar.writes import Evict, Write, WriteOutcome


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """Result of a write."""

    write: Write
    outcome: WriteOutcome
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Returned:
    """Object that the API server returned for a write."""

    kind: str
    content: msgspec.Raw


@dataclasses.dataclass(frozen=True, slots=True)
class Retried:
    """The first try of a write failed; it is retried."""

    write: Write
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class DryRunDone:
    """Result of the dry run of the evictions *plan* of a root; *refused* is the first refused or failed one, None if there is none."""

    root: Name
    plan: tuple[Evict, ...]
    refused: Evict | None
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class LoopCall:
    """Function to call in the loop's thread; *answer* receives the result."""

    function: Callable[[], Any]
    answer: Future[Any]


Message = Listed | Changed | Bookmark | Restored | CurrentVersion | Unserved | NotListed | Done | Returned | Retried | DryRunDone | LoopCall


MAX_EVENTS = 20_000
"""Number of messages from which on watches wait: each event has kilobytes, and the API server can send more than the loop applies."""
FULL_SECONDS = 0.02
"""Interval at which a watch looks whether it can go on."""


class Mailbox:
    """Messages in the order of arrival."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def enqueue(self, message: Message | None) -> None:
        """Add a message; None only wakes up the receiver.  An event of a watch waits while there are MAX_EVENTS messages."""
        while isinstance(message, Changed) and self._messages.qsize() >= MAX_EVENTS:
            time.sleep(FULL_SECONDS)
        self._messages.put(message)

    def dequeue(self, seconds: float, max_messages: int) -> Iterator[Message]:
        """Yield at most *max_messages* messages; wait up to *seconds* for the first."""
        try:
            first = self._messages.get(timeout=seconds) if seconds > 0 else self._messages.get_nowait()
            yield from filter(None, (first,))
            for _ in range(max_messages - 1):
                yield from filter(None, (self._messages.get_nowait(),))
        except queue.Empty:
            return
