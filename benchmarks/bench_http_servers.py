"""Comparison of HTTP servers that could serve the webhooks: the table in docs/operate/http-server.md.

``python -m benchmarks.bench_http_servers [SERVER…]`` takes about four minutes.  Each check starts its own server.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import http_servers, load, measure, workloads
from certs import store

SERVERS = ("judging", "gunicorn", *http_servers.STOCK)
NAMES = {"judging": "uvicorn (default)", "gunicorn": "gunicorn, ASGI worker", "gthread": "gunicorn gthread", "granian": "granian WSGI"}
BODY = workloads.review(workloads.usual())
SLOW, IDLE, FLOODING, REPLACEMENTS = 200, 10_000, 48, 4
HEAD = f"POST /validate HTTP/1.1\r\nHost: {load.HOST}\r\nContent-Type: application/json\r\n".encode()
SHAPES = (
    b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"Content-Length: +5\r\n\r\nhello",
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"A: b\r\n Transfer-Encoding: chunked\r\n\r\n",
    b"A: b\rContent-Length: 5\r\n\r\nhello",
    b"A: b\x00c\r\n\r\n",
    b"A: b\nContent-Length: 5\n\nhello",
    b"Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
    b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n",
)


class Target:
    """Server under test."""

    def __init__(self, what: str, directory: Path, server: load.Server) -> None:
        self.what, self.directory, self.server = what, directory, server

    def client(self, seconds: float = 10) -> http.client.HTTPSConnection:
        """Return a new client."""
        context = ssl.create_default_context(cafile=str(self.server.ca))
        return http.client.HTTPSConnection(load.HOST, self.server.port, timeout=seconds, context=context)

    def post(self, client: http.client.HTTPSConnection, body: bytes = BODY, path: str = "/validate") -> int:
        """Send one review and return the HTTP status."""
        client.request("POST", path, body, {"Content-Type": "application/json"})
        answer = client.getresponse()
        answer.read()
        return answer.status

    def raw(self) -> socket.socket:
        """Return a TCP connection without a handshake."""
        return socket.create_connection((load.HOST, self.server.port), timeout=30)

    def tls(self) -> ssl.SSLSocket:
        """Return a connection after its TLS handshake."""
        return load.connection(self.server.port, self.server.ca)


def replaced_key_pair(target: Target) -> str:
    """Count requests dropped while the key pair is replaced; half of the requests are on new connections."""
    stop, failed, answered = threading.Event(), [0], [0]

    def send_requests() -> None:
        client, number = target.client(), 0
        while not stop.is_set():
            number += 1
            try:
                answered[0] += target.post(client) == 200
            except (OSError, http.client.HTTPException):
                failed[0] += 1
                client = target.client()
            if number % 2:
                client.close()

    threads = [threading.Thread(target=send_requests) for _ in range(4)]
    for each in threads:
        each.start()
    for _ in range(REPLACEMENTS):
        time.sleep(4)
        for name in (store.CERTIFICATE, store.KEY):
            file = target.directory / name
            file.write_bytes(file.read_bytes() + b"\n")
        if target.what == "granian":
            os.kill(target.server.process, signal.SIGHUP)
    time.sleep(6)
    stop.set()
    for each in threads:
        each.join()
    return f"{failed[0]} of {answered[0] + failed[0]:,} dropped"


def stop_in_flight(target: Target) -> str:
    """Count the answers to requests whose second half is sent after SIGTERM."""
    halves = [target.tls() for _ in range(6)]
    for sock in halves:
        sock.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY[:10])
    time.sleep(0.5)
    os.kill(target.server.process, signal.SIGTERM)
    time.sleep(0.5)
    answered = 0
    for sock in halves:
        with contextlib.suppress(OSError), sock:
            sock.sendall(BODY[10:])
            answered += sock.recv(65536).startswith(b"HTTP/1.1 200")
    return f"{answered} of 6 answered"


def _p99(target: Target, requests: int = 300) -> float:
    client, seconds = target.client(), []
    with contextlib.closing(client):
        for _ in range(requests):
            started = time.perf_counter()
            if target.post(client) != 200:
                raise SystemExit("a healthy client is refused")
            seconds.append(time.perf_counter() - started)
    return statistics.quantiles(seconds, n=100)[98]


def relative_p99(connect: Callable[[Target], socket.socket], count: int) -> Callable[[Target], str]:
    """Return a check: the p99 of a healthy client while *count* other clients are connected, relative to its p99 without them."""

    def run(target: Target) -> str:
        alone = min(_p99(target), _p99(target))
        with contextlib.ExitStack() as stack:
            try:
                for _ in range(count):
                    stack.enter_context(connect(target))
                return f"{min(_p99(target), _p99(target)) / alone:.1f} times its normal"
            except (OSError, http.client.HTTPException) as error:
                return f"not answered ({type(error).__name__})"

    return run


def _in_handshake(target: Target) -> socket.socket:
    sock = target.raw()
    sock.sendall(b"\x16\x03\x01")
    return sock


def _in_head(target: Target) -> socket.socket:
    sock = target.tls()
    sock.sendall(HEAD)
    return sock


def _in_body(target: Target) -> socket.socket:
    sock = target.tls()
    sock.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
    return sock


def flooded_p99(target: Target) -> str:
    """Measure the p99 of a healthy client while FLOODING connections send large Workloads, relative to its p99 without them."""
    alone = min(_p99(target), _p99(target))
    command = [sys.executable, "-m", "benchmarks.flood", str(target.server.port), str(target.server.ca), str(FLOODING)]
    flood = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        if flood.stdout:
            flood.stdout.readline()
        time.sleep(2)
        return f"{_p99(target) / alone:.1f} times its normal"
    except (OSError, http.client.HTTPException) as error:
        return f"not answered ({type(error).__name__})"
    finally:
        flood.kill()
        flood.wait()
        if flood.stdout:
            flood.stdout.close()


def large_body(target: Target) -> str:
    """Count bodies of 8 MiB that are answered with 413."""
    answered = 0
    for _ in range(10):
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(target.client()) as client:
            answered += target.post(client, b"x" * (8 * 1024 * 1024)) == 413
    return f"{answered} of 10 answered 413"


def framing(target: Target) -> str:
    """Count attempts at request smuggling in which neither the request nor the smuggled one is answered with 200."""
    refused = 0
    for shape in SHAPES:
        with target.tls() as sock:
            sock.settimeout(4)
            sock.sendall(HEAD + shape + b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            content = b""
            with contextlib.suppress(OSError):
                while chunk := sock.recv(65536):
                    content += chunk
        refused += b" 200 " not in content
    return f"{refused} of {len(SHAPES)} refused"


def plain_http(target: Target) -> str:
    """Send plain HTTP to the TLS port."""
    with target.raw() as sock, contextlib.suppress(OSError):
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        if b"200" in sock.recv(100):
            return "answered"
    return "refused"


def stuck(target: Target) -> str:
    """Wait until a worker with a request that never ends is replaced, at most 30 s."""
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(target.client(20)) as client:
        target.post(client)
    end = time.monotonic() + 10
    while target.server.worker in load.children(target.server.process):
        if time.monotonic() > end:
            return "not replaced"
        time.sleep(0.1)
    return "replaced"


CHECKS: tuple[tuple[str, Callable[[Target], str]], ...] = (
    (f"key pair replaced {REPLACEMENTS} times under load", replaced_key_pair),
    ("SIGTERM with requests half sent", stop_in_flight),
    (f"p99 with {SLOW} silent connections", relative_p99(Target.raw, SLOW)),
    (f"p99 with {SLOW} that stop in the handshake", relative_p99(_in_handshake, SLOW)),
    (f"p99 with {SLOW} that stop in the head", relative_p99(_in_head, SLOW)),
    (f"p99 with {SLOW} that stop in the body", relative_p99(_in_body, SLOW)),
    (f"p99 with {IDLE:,} idle connections", relative_p99(Target.tls, IDLE)),
    (f"p99 with {FLOODING} that send Workloads of 2.7 MB", flooded_p99),
    ("a body above the limit", large_body),
    ("malformed framing", framing),
    ("plain HTTP on the TLS port", plain_http),
    ("a worker that is stuck", stuck),
)


def main() -> None:
    """Measure and print."""
    chosen = sys.argv[1:] or SERVERS
    rows = [[name, *(_checked(check, what) for what in chosen)] for name, check in CHECKS]
    measure.table("HTTP servers: one worker, TLS", ("", *(NAMES[what] for what in chosen)), rows)


def _checked(check: Callable[[Target], str], what: str) -> str:
    os.environ.pop("BENCH_STUCK", None)
    workers = 2 if check is replaced_key_pair else 1
    if check is stuck:
        os.environ["BENCH_STUCK"] = "1"
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        load.certificate(Path(name))
        with http_servers.running(what, Path(name), workers) as server:
            return check(Target(what, Path(name), server))


if __name__ == "__main__":
    main()
