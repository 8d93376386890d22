"""Servers under load, and the load: persistent connections, each of which sends again after every answer.

The client does little, as it runs on the same machine: it encodes a request once and parses only the length of an answer.
The server's processor time, on which the client has no influence, is measured as well.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from certs import issue, pair, store

HOST = "127.0.0.1"
EMPTY: Mapping[str, str] = {}
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """Running server: its port, the pid of its first worker, the CA that signed its certificate, and its main pid."""

    port: int
    worker: int
    ca: Path
    process: int

    def processor_seconds(self) -> float:
        """Return the processor time that the worker has used."""
        fields = Path(f"/proc/{self.worker}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """Result of a load."""

    requests: int
    seconds: float
    processor_seconds: float

    @property
    def rate(self) -> float:
        """Return the requests per second."""
        return self.requests / self.seconds

    @property
    def processor_rate(self) -> float:
        """Return the requests per second of the server's processor time."""
        return self.requests / self.processor_seconds


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE


def certificate(directory: Path) -> None:
    """Write a key pair for the loopback address into *directory*."""
    now = dt.datetime.now(dt.UTC)
    store.write(directory, issue.leaf(issue.authority(now), pair.names_of((HOST,)), now))


def environment(directory: Path, workers: int = 1, more: Mapping[str, str] = EMPTY) -> dict[str, str]:
    """Return the environment of a server with *workers* workers, the key pair in *directory*, and *more* variables."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "PROMETHEUS_"))}
    return others | {
        "MUSTER_BIND": f"{HOST}:0",
        "MUSTER_TLS_CERT": str(directory / store.CERTIFICATE),
        "MUSTER_TLS_KEY": str(directory / store.KEY),
        "MUSTER_WORKERS": str(workers),
        "MUSTER_CONNECTIONS": "19000",
        "MUSTER_STUCK_SECONDS": "5",
        "MUSTER_STOP_SECONDS": "5",
        **more,
    }


@contextlib.contextmanager
def serving(what: str, directory: Path, workers: int = 1, more: Mapping[str, str] = EMPTY) -> Iterator[Server]:
    """Run our server in the variant *what*, one of those of ``benchmarks.serving``, with *more* variables."""
    with (directory / f"{what}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serving", what],
            env=environment(directory, workers, more),
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        line = process.stdout.readline() if process.stdout else b""
        if not line:
            raise SystemExit(f"the server did not start: {(directory / f'{what}.log').read_text()}")
        port = int(json.loads(line)["address"].rpartition(":")[2])
        with connection(port, directory / store.CA):
            pass
        yield Server(port, children(process.pid)[0], directory / store.CA, process.pid)
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout:
            process.stdout.close()


def press(server: Server, body: bytes, *, connections: int, seconds: float = 0, requests: int = 0) -> Load:
    """Send *body* to *server* repeatedly, for *seconds*, or *requests* times in total."""
    request = (
        f"POST /validate?timeout=3s HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    counts = [0] * connections
    socks = [connection(server.port, server.ca) for _ in range(connections)]
    deadline = time.perf_counter() + (seconds or 3600)
    per_connection = -(-requests // connections) if requests else sys.maxsize

    def send_requests(number: int) -> None:
        with socks[number] as sock:
            while counts[number] < per_connection and time.perf_counter() < deadline:
                sock.sendall(request)
                _read_answer(sock)
                counts[number] += 1

    before, started = server.processor_seconds(), time.perf_counter()
    threads = [threading.Thread(target=send_requests, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if 0 in counts:
        raise SystemExit("a connection got no answer")
    return Load(sum(counts), time.perf_counter() - started, server.processor_seconds() - before)


def connection(port: int, ca: Path) -> ssl.SSLSocket:
    """Return a connection over TLS."""
    context = ssl.create_default_context(cafile=str(ca))
    context.set_alpn_protocols(["http/1.1"])
    raw = socket.create_connection((HOST, port), timeout=30)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(raw, server_hostname=HOST)


def _read_answer(sock: ssl.SSLSocket) -> None:
    content = sock.recv(65536)
    while (end := content.find(b"\r\n\r\n")) < 0:
        content += _receive(sock)
    if not content.startswith(b"HTTP/1.1 200 "):
        raise SystemExit(f"the server answered {content[:200]!r}")
    start = content.lower().index(b"content-length:") + 15
    length = end + 4 + int(content[start : content.index(b"\r", start)])
    while len(content) < length:
        content += _receive(sock)
    if b'"allowed":true' not in content:
        raise SystemExit(f"the server did not allow the object: {content[end:600]!r}")


def _receive(sock: ssl.SSLSocket) -> bytes:
    chunk = sock.recv(65536)
    if not chunk:
        raise SystemExit("the server has closed the connection")
    return chunk


def children(process: int) -> list[int]:
    """Return the pids of the running children of *process*."""
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
