"""API server stub that sends more pod events than a real one: ``python -m benchmarks.cluster.stream FOLDER EVENTS NODES``.

FOLDER has server.crt, server.key, and pod.json, a pod as a real API server returns it.  Each pod is created, bound, runs and
is deleted, with many pods at once.  The stub prints its port, and sends the events once it reads a line.
"""

from __future__ import annotations

import json
import ssl
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks import clusters
from benchmarks.clusters import Json

AT_ONCE = 100
"""Pods between creation and deletion at any time."""
STEPS = 4
_SCHEDULING = "scheduling.k8s.io"
_RESOURCES = {
    "/api/v1": ("nodes", "pods", "pods/binding"),
    "/apis/policy/v1": ("poddisruptionbudgets",),
    f"/apis/{_SCHEDULING}/v1": ("priorityclasses",),
    f"/apis/{_SCHEDULING}/v1beta1": ("workloads", "podgroups"),
    f"/apis/{_SCHEDULING}/v1alpha3": ("workloads", "podgroups", "compositepodgroups"),
}


def events(pod: Json, count: int, nodes: int) -> Iterator[bytes]:
    """Yield *count* lines of a watch of pods."""
    version, yielded = 1000, 0
    while yielded < count:
        first = yielded // STEPS
        for step in range(STEPS):
            for number in range(first, first + AT_ONCE):
                version, yielded = version + 1, yielded + 1
                yield _event(pod, number, step, version, f"node-{number % nodes:05d}")
                if yielded == count:
                    return


def _event(pod: Json, number: int, step: int, version: int, node: str) -> bytes:
    metadata = {**pod["metadata"], "name": f"pod-{number:06d}", "uid": f"uid-{number:06d}", "resourceVersion": str(version)}
    spec, status = dict(pod["spec"]), {**pod["status"], "phase": "Running" if step > 1 else "Pending"}
    spec.pop("nodeName", None)
    if step:
        spec["nodeName"] = node
    kind = ("ADDED", "MODIFIED", "MODIFIED", "DELETED")[step]
    content = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}
    return json.dumps({"type": kind, "object": content}, separators=(",", ":")).encode() + b"\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    events: bytes
    nodes: tuple[Json, ...]
    started: threading.Event


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Answer discovery, lists and watches; only the watch of pods has events."""
        url = urlsplit(self.path)
        if "watch" in parse_qs(url.query):
            self._watch(pods=url.path == "/api/v1/pods")
        elif url.path == "/version":
            self._answer({"major": "1", "minor": "37", "gitVersion": "v1.37.1"})
        elif url.path in _RESOURCES:
            self._answer({"kind": "APIResourceList", "resources": [{"name": each} for each in _RESOURCES[url.path]]})
        else:
            items = self.server.nodes if url.path == "/api/v1/nodes" else ()
            self._answer({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1000"}, "items": items})

    def _answer(self, content: Json) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, *, pods: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if pods:
            self.server.started.wait()
            self.wfile.write(self.server.events)
        threading.Event().wait()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Log nothing."""


def main() -> None:
    """Serve until standard input ends."""
    folder, count, nodes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    server = _Server(("127.0.0.1", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    pod = json.loads((folder / "pod.json").read_text())
    # The API server sends each event as one chunk.
    server.events = b"".join(b"%x\r\n%s\r\n" % (len(line), line) for line in events(pod, count, nodes))
    server.nodes, server.started = tuple(clusters.nodes(nodes)), threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    for _ in sys.stdin:
        server.started.set()


if __name__ == "__main__":
    main()
