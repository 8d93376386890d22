"""Kubelet as far as port-forwarding needs it: connections of the API server by WebSocket, forwarded to ports of this machine."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from websocket import ABNF

from apiserver.port_forward import PROTOCOL
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kubelet import node
from tests.cluster.resources import Manifest

ACCEPTED = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""Constant of the handshake, RFC 6455 section 1.3."""
SECONDS = 10.0


class Forwarding(BaseHTTPRequestHandler):
    """Handler of the requests of the API server; subclasses have the *ports*."""

    protocol_version = "HTTP/1.1"
    ports: ClassVar[Mapping[int, int]] = {}

    def do_GET(self) -> None:
        """Accept a WebSocket, and forward it to the requested port."""
        requested = int(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["port"][0])
        key = base64.b64encode(hashlib.sha1(f"{self.headers['Sec-WebSocket-Key']}{ACCEPTED}".encode()).digest()).decode()
        self.send_response(101)
        for field, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", key)):
            self.send_header(field, value)
        self.send_header("Sec-WebSocket-Protocol", PROTOCOL)
        self.end_headers()
        for channel in (b"\0", b"\1"):
            self._send(channel + requested.to_bytes(2, "little"))
        try:
            with socket.create_connection(("127.0.0.1", self.ports[requested]), SECONDS) as target:
                self._forward(target)
        except (KeyError, OSError) as error:
            self._send(b"\1" + f"nothing answers at port {requested}: {error!r}".encode())
        self.close_connection = True

    def _forward(self, target: socket.socket) -> None:
        answers = threading.Thread(target=self._answer, args=(target,))
        answers.start()
        while (frame := self._receive()) is not None:
            target.sendall(frame[1:])
        target.shutdown(socket.SHUT_RDWR)
        answers.join()

    def _answer(self, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := target.recv(65536):
                self._send(b"\0" + data)
        self._send(b"", ABNF.OPCODE_CLOSE)

    def _send(self, data: bytes, opcode: int = ABNF.OPCODE_BINARY) -> None:
        frame = ABNF(1, 0, 0, 0, opcode, 0, data).format()
        with contextlib.suppress(OSError):
            self.wfile.write(frame)
            self.wfile.flush()

    def _receive(self) -> bytes | None:
        """Return the content of the next frame; None at the end.  Frames of a client have a mask."""
        head = self.rfile.read(2)
        if len(head) < 2 or head[0] & 0x0F == ABNF.OPCODE_CLOSE:
            return None
        length = head[1] & 0x7F
        if length > 125:
            length = int.from_bytes(self.rfile.read(2 if length == 126 else 8))
        mask, data = self.rfile.read(4), self.rfile.read(length)
        return bytes(byte ^ mask[number % 4] for number, byte in enumerate(data))

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@contextlib.contextmanager
def forwarding_node(plane: ControlPlane, name: str, ports: Mapping[int, int]) -> Iterator[Manifest]:
    """Yield a node whose kubelet forwards *ports* of all its pods to ports of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Forwarding", (Forwarding,), {"ports": ports}))
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(plane.folder / "server.crt", plane.folder / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    content = node(name)
    content["status"]["addresses"] = [{"type": "InternalIP", "address": "127.0.0.1"}]
    content["status"]["daemonEndpoints"] = {"kubeletEndpoint": {"Port": server.server_address[1]}}
    with server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield content
        server.shutdown()
