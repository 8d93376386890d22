"""Receiving of whole request bodies: limits of size, time and total memory.

The bodies under way of a worker share ``total_body_bytes``, from the first byte to the answer.  A quarter is reserved for small
bodies.  A large body waits for its part before it is received: the connection is not read meanwhile.  If others wait, bodies
that are late are dropped, the largest and slowest first.

Source: ASGI 3.0 (HTTP messages); client-go, ``rest/with_retry.go``: 429 and 5xx are retried if they have Retry-After in seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json

from webhooks.server.lifespan import Message, Receive
from webhooks.server.shares import Claim, Share
from webhooks.settings import Settings

Answer = tuple[int, list[tuple[bytes, bytes]], bytes]
"""Status code, header fields with names in lower case, body."""
SMALL_BYTES = 64 * 1024
"""Largest small body.  The server has read so much before the application is called; the usual review has 3 KB."""
RESERVED = 4
"""The share of small bodies is the total divided by this."""
PATIENCE_SECONDS = 0.5
"""Time for a large body to arrive once it has its part, while others wait; 7 MB take a tenth of it."""
WAITING = 0.4
"""Part of ``request_seconds`` for which a body waits for its part: the API server has 3 s, and retries after one."""
RETRY_SECONDS = 1
"""Retry-After of a request that is refused because of others."""
MOST_WAITING = 100
"""Bodies of each share that wait for their part.  Each holds up to 0.4 MB in buffers of its connection."""


class RefusedError(Exception):
    """Request that is answered without the WSGI application: *code* and *reason* of the HTTP answer.

    With *retry*, the API server repeats the request.  If the request was not *received* whole, the answer closes the connection.
    """

    def __init__(self, code: int, reason: str, *, retry: bool = False, received: bool = False) -> None:
        super().__init__(reason)
        self.code, self._retry, self.received = code, retry, received

    def answer(self) -> Answer:
        """Return the HTTP answer.  It closes the connection if part of the request may be unread."""
        body = json.dumps({"error": str(self)}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        if self._retry:
            headers.append((b"retry-after", b"%d" % RETRY_SECONDS))
        if not self.received:
            headers.append((b"connection", b"close"))
        return self.code, headers, body


class Bodies:
    """All bodies under way of one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._limit, self._seconds = settings.body_bytes, settings.request_seconds
        reserved = settings.total_body_bytes // RESERVED
        self.small = Share(reserved, patience=0.0, most_waiting=MOST_WAITING)
        self.large = Share(settings.total_body_bytes - reserved, patience=PATIENCE_SECONDS, most_waiting=MOST_WAITING)

    async def receive(self, scope: Message, receive: Receive, claims: contextlib.ExitStack) -> bytes:
        """Return the whole body; *claims* returns its part of the total.

        A body above the limit is received and discarded until the deadline, so that clients that send all of it first see the answer.

        Raises:
            RefusedError: the body is too large, too slow, in a transfer coding other than chunked, or dropped for others.
            ConnectionError: the client has disconnected.

        """
        body = _Body(self, scope, receive, claims, self._limit)
        try:
            async with asyncio.timeout(self._seconds) as deadline:
                await body.receive(deadline, self._seconds * WAITING)
        except TimeoutError:
            if body.size <= self._limit:
                raise self._refused(crowded_out=body.crowded_out) from None
        if body.size > self._limit:
            raise RefusedError(413, f"the body must be at most {self._limit} bytes", received=not body.more)
        return body.content()

    def _refused(self, *, crowded_out: bool) -> RefusedError:
        if crowded_out:
            return RefusedError(429, "too many large or slow request bodies are under way; try again", retry=True)
        return RefusedError(408, f"the body must arrive within {self._seconds:g} s")

    def figures(self) -> dict[str, tuple[int, int]]:
        """Return for each share the bytes that are claimed, and the number of bodies that wait for their part."""
        return {name: (share.used, share.waiting) for name, share in (("small", self.small), ("large", self.large))}

    def share(self, size: int) -> Share:
        """Return the share of a body of *size* bytes."""
        return self.small if size <= SMALL_BYTES else self.large


class _Body:
    """One body while it is received.

    Attributes:
        size: bytes received, or announced if these are more than the limit.
        more: True until the end is received.

    """

    def __init__(self, bodies: Bodies, scope: Message, receive: Receive, claims: contextlib.ExitStack, limit: int) -> None:
        self._bodies, self._receive, self._claims, self._limit = bodies, receive, claims, limit
        length = _announced(scope, limit)
        self.size = length if length > limit else 0
        self._expected = length or SMALL_BYTES if _has_chunks(scope) else length
        self.more = True
        self._claim: Claim | None = None
        self._stream = io.BytesIO()

    @property
    def crowded_out(self) -> bool:
        """Return True if the body was dropped, or has waited for its part in vain."""
        return self._claim is None or self._claim.dropped

    async def receive(self, deadline: asyncio.Timeout, waiting_seconds: float) -> None:
        """Receive the rest.  Raises TimeoutError and ConnectionError."""
        await self._claim_part(self._expected, deadline, waiting_seconds)
        while self.more:
            piece = await self._next()
            if self.size > self._limit:
                self._stream = io.BytesIO()
                continue
            if self.size > self._expected:
                # Chunks do not announce their sum.
                await self._claim_part(self._limit, deadline, waiting_seconds)
            self._stream.write(piece)
        if self._claim is not None:
            self._claim.settled = True

    def content(self) -> bytes:
        """Return the body; the stream and the result share their memory."""
        return self._stream.getvalue()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        piece: bytes = message.get("body", b"")
        self.more = message.get("more_body", False)
        self.size += len(piece)
        return piece

    async def _claim_part(self, size: int, deadline: asyncio.Timeout, waiting_seconds: float) -> None:
        """Claim *size* bytes of the total in place of those that this body has."""
        self._expected = min(size, self._limit)
        share, self._claim = self._bodies.share(self._expected), None
        async with asyncio.timeout(waiting_seconds):
            claim = await share.claim(self._expected, deadline)
        self._claims.close()
        self._claims.callback(share.release, claim)
        self._claim = claim


def _has_chunks(scope: Message) -> bool:
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


def _announced(scope: Message, limit: int) -> int:
    """Return the Content-Length; 0 if there is none.  Raises RefusedError."""
    headers = dict(scope["headers"])
    length = int(headers.get(b"content-length", b"0"))
    if headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
        raise RefusedError(400, "the only supported transfer coding is chunked")
    if length > limit and b"expect" in headers:
        # The client waits for 100 Continue before it sends, so it can be answered at once.
        raise RefusedError(413, f"the body must be at most {limit} bytes")
    return length
