"""One connection of the webhook server: handshake, request and answer as steps that never block.

A thread is given a request only when all of it has arrived, and never touches the socket.  So a client that is slow,
silent or gone holds a place in a table until its deadline, and nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import json
import socket
import ssl

from gunicorn.config import Config
from gunicorn.http import errors
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader

from webhooks import framing

PIECE = 64 * 1024
"""Bytes taken from a socket at once."""
TURN = 4 * PIECE
"""Bytes taken from one connection before others have their turn."""
LINGER_SECONDS = 1.0
"""How long what a client still sends is thrown away after its request was refused: a reset would destroy the answer."""


class Stage(enum.Enum):
    """What a connection is doing."""

    HANDSHAKE = enum.auto()
    WAITING = enum.auto()
    READING = enum.auto()
    JUDGING = enum.auto()
    WRITING = enum.auto()
    LINGERING = enum.auto()


class Wants(enum.Enum):
    """What a connection needs before it can go on."""

    READ = enum.auto()
    WRITE = enum.auto()
    TURN = enum.auto()
    """Nothing: there is more to be read already."""
    JUDGE = enum.auto()
    """An answer to its request."""
    CLOSE = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What holds for every connection: bytes of a body, seconds for each active stage and between requests."""

    body_bytes: int
    request_seconds: float
    keepalive_seconds: float


_REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    413: "Content Too Large",
    414: "URI Too Long",
    417: "Expectation Failed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
}
_CODES: tuple[tuple[type[errors.ParseException], int], ...] = (
    (errors.LimitRequestLine, 414),
    (errors.LimitRequestHeaders, 431),
    (errors.ExpectationFailed, 417),
)


def closing_answer(code: int, reason: str) -> bytes:
    """A whole HTTP answer in JSON, after which the connection is closed."""
    body = json.dumps({"error": reason}).encode()
    head = f"HTTP/1.1 {code} {_REASONS[code]}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


