"""Minimal HTTP client for the API server: it does little work, because both run on the same processors.

Connections are persistent; requests are assembled as bytes, and only status line and length of a response are parsed.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

Request = tuple[str, str, bytes]
"""Method, path and body."""
TIMEOUT_SECONDS = 120
IDLE_SECONDS = 30.0
"""Idle time after which a connection is replaced, as the server closes idle connections."""
_LONGEST_SHOWN = 800


class RefusedError(Exception):
    """The API server refused a request."""


class Connection:
    """Connection to the server of a kubeconfig, as its user."""

    def __init__(self, kubeconfig: Path) -> None:
        context, (host, port) = credentials(kubeconfig)
        raw = socket.create_connection((host, port), timeout=TIMEOUT_SECONDS)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = context.wrap_socket(raw, server_hostname=host)
        self._host = f"{host}:{port}"
        self.used = time.monotonic()

    def send(self, method: str, path: str, body: bytes, *, missing: bool = False) -> None:
        """Send one request; the status must be 2xx, or with *missing* 404.  Raises RefusedError."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        self.used = time.monotonic()
        self._socket.sendall(head.encode() + body)
        content = self._answer()
        if content[9:10] != b"2" and not (missing and content[9:12] == b"404"):
            raise RefusedError(f"{method} {path}: {content[:_LONGEST_SHOWN].decode(errors='replace')}")

    def _answer(self) -> bytes:
        content = b""
        while (end := content.find(b"\r\n\r\n")) < 0:
            content += self._receive()
        start = content[:end].lower().find(b"content-length:")
        if start < 0:
            while not content.endswith(b"0\r\n\r\n"):
                content += self._receive()
            return content
        length = end + 4 + int(content[start + 15 : end + 4].split(b"\r", 1)[0])
        while len(content) < length:
            content += self._receive()
        return content

    def _receive(self) -> bytes:
        chunk = self._socket.recv(65536)
        if not chunk:
            raise RefusedError("the API server has closed the connection")
        return chunk

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


class Wire:
    """Pool of connections, opened when they are first needed."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._connections: list[Connection] = []

    def press(self, requests: Iterable[Request], connections: int = 8, *, missing: bool = False) -> float:
        """Send all requests over *connections* connections; return the seconds that takes.  Raises RefusedError."""
        self._open(connections)
        pending, lock, failures = iter(requests), threading.Lock(), list[Exception]()

        def work(connection: Connection) -> None:
            try:
                while not failures:
                    with lock:
                        request = next(pending, None)
                    if request is None:
                        return
                    connection.send(*request, missing=missing)
            except (RefusedError, OSError) as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(each,)) for each in self._connections[:connections]]
        started = time.perf_counter()
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if failures:
            raise RefusedError(str(failures[0]))
        return time.perf_counter() - started

    def _open(self, count: int) -> None:
        """Open connections until there are *count*, after closing those that have been idle for IDLE_SECONDS."""
        idle = [each for each in self._connections if time.monotonic() - each.used > IDLE_SECONDS]
        for each in idle:
            each.close()
            self._connections.remove(each)
        while len(self._connections) < count:
            self._connections.append(Connection(self._kubeconfig))

    def close(self) -> None:
        """Close all connections."""
        for each in self._connections:
            each.close()
        self._connections.clear()


def credentials(kubeconfig: Path) -> tuple[ssl.SSLContext, tuple[str, int]]:
    """Return trust and certificate of a kubeconfig in JSON, and the server's host and port."""
    content = json.loads(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    context.set_alpn_protocols(["http/1.1"])
    with tempfile.NamedTemporaryFile() as pair:
        pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pair.flush()
        context.load_cert_chain(pair.name)
    host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
    return context, (host, int(port))
