"""Requests over kept connections to one server, with responses that are read whole.

It does what a client needs that writes often, in a part of urllib3's processor time.  Edge: sockets, http.client.
"""

from __future__ import annotations

import dataclasses
import http.client
import select
import socket
import ssl
import time

LARGEST_ANSWER = 512 * 1024 * 1024
"""Limit for a response that is read whole, in bytes."""
_HTTP_1_0 = 10
_SHORTEST_SECONDS = 0.001
_SHOWN = 100


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
        self.keeps = True

    def close(self) -> None:
        self._socket.close()

    def is_quiet(self) -> bool:
        """Return whether the server has sent nothing since the last response: else it has closed the connection."""
        return not self._poll.poll(0)

    def send(self, content: bytes, seconds: float) -> None:
        self._socket.settimeout(seconds)
        self._socket.sendall(content)

    def receive(self, deadline: float, seconds: float) -> Response:
        """Return the response to the last request, which begins before *deadline*, and of which each further part comes within *seconds*."""
        self._socket.settimeout(max(_SHORTEST_SECONDS, deadline - time.monotonic()))
        read = http.client.HTTPResponse(self._socket)
        try:
            read.begin()
            if (
                read.version > _HTTP_1_0
                and read.length is None
                and not read.chunked
                and "close" not in read.getheader("connection", "").lower()
            ):
                # http.client takes the end of the connection for the end of the head, too.
                raise UnreadableError("the response has no length: the server closed the connection within its head")
            self._socket.settimeout(seconds)
            # Of a known length less is an error; without one all that comes is the body.
            body = b"" if _is_large(read.length) else read.read() if read.length is not None else read.read(LARGEST_ANSWER + 1)
        except http.client.HTTPException as error:
            raise UnreadableError(f"the response cannot be read: {type(error).__name__}: {str(error)[:_SHOWN]}") from None
        finally:
            read.close()
        if _is_large(read.length) or _is_large(len(body)):
            raise ValueError(f"an answer must be at most {LARGEST_ANSWER} bytes")
        headers: dict[str, str] = {}
        for name, value in read.headers.items():
            key = name.lower()
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        self.keeps = not read.will_close
        return Response(read.status, headers, body)


def _is_large(length: int | None) -> bool:
    return length is not None and length > LARGEST_ANSWER


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
