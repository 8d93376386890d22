"""Flood of large reviews: ``python -m benchmarks.flood PORT CA CONNECTIONS``, until it is killed.

Each connection sends a Workload of 2.7 MB again after every answer, in a process of its own: it must not slow the client that
measures.
"""

from __future__ import annotations

import contextlib
import ssl
import sys
import threading
from pathlib import Path

from benchmarks import load, workloads


def request() -> bytes:
    """Return a review of a Workload with far too many templates, so that there are thousands of errors."""
    workload = workloads.full(workloads.DEEPEST)
    workload["spec"]["compositePodGroupTemplates"] *= 6
    body = workloads.review(workload)
    head = f"POST /validate HTTP/1.1\r\nHost: {load.HOST}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _send(port: int, ca: Path, content: bytes) -> None:
    while True:
        with contextlib.suppress(OSError), load.connection(port, ca) as sock:
            while _answered(sock, content):
                pass


def _answered(sock: ssl.SSLSocket, content: bytes) -> bool:
    """Send *content* and read the answer; return True if the connection stays open."""
    sock.sendall(content)
    answer = b""
    while b"\r\n\r\n" not in answer:
        if not (piece := sock.recv(65536)):
            return False
        answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    rest = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]) - len(body)
    while rest > 0:
        rest -= len(sock.recv(65536))
    return b"connection: close" not in head.lower()


def main() -> None:
    """Send until this process is killed."""
    port, ca, connections = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    content = request()
    for _ in range(connections):
        threading.Thread(target=_send, args=(port, ca, content), daemon=True).start()
    print("sending", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
