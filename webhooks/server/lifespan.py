"""Startup, periodic checks and shutdown of a worker process; it stops if a request is stuck or its parent has ended.

Source: ASGI 3.0 (lifespan messages).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from webhooks import log

TICK_SECONDS = 0.25
"""Period of the checks: key pair, oldest request, parent process."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

ABORT = "muster.abort"
"""Key in the scope of a request: function that ends its connection at once.  Not every server sets it."""


class Lifespan:
    """Startup, checks and shutdown of a worker process.

    Args:
        stuck_seconds: age of a request at which its worker is replaced.
        parent: pid of gunicorn's master; the worker stops when it ends.
        tick: called every TICK_SECONDS in the event loop.

    """

    def __init__(self, stuck_seconds: float, *, parent: int, tick: Callable[[], None]) -> None:
        self._stuck_seconds, self._parent, self._tick = stuck_seconds, parent, tick
        self._arrived: dict[int, float] = {}
        """Monotonic arrival time of the running requests, by thread."""

    @contextlib.contextmanager
    def running(self, arrived: float) -> Iterator[None]:
        """Record that this thread works on a request that arrived at the monotonic time *arrived*."""
        thread = threading.get_ident()
        self._arrived[thread] = arrived
        try:
            yield
        finally:
            del self._arrived[thread]

    async def live(self, receive: Receive, send: Send) -> None:
        """Run from the startup of the server to its shutdown (``lifespan`` messages)."""
        await receive()
        # SIGTERM is blocked since the fork; from now on the event loop handles it.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        self._tick()
        watch = asyncio.create_task(self._watch())
        watch.add_done_callback(_stop_if_failed)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watch.cancel()
        self._tick()
        if self._arrived:
            # A normal exit would wait for these threads, which may never end.
            log.write("error", "abandoned", {"reviews": len(self._arrived), "pid": os.getpid()})
            log.close()
            os._exit(1)
        await send({"type": "lifespan.shutdown.complete"})

    async def _watch(self) -> None:
        """Stop this process gracefully if a request is stuck or the parent process has ended; gunicorn starts another."""
        while True:
            self._tick()
            oldest = min(list(self._arrived.values()), default=None)
            age = 0.0 if oldest is None else time.monotonic() - oldest
            if age > self._stuck_seconds:
                log.write("critical", "stuck", {"seconds": round(age, 1), "pid": os.getpid()})
            elif os.getppid() != self._parent:
                log.write("error", "stopping", {"reason": "the parent process is gone"})
            else:
                await asyncio.sleep(TICK_SECONDS)
                continue
            os.kill(os.getpid(), signal.SIGTERM)
            return


def _stop_if_failed(watch: asyncio.Task[None]) -> None:
    """Stop this process if the periodic checks have failed; gunicorn starts another."""
    if not watch.cancelled() and (error := watch.exception()) is not None:
        log.write("critical", "stopping", {"reason": f"{type(error).__name__}: {error}"})
        os.kill(os.getpid(), signal.SIGTERM)
