"""Proxy before the API server with scripted faults: errors, delays, lost responses, held watches.

It listens on loopback without TLS and forwards the caller's token.  Responses are forwarded whole, streams piece by piece.
Every write is counted and recorded.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cluster.control_plane import ControlPlane
from tests.cluster.waiting import until

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host"})
REVIEWS = "/apis/authorization.k8s.io/"
"""Path of requests that write nothing although they are sent by POST."""
REASONS = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedRequest:
    """Recorded request."""

    method: str
    path: str
    query: str
    body: bytes
    number: int
    """Number of the write, counted from 1; 0 for a request that changes nothing."""

    @property
    def changes(self) -> bool:
        return self.number > 0

    @property
    def watches(self) -> bool:
        return "watch=true" in self.query

    @property
    def target(self) -> str:
        """Return path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """Fault applied to a request."""

    code: int = 0
    """Return this HTTP status without calling the server."""
    delay: float = 0.0
    """Seconds of delay before the request is forwarded."""
    lose: bool = False
    """Forward the request and break the connection instead of answering."""
    retry_after: int | None = None


WELL = Fault()


class Faults(ThreadingHTTPServer):
    """Proxy.

    *decide* is called for every request, in the thread that serves it.  ``writes`` are the recorded writes in order, the last at
    ``wrote``.  While ``holding`` is set, no byte of a watch is forwarded, and none of watches of the resources in ``held``.  ``hush`` stops
    the watches that are open then.  ``streams`` has the resources that were watched.  While ``cut`` is set, nothing passes: requests and
    answers are held back.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, plane: ControlPlane, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), _Passing)
        self.decide: Callable[[RecordedRequest], Fault] = lambda _: WELL
        self.writes: list[RecordedRequest] = []
        self.wrote = time.monotonic()
        self.under_way = 0
        self.holding, self.cut = threading.Event(), threading.Event()
        self.held: frozenset[str] = frozenset()
        self.streams: set[str] = set()
        self.hushed = 0
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.upstream = urlsplit(plane.url)
        content = json.loads(Path(plane.kubeconfig).read_text(encoding="utf-8"))
        trusted = base64.b64decode(content["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        self.tls = ssl.create_default_context(cadata=trusted)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def hush(self) -> None:
        """Hold back all further bytes of the open watches without ending them."""
        self.hushed += 1

    def kubeconfig(self, original: Path) -> Path:
        """Write a kubeconfig next to *original*, which has a token, that uses this proxy."""
        content = json.loads(original.read_text(encoding="utf-8"))
        assert "token" in content["users"][0]["user"], "a client certificate does not go through a proxy"
        content["clusters"][0]["cluster"] = {"server": self.url}
        through = original.with_name(f"{original.name}-through-{self.server_address[1]}")
        through.write_text(json.dumps(content), encoding="utf-8")
        return through

    def passes(self) -> bool:
        """Wait while the line is cut; return false if the proxy has ended."""
        while self.cut.is_set():
            if self.ended.wait(0.05):
                return False
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections: tests kill callers."""


@contextlib.contextmanager
def faults(plane: ControlPlane, host: str = "127.0.0.1") -> Iterator[Faults]:
    """Run a proxy before *plane*, which listens on the address *host*.  After it has ended, no write is in progress."""
    server = Faults(plane, host)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
        until(lambda: not server.under_way, told=lambda: f"{server.under_way} writes have no answer")


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Faults

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            changes = self.command in CHANGING and "dryRun=All" not in self.path and not self.path.startswith(REVIEWS)
            path, _, query = self.path.partition("?")
            requested = RecordedRequest(self.command, path, query, body, len(self.server.writes) + 1 if changes else 0)
            if changes:
                self.server.writes.append(requested)
                self.server.wrote = time.monotonic()
            self.server.under_way += changes
        try:
            self._do(requested, self.server.decide(requested))
        finally:
            with self.server.lock:
                self.server.under_way -= changes

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815 - http.server's names

    def _do(self, asked: RecordedRequest, fault: Fault) -> None:
        if fault.delay:
            time.sleep(fault.delay)
        if not self.server.passes():
            self.close_connection = True
        elif fault.code:
            self._refuse(fault)
        else:
            self._pass(asked, fault)

    def _refuse(self, fault: Fault) -> None:
        status = {"kind": "Status", "status": "Failure", "code": fault.code, "reason": REASONS.get(fault.code, ""), "message": "a fault"}
        body = json.dumps(status).encode()
        self.send_response(fault.code)
        self.send_header("Content-Length", str(len(body)))
        if fault.retry_after is not None:
            self.send_header("Retry-After", str(fault.retry_after))
        self.end_headers()
        self.wfile.write(body)

    def _pass(self, asked: RecordedRequest, fault: Fault) -> None:
        upstream = http.client.HTTPSConnection(self.server.upstream.hostname or "", self.server.upstream.port, context=self.server.tls)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
            upstream.request(asked.method, asked.target, asked.body or None, headers)
            answer = upstream.getresponse()
            if fault.lose or not self.server.passes():
                answer.read()
                self.close_connection = True
                return
            self._answer(answer, asked)
        except (OSError, http.client.HTTPException):
            # The server is down: so is the connection through here.
            self.close_connection = True
        finally:
            upstream.close()

    def _answer(self, answer: http.client.HTTPResponse, asked: RecordedRequest) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        if not asked.watches:
            body = answer.read()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        hushed, resource = self.server.hushed, asked.path.rpartition("/")[2]
        self.server.streams.add(resource)
        while piece := answer.read1(65536):
            while self.server.holding.is_set() or hushed < self.server.hushed or resource in self.server.held:
                if self.server.ended.wait(0.01):
                    return
            if not self.server.passes():
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
