"""ASGI application that receives a whole request, within limits, before a thread runs the WSGI application on it.

A WSGI server needs a thread for each client that is still sending.  Here the event loop receives, so a slow client costs
memory only.  The application runs on any ASGI server.

Source: PEP 3333 (WSGI environment), ASGI 3.0 (HTTP and lifespan messages).
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
import time
from collections.abc import Callable, Iterable
from concurrent import futures
from typing import Any
from urllib import parse

from webhooks.server.lifespan import Lifespan, Message, Receive, Send
from webhooks.server.metrics import Telemetry
from webhooks.server.routes import PLAIN
from webhooks.settings import Settings

Answer = tuple[int, list[tuple[bytes, bytes]], bytes]
"""Status code, header fields with names in lower case, body."""


class RefusedError(Exception):
    """Request that is answered without the WSGI application: *code* and *reason* of the HTTP answer."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code

    def answer(self) -> Answer:
        """Return the HTTP answer.  It closes the connection, as part of the request may be unread."""
        body = json.dumps({"error": str(self)}).encode()
        return self.code, [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"connection", b"close")], body


class Application:
    """ASGI application around the WSGI application *wsgi*.

    Args:
        lifespan: startup and shutdown; it also records the running requests.
        draining: returns True if the server is about to stop; connections are then closed after their next answer.

    """

    def __init__(
        self,
        wsgi: Callable[..., Iterable[bytes]],
        settings: Settings,
        telemetry: Telemetry,
        lifespan: Lifespan,
        draining: Callable[[], bool],
    ) -> None:
        self._wsgi, self._settings, self._telemetry = wsgi, settings, telemetry
        self._lifespan, self._draining = lifespan, draining
        self._pool = futures.ThreadPoolExecutor(settings.threads, "judge")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or handle the server's startup and shutdown (``lifespan``)."""
        if scope["type"] == "lifespan":
            await self._lifespan.live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        try:
            body = await self._receive_body(scope, receive)
            call = asyncio.get_running_loop().run_in_executor(self._pool, self._call, scope, body, time.monotonic())
            status, headers, content = await call
        except RefusedError as refused:
            self._telemetry.refused("connection", refused.code)
            status, headers, content = refused.answer()
        except ConnectionError:
            return
        except asyncio.CancelledError:
            # The server is stopping, and the thread did not finish in time.
            status, headers, content = RefusedError(503, "the server is stopping").answer()
        if self._draining():
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _receive_body(self, scope: Message, receive: Receive) -> bytes:
        """Return the whole body.

        A body above the limit is received and discarded until the deadline: closing while the client sends would reset the
        connection, and the client would not see the answer.

        Raises:
            RefusedError: the body is too large, too slow, or in a transfer coding other than chunked.
            ConnectionError: the client has disconnected.

        """
        limit, seconds = self._settings.body_bytes, self._settings.request_seconds
        too_large = RefusedError(413, f"the body must be at most {limit} bytes")
        size, pieces = _announced(scope, limit, too_large), []
        try:
            async with asyncio.timeout(seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionResetError
                    piece, more = message.get("body", b""), message.get("more_body", False)
                    size += len(piece)
                    if size <= limit:
                        pieces.append(piece)
        except TimeoutError:
            raise too_large if size > limit else RefusedError(408, f"the body must arrive within {seconds:g} s") from None
        if size > limit:
            raise too_large
        return b"".join(pieces)

    def _call(self, scope: Message, body: bytes, arrived: float) -> Answer:
        """Run the WSGI application on a whole request; called in a thread of the pool."""
        if time.monotonic() - arrived > self._settings.request_seconds:
            raise RefusedError(503, f"no thread was free for the request within {self._settings.request_seconds:g} s")
        started: list[tuple[str, list[tuple[str, str]]]] = []
        with self._lifespan.running(arrived):
            pieces: Any = self._wsgi(environment(scope, body), lambda status, headers, _error=None: started.append((status, headers)))
            try:
                content = b"".join(pieces)
            finally:
                getattr(pieces, "close", lambda: None)()
        status, headers = started[-1]
        return int(status[:3]), [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers], content


def _announced(scope: Message, limit: int, too_large: RefusedError) -> int:
    """Return the size to start counting from: Content-Length if it exceeds *limit*, else 0."""
    headers = dict(scope["headers"])
    length = int(headers.get(b"content-length", b"0"))
    if headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
        raise RefusedError(400, "the only supported transfer coding is chunked")
    if length > limit and b"expect" in headers:
        # The client waits for 100 Continue before it sends, so it can be answered at once.
        raise too_large
    return length if length > limit else 0


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
