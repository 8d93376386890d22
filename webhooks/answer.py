"""An HTTP answer that gunicorn writes into memory instead of a socket.  Shell: part of the gunicorn worker."""

from __future__ import annotations

from gunicorn.http import wsgi


class Sink:
    """Stands in for the socket on which gunicorn writes an answer."""

    def __init__(self) -> None:
        self.content = bytearray()

    def sendall(self, piece: bytes) -> None:
        """Keep a piece of the answer."""
        self.content += piece

    def send(self, piece: bytes) -> int:
        """Ignore ``100 Continue``: the connection has sent it when it was due."""
        return len(piece)


class Answer(wsgi.Response):  # type: ignore[misc] # gunicorn ships no types
    """An HTTP answer that does not name the server's software."""

    def default_headers(self) -> list[str]:
        """See gunicorn.http.wsgi.Response."""
        return [line for line in super().default_headers() if not line.startswith("Server:")]
