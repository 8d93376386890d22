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

from webhooks import log
from webhooks.server import tls
from webhooks.server.lifespan import ABORT
from webhooks.settings import Settings

HEAD_BYTES = 32 * 1024
"""Limit for request line and header fields together.  The API server sends less than 1 KiB."""
HEAD_SLICE = 8 * 1024
"""Bytes of a head that are parsed at once."""
UNREAD_BYTES = 32 * 1024
"""Bytes that TLS holds of a connection that is not read, and what one read adds; by default 256 KiB."""


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
        client_names: names of client certificates, of which a client must have one; empty if there is no such limit.
        on_refused: called with the HTTP code of a request that is refused before the application is called.

    """

    max_connections: ClassVar[int]
    head_seconds: ClassVar[float]
    client_names: ClassVar[frozenset[str]]
    on_refused: ClassVar[Callable[[int], None]]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Start the keep-alive timeout at once, as uvicorn starts it only after the first request."""
        super().connection_made(transport)
        self._in_head = self._in_body = False
        self._head_bytes = self._unparsed_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._names = tls.names_of(transport.get_extra_info("peercert")) if self.client_names else frozenset()
        if hasattr(transport, "set_read_buffer_limits"):
            # Bytes that TLS receives while the connection is not read.
            transport.set_read_buffer_limits(UNREAD_BYTES)
        if len(self.connections) > self.max_connections:
            self._close_longest_idle()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Parse the data; limit the bytes and the time of a head.

        The parser reports a field only when it is complete, so a head is parsed in slices, and those without its end are counted.
        Nothing is parsed of a client whose certificate has another name.
        """
        if self.client_names and self.client_names.isdisjoint(self._names):
            self._refuse_client()
            return
        start = 0
        while start < len(data) and not self.transport.is_closing():
            head_only = not self._in_body
            piece = data[start : start + HEAD_SLICE] if head_only and len(data) > HEAD_SLICE else data[start:] if start else data
            super().data_received(piece)
            start += len(piece)
            self._unparsed_bytes = self._unparsed_bytes + len(piece) if head_only and self._in_head else 0
            if self._unparsed_bytes > HEAD_BYTES:
                self._refuse_head()
        if self._in_head and self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self.head_seconds, self._end_late_head)

    def on_message_begin(self) -> None:
        """Begin a head; called by the parser."""
        super().on_message_begin()
        self.scope[ABORT] = self.transport.abort  # type: ignore[literal-required]
        self._in_head, self._in_body, self._head_bytes = True, False, 0

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the request line; called by the parser."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header field with its separators; called by the parser."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """End a head; called by the parser."""
        self._in_head, self._in_body = False, True
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a body; called by the parser."""
        self._in_body = False
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers.

        uvicorn lets that of an idle connection run if the client ends it with an error: the connection, whose TLS buffers take 30 KB,
        would live until then.
        """
        self._stop_timer()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be parsed; called by uvicorn."""
        del msg
        if self._head_bytes > HEAD_BYTES:
            self._refuse_head()
        else:
            self.refuse(400, "not an HTTP/1.1 request")

    def refuse(self, code: int, reason: str, *, as_text: bool = False) -> None:
        """Answer with *code* and *reason*, as JSON or *as_text*, and close the connection."""
        if self.transport.is_closing():
            return
        type(self).on_refused(code)
        unanswered = self.cycle is not None and not self.cycle.response_complete
        if unanswered and (self._in_head or self.pipeline or self.cycle.response_started):
            # The client would take this answer for that of an earlier request.
            self.transport.close()
            return
        media, body = (b"text/plain", reason.encode()) if as_text else (b"application/json", json.dumps({"error": reason}).encode())
        head = b"content-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % (media, len(body))
        self.transport.write(STATUS_LINE[code] + head + body)
        self.transport.close()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES:
            # The parser stops, and uvicorn calls send_400_response.
            raise ValueError

    def _refuse_client(self) -> None:
        if not self.transport.is_closing():
            log.append("warning", "client-refused", {"names": sorted(self._names), "accepted": sorted(self.client_names)})
        # An API server repeats a text to its users; of JSON it would say "unknown".
        self.refuse(403, "the name of the client certificate must be one of --client-name", as_text=True)

    def _refuse_head(self) -> None:
        self.refuse(431, f"request line and headers must be at most {HEAD_BYTES} bytes")

    def _end_late_head(self) -> None:
        self.refuse(408, f"the request must arrive within {self.head_seconds:g} s of its first byte")

    def _stop_timer(self) -> None:
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
    limits = {
        "max_connections": settings.connections,
        "head_seconds": settings.request_seconds,
        "client_names": frozenset(settings.client_name),
        "on_refused": staticmethod(on_refused),
    }
    return type("LimitedConnection", (LimitedConnection,), limits)
