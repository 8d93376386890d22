"""Requests to the API server for which the client does as little as it can: it runs on the same processors.

Connections are kept; a request is put together as bytes, and of an answer only its first line and its length are read.
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

Asked = tuple[str, str, bytes]
"""Method, path and body."""
TIMEOUT_SECONDS = 120
IDLE_SECONDS = 30.0
"""After which a connection is opened anew: the server closes idle ones some time."""
_LONGEST_SHOWN = 800


class RefusedError(Exception):
    """The API server does not do what was asked."""


class Line:
    """One connection to the server of a kubeconfig, as its user."""

    def __init__(self, kubeconfig: Path) -> None:
        context, (host, port) = credentials(kubeconfig)
        raw = socket.create_connection((host, port), timeout=TIMEOUT_SECONDS)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = context.wrap_socket(raw, server_hostname=host)
        self._host = f"{host}:{port}"
        self.used = time.monotonic()

    def ask(self, method: str, path: str, body: bytes, *, missing: bool = False) -> None:
        """One request, whose answer must be a success, or with *missing* a 404.  Raises RefusedError."""
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
            content += self._more()
        start = content[:end].lower().find(b"content-length:")
        if start < 0:
            while not content.endswith(b"0\r\n\r\n"):
                content += self._more()
            return content
        whole = end + 4 + int(content[start + 15 : end + 4].split(b"\r", 1)[0])
        while len(content) < whole:
            content += self._more()
        return content

    def _more(self) -> bytes:
        piece = self._socket.recv(65536)
        if not piece:
            raise RefusedError("the API server has closed the connection")
        return piece

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class Wire:
    """Several connections, opened when they are first needed."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._lines: list[Line] = []

    def press(self, requests: Iterable[Asked], lines: int = 8, *, missing: bool = False) -> float:
        """Make all requests, *lines* at a time; the seconds that took.  Raises RefusedError."""
        self._open(lines)
        waiting, lock, failures = iter(requests), threading.Lock(), list[Exception]()

        def work(line: Line) -> None:
            try:
                while not failures:
                    with lock:
                        asked = next(waiting, None)
                    if asked is None:
                        return
                    line.ask(*asked, missing=missing)
            except (RefusedError, OSError) as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(line,)) for line in self._lines[:lines]]
        started = time.perf_counter()
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if failures:
            raise RefusedError(str(failures[0]))
        return time.perf_counter() - started

    def _open(self, lines: int) -> None:
        """Let there be so many connections that the server has not closed for their idleness."""
        idle = [each for each in self._lines if time.monotonic() - each.used > IDLE_SECONDS]
        for each in idle:
            each.close()
            self._lines.remove(each)
        while len(self._lines) < lines:
            self._lines.append(Line(self._kubeconfig))

    def close(self) -> None:
        """Hang up."""
        for each in self._lines:
            each.close()
        self._lines.clear()


def credentials(kubeconfig: Path) -> tuple[ssl.SSLContext, tuple[str, int]]:
    """Trust and certificate of a kubeconfig in JSON, and the server's host and port."""
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