class Connection:
    """A client's connection and the request on it.  Owned by the loop of one worker."""

    __slots__ = (
        "_buffer",
        "_config",
        "_limits",
        "_out",
        "_requests",
        "body",
        "deadline",
        "keep",
        "peer",
        "plain",
        "refused",
        "request",
        "server",
        "sock",
        "stage",
    )

    def __init__(
        self,
        sock: socket.socket,
        peer: tuple[str, int],
        server: tuple[str, int],
        *,
        context: ssl.SSLContext | None,
        config: Config,
        limits: Limits,
        now: float,
    ) -> None:
        """Take over *sock*, accepted a moment ago; without *context* it is plain.  Raises OSError where it is gone."""
        sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
        self.plain = context is None
        self.sock = sock
        if context is not None:
            self.sock = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        self.peer, self.server = peer, server
        self.stage = Stage.WAITING if self.plain else Stage.HANDSHAKE
        self.deadline = now + (limits.keepalive_seconds if self.plain else limits.request_seconds)
        self.request: Request | None = None
        self.body: framing.Body | None = None
        self.refused = 0
        """HTTP code with which the last request was refused before the application saw it; 0 for none."""
        self.keep = False
        self._config, self._limits = config, limits
        self._buffer = bytearray()
        self._out = memoryview(b"")
        self._requests = 0

    def advance(self, now: float) -> Wants:
        """Go as far as possible without waiting; *now* is monotonic seconds."""
        try:
            if self.stage is Stage.HANDSHAKE:
                self._shake_hands(now)
            if self.stage in (Stage.WAITING, Stage.READING):
                return self._receive(now)
            if self.stage is Stage.WRITING:
                return self._send(now)
            return self._discard()
        except (ssl.SSLWantReadError, BlockingIOError):
            return Wants.READ
        except ssl.SSLWantWriteError:
            return Wants.WRITE
        except (OSError, ValueError):
            # The client is gone or does not speak TLS.  ssl raises ValueError on a socket that lost its session.
            return Wants.CLOSE

    def answer(self, content: bytes, now: float, *, keep: bool) -> Wants:
        """Begin to send *content*, a whole HTTP answer, and go on as far as possible."""
        self._out = memoryview(content)
        self.keep = keep
        self.stage, self.deadline = Stage.WRITING, now + self._limits.request_seconds
        return self.advance(now)

    def refuse(self, code: int, reason: str, now: float) -> Wants:
        """Answer *code* with *reason* as JSON, and close."""
        self.refused = code
        return self.answer(closing_answer(code, reason), now, keep=False)

    def expire(self, now: float) -> Wants:
        """What to do when the deadline has passed: a request that came too slowly is told so."""
        if self.stage is Stage.READING:
            seconds = self._limits.request_seconds
            return self.refuse(408, f"the request must arrive within {seconds:g} s of its first byte", now)
        return Wants.CLOSE

    def close(self) -> None:
        """Close, with TLS's own goodbye where the connection is up to it."""
        if isinstance(self.sock, ssl.SSLSocket) and self.stage in (Stage.WAITING, Stage.WRITING):
            with contextlib.suppress(OSError, ValueError):
                self.sock.unwrap()
        with contextlib.suppress(OSError):
            self.sock.close()

    def _shake_hands(self, now: float) -> None:
        if isinstance(self.sock, ssl.SSLSocket):
            self.sock.do_handshake()
        self.stage, self.deadline = Stage.WAITING, now + self._limits.keepalive_seconds

    def _receive(self, now: float) -> Wants:
        taken = 0
        while taken < TURN:
            try:
                piece = self.sock.recv(PIECE)
            except (ssl.SSLWantReadError, BlockingIOError):
                return Wants.READ
            if not piece:
                return Wants.CLOSE
            taken += len(piece)
            self._buffer += piece
            wanted = self._understand(now)
            if wanted is not Wants.READ:
                return wanted
        return Wants.TURN

    def _understand(self, now: float) -> Wants:
        """Make what has arrived into a request, or refuse it."""
        if self.stage is Stage.WAITING:
            self.stage, self.deadline = Stage.READING, now + self._limits.request_seconds
        try:
            if self.body is None and not self._read_head():
                return Wants.READ
            if self.body is None:
                return Wants.READ
            self.body.feed(self._buffer)
        except framing.FramingError as error:
            return self.refuse(error.code, str(error), now)
        except errors.ParseException as error:
            code = next((code for kind, code in _CODES if isinstance(error, kind)), 400)
            return self.refuse(code, f"not an HTTP/1.1 request: {error}", now)
        if not self.body.done:
            return Wants.READ
        self.stage = Stage.JUDGING
        return Wants.JUDGE

    def _read_head(self) -> bool:
        head = framing.split_head(self._buffer)
        if head is None:
            return False
        self._requests += 1
        self.request = Request(self._config, IterUnreader([head]), self.peer, self._requests)
        fields = dict(self.request.headers)
        coding = fields.get("TRANSFER-ENCODING")
        if coding is not None and coding.strip().lower() != "chunked":
            raise framing.FramingError("the only transfer coding understood is chunked")
        length = None if coding is not None else int(fields.get("CONTENT-LENGTH", "0"))
        self.body = framing.Body(length, self._limits.body_bytes)
        if "EXPECT" in fields and not self.body.done and not self._buffer:
            self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _send(self, now: float) -> Wants:
        while self._out:
            self._out = self._out[self.sock.send(self._out) :]
        self.request = self.body = None
        if self.keep:
            self.stage, self.deadline = Stage.WAITING, now + self._limits.keepalive_seconds
            return self._understand(now) if self._buffer else self._receive(now)
        if not self.refused and not self._buffer:
            return Wants.CLOSE
        # Bytes that nobody reads would make the kernel answer with a reset.
        self.stage, self.deadline = Stage.LINGERING, now + LINGER_SECONDS
        self.sock.shutdown(socket.SHUT_WR)
        return self._discard()

    def _discard(self) -> Wants:
        for _ in range(TURN // PIECE):
            if not self.sock.recv(PIECE):
                return Wants.CLOSE
        return Wants.TURN
