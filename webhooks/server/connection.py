"""Limits on connections that uvicorn lacks: time and size of a request's head, time of a handshake, number of connections.

The API server never reaches them; they limit the resources that other clients in the cluster's network can hold.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, ClassVar

import uvloop
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from webhooks.settings import Settings

HEAD_BYTES = 32 * 1024
"""Limit for request line and header fields together.  The API server sends less than 1 KiB."""


class Loop(uvloop.Loop):
    """Event loop with a configurable deadline for TLS handshakes; asyncio's is 60 s."""

    handshake_seconds: ClassVar[float] = 60.0

    async def create_server(self, *args: Any, **options: Any) -> Any:
        """See asyncio.loop.create_server."""
        if options.get("ssl"):
            options["ssl_handshake_timeout"] = self.handshake_seconds
        return await super().create_server(*args, **options)


class LimitedConnection(HttpToolsProtocol):
    """HTTP/1.1 connection of uvicorn, with limits.

    Attributes:
        max_connections: connections at once; above it the connection that has been idle longest is closed.
        head_seconds: time from the first byte of a request to the end of its header fields.
        on_refused: called with the HTTP code of a request that is refused before the application is called.

    """

    max_connections: ClassVar[int]
    head_seconds: ClassVar[float]
    on_refused: ClassVar[Callable[[int], None]]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Start the keep-alive timeout at once, as uvicorn starts it only after the first request."""
        super().connection_made(transport)
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        if len(self.connections) > self.max_connections:
            self._close_longest_idle()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Parse the data; while a head is incomplete, limit its bytes and its time."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_head()
        elif not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_timer is None:
                reason = f"the request must arrive within {self.head_seconds:g} s of its first byte"
                self._head_timer = self.loop.call_later(self.head_seconds, self.refuse, 408, reason)
            if self._head_bytes > HEAD_BYTES:
                self.refuse(431, f"request line and headers must be at most {HEAD_BYTES} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer of the head."""
        self._end_head()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be parsed; called by uvicorn."""
        del msg
        self.refuse(400, "not an HTTP/1.1 request")

    def refuse(self, code: int, reason: str) -> None:
        """Answer with *code* and *reason* as JSON, and close the connection."""
        if self.transport.is_closing():
            return
        type(self).on_refused(code)
        body = json.dumps({"error": reason}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[code] + head + body)
        self.transport.close()

    def _end_head(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_longest_idle(self) -> None:
        others: list[Any] = [each for each in self.connections if each is not self and not each.transport.is_closing()]
        idle = [each for each in others if each.timeout_keep_alive_task is not None]
        closing = min(idle, key=lambda each: each.timeout_keep_alive_task.when(), default=self)
        closing.transport.close()


def limited(settings: Settings, on_refused: Callable[[int], None]) -> type[LimitedConnection]:
    """Return the protocol with the limits of *settings*."""
    Loop.handshake_seconds = settings.request_seconds
    limits = {"max_connections": settings.connections, "head_seconds": settings.request_seconds, "on_refused": staticmethod(on_refused)}
    return type("LimitedConnection", (LimitedConnection,), limits)
