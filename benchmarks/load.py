"""Servers to be loaded, and the load: connections that are kept, each asking again as soon as it is answered.

The client does as little as it can (a request made once, an answer whose length alone is read), for it runs on the same
machine; and the processor time of the server is counted besides, which no client can spoil.
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
from collections.abc import Iterator
from pathlib import Path

from certs import issue, pair, store

HOST = "127.0.0.1"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A running server: its address, its first worker's process, the CA to verify it with, and its main process."""

    port: int
    worker: int
    ca: Path
    process: int

    def processor_seconds(self) -> float:
        """Processor time that the worker has used."""
        fields = Path(f"/proc/{self.worker}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """What a load came to."""

    requests: int
    seconds: float
    processor_seconds: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    @property
    def processor_rate(self) -> float:
        """Requests for each second of the server's processor time."""
        return self.requests / self.processor_seconds


def resident_bytes(process: int) -> int:
    """Memory of a process that is held in the machine's."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE


def certificate(directory: Path) -> None:
    """Put a pair for the loopback into *directory*."""
    now = dt.datetime.now(dt.UTC)
    store.write(directory, issue.leaf(issue.authority(now), pair.names_of((HOST,)), now))


def environment(directory: Path, workers: int = 1) -> dict[str, str]:
    """The environment of a server with *workers* workers and the pair in *directory*."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "PROMETHEUS_"))}
    return others | {
        "MUSTER_BIND": f"{HOST}:0",
        "MUSTER_TLS_CERT": str(directory / store.CERTIFICATE),
        "MUSTER_TLS_KEY": str(directory / store.KEY),
        "MUSTER_WORKERS": str(workers),
        "MUSTER_CONNECTIONS": "19000",
        "MUSTER_STUCK_SECONDS": "5",
        "MUSTER_STOP_SECONDS": "5",
    }


@contextlib.contextmanager
def serving(what: str, directory: Path, workers: int = 1) -> Iterator[Server]:
    """Our server: *what* is one of those of ``benchmarks.serving``."""
    with (directory / f"{what}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serving", what],
            env=environment(directory, workers),
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        line = process.stdout.readline() if process.stdout else b""
        if not line:
            raise SystemExit(f"the server does not start: {(directory / f'{what}.log').read_text()}")
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
    """Ask *server* to judge *body* over and over, for *seconds*, or *requests* times in all."""
    request = (
        f"POST /validate?timeout=3s HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    counts = [0] * connections
    socks = [connection(server.port, server.ca) for _ in range(connections)]
    deadline = time.perf_counter() + (seconds or 3600)
    each = -(-requests // connections) if requests else sys.maxsize

    def ask(number: int) -> None:
        with socks[number] as sock:
            while counts[number] < each and time.perf_counter() < deadline:
                sock.sendall(request)
                _take_answer(sock)
                counts[number] += 1

    before, started = server.processor_seconds(), time.perf_counter()
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if 0 in counts:
        raise SystemExit("a connection has had no answer")
    return Load(sum(counts), time.perf_counter() - started, server.processor_seconds() - before)


def connection(port: int, ca: Path) -> ssl.SSLSocket:
    """A connection over TLS."""
    context = ssl.create_default_context(cafile=str(ca))
    context.set_alpn_protocols(["http/1.1"])
    raw = socket.create_connection((HOST, port), timeout=30)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(raw, server_hostname=HOST)


def _take_answer(sock: ssl.SSLSocket) -> None:
    content = sock.recv(65536)
    while (end := content.find(b"\r\n\r\n")) < 0:
        content += _more(sock)
    if not content.startswith(b"HTTP/1.1 200 "):
        raise SystemExit(f"the server answers {content[:200]!r}")
    start = content.lower().index(b"content-length:") + 15
    whole = end + 4 + int(content[start : content.index(b"\r", start)])
    while len(content) < whole:
        content += _more(sock)
    if b'"allowed":true' not in content:
        raise SystemExit(f"the server does not allow it: {content[end:600]!r}")


def _more(sock: ssl.SSLSocket) -> bytes:
    piece = sock.recv(65536)
    if not piece:
        raise SystemExit("the server has closed the connection")
    return piece


def children(process: int) -> list[int]:
    """The processes that *process* has started and that run."""
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
