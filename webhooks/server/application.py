"""ASGI application that receives a whole request, within limits, before a thread runs the WSGI application on it.

A WSGI server needs a thread for each client that is still sending.  Here the event loop receives (``bodies``), so a slow client
costs memory only, and that is limited.  Large requests are processed one at a time, in a thread of their own, and small ones do
not wait for them.  The application runs on any ASGI server.

Source: PEP 3333 (WSGI environment), ASGI 3.0 (HTTP and lifespan messages).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from typing import Any
from urllib import parse

from webhooks.server.bodies import SMALL_BYTES, Answer, Bodies, RefusedError
from webhooks.server.lifespan import ABORT, Lifespan, Message, Receive, Send
from webhooks.server.metrics import Telemetry
from webhooks.server.routes import PLAIN
from webhooks.server.shares import Share
from webhooks.settings import Settings

LINGER_SECONDS = 2.0
"""Time for a client to read why its request was refused before all of it was received."""
SPREAD = 50
"""Number of connections left open at once at which the time doubles: clients that are refused together do not come back together."""
SWITCH_SECONDS = 0.0001
"""Time after which the thread of a large request lets another one run.  Each step of a small review waits so long; the default is
fifty times as long."""
MOST_LINGERING = 100
"""Connections that are left open at once; each holds up to 0.4 MB in its buffers."""


class Application:
    """ASGI application around the WSGI application *wsgi*.

    Args:
        lifespan: startup and shutdown; it also records the running requests.
        draining: returns True if the server is about to stop; connections are then closed after their next answer.
        alone: lock among the processes of this server, held while a large request is processed; it is used by one thread.

    """

    def __init__(
        self,
        wsgi: Callable[..., Iterable[bytes]],
        settings: Settings,
        telemetry: Telemetry,
        lifespan: Lifespan,
        draining: Callable[[], bool],
        alone: contextlib.AbstractContextManager[object] | None = None,
    ) -> None:
        self._wsgi, self._settings, self._telemetry = wsgi, settings, telemetry
        self._lifespan, self._draining = lifespan, draining
        self.bodies, self.turns = Bodies(settings), Share(1)
        self._pool = futures.ThreadPoolExecutor(settings.threads, "judge")
        self._large_pool = futures.ThreadPoolExecutor(1, "judge-large")
        self._alone = alone or contextlib.nullcontext()
        self._lingering = 0
        self._beating: futures.Future[None] | None = None
        self._record_beat()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or handle the server's startup and shutdown (``lifespan``)."""
        if scope["type"] == "lifespan":
            await self._lifespan.live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        arrived, whole = time.monotonic(), True
        with contextlib.ExitStack() as claims:
            try:
                body = await self.bodies.receive(scope, receive, claims)
                status, headers, content = await self._run(scope, body, claims, arrived)
            except RefusedError as refused:
                self._telemetry.refused("connection", refused.code)
                status, headers, content = refused.answer()
                whole = refused.received
            except ConnectionError:
                return
            except asyncio.CancelledError:
                # The server is stopping, and the thread did not finish in time.
                status, headers, content = RefusedError(503, "the server is stopping", retry=True).answer()
        if self._draining():
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content, "more_body": not whole})
        if not whole:
            await self._linger(scope, send)

    async def _linger(self, scope: Message, send: Send) -> None:
        """Leave a refused connection open, but unread, until its client has read the answer; then abort it.

        Closing at once would reset the connection before that.  Reading the rest, as TLS does before it closes, would cost time.
        """
        try:
            if self._lingering < MOST_LINGERING:
                self._lingering += 1
                try:
                    await asyncio.sleep(LINGER_SECONDS * (1 + self._lingering / SPREAD))
                finally:
                    self._lingering -= 1
        finally:
            await send({"type": "http.response.body", "body": b""})
            scope.get(ABORT, _nothing)()

    def beat(self) -> None:
        """Have a thread of the pool record that it was free; called repeatedly in the event loop."""
        if self._beating is None or self._beating.done():
            self._beating = self._pool.submit(self._record_beat)

    def silent_seconds(self) -> float:
        """Return the time since a thread was free for a small request, and the event loop ran."""
        return time.monotonic() - self._last_beat

    def _record_beat(self) -> None:
        self._last_beat = time.monotonic()

    async def _run(self, scope: Message, body: bytes, claims: contextlib.ExitStack, arrived: float) -> Answer:
        """Run the WSGI application in a thread: a large request when it is its turn, in order of size.  Raises RefusedError.

        A large request has one deadline for its body and its turn, as an answer after it would be useless.
        """
        if len(body) <= SMALL_BYTES:
            return await self._in_thread(self._pool.submit(self._call, scope, body, time.monotonic()))
        try:
            async with asyncio.timeout(self._settings.request_seconds - (time.monotonic() - arrived)) as deadline:
                turn = await self.turns.claim(1, deadline, order=len(body))
        except TimeoutError:
            raise self._waited_too_long() from None
        claims.callback(self.turns.release, turn)
        return await self._in_thread(self._large_pool.submit(self._call_large, scope, body, arrived))

    async def _in_thread(self, call: futures.Future[Answer]) -> Answer:
        """Return the result of *call*, unless no thread begins it before the deadline.  Raises RefusedError."""
        # The time alone does not tell who cancelled the call: uvloop rounds it in two ways.
        is_late: list[bool] = []
        deadline = asyncio.get_running_loop().call_later(self._settings.request_seconds, lambda: is_late.append(call.cancel()))
        try:
            return await asyncio.wrap_future(call)
        except asyncio.CancelledError:
            if any(is_late):
                raise self._waited_too_long() from None
            raise
        finally:
            deadline.cancel()

    def _call_large(self, scope: Message, body: bytes, arrived: float) -> Answer:
        """Run the WSGI application while no other process of this server runs it on a large request."""
        with self._alone, _giving_way():
            return self._call(scope, body, arrived)

    def _waited_too_long(self) -> RefusedError:
        reason = f"no thread was free for the request within {self._settings.request_seconds:g} s"
        return RefusedError(503, reason, retry=True, received=True)

    def _call(self, scope: Message, body: bytes, arrived: float) -> Answer:
        """Run the WSGI application on a whole request; called in a thread of the pool."""
        if time.monotonic() - arrived > self._settings.request_seconds:
            raise self._waited_too_long()
        started: list[tuple[str, list[tuple[str, str]]]] = []
        with self._lifespan.running(arrived):
            pieces: Any = self._wsgi(environment(scope, body), lambda status, headers, _error=None: started.append((status, headers)))
            try:
                content = b"".join(pieces)
            finally:
                getattr(pieces, "close", lambda: None)()
        status, headers = started[-1]
        return int(status[:3]), [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers], content


@contextlib.contextmanager
def _giving_way() -> Iterator[None]:
    """Let other threads run soon while this one processes a large request.

    Garbage collection is put off: with the objects of a large review, one takes 20 ms in which no other thread runs.  Reviews have
    no cycles, so what they use is freed all the same.
    """
    seconds = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        sys.setswitchinterval(seconds)


def _nothing() -> None:
    """Do nothing: with ``--server gunicorn``, the server closes the connection."""


def environment(scope: Message, body: bytes) -> dict[str, Any]:
    """Return the WSGI environment of a request (PEP 3333)."""
    server = scope.get("server") or ("localhost", 0)
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": parse.unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        PLAIN: scope["scheme"] == "http",
    }
    for name, value in scope["headers"]:
        if name == b"content-type":
            environ["CONTENT_TYPE"] = value.decode("latin-1")
        # WSGI writes hyphens as underscores, so a name with an underscore would look like another header.
        elif name not in (b"content-length", b"transfer-encoding") and b"_" not in name:
            environ["HTTP_" + name.decode("latin-1").upper().replace("-", "_")] = value.decode("latin-1")
    return environ
