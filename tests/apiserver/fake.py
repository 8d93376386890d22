"""HTTP server on loopback that gives scripted answers and records its requests."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from apiserver.api import Api
from apiserver.connection import Connection
from apiserver.credentials import Fixed, Identity, bearer


class Fake(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two small writes: the second would wait for the first to be acknowledged.
    disable_nagle_algorithm = True

    def _any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        code, headers, content = self.server.answer(self.command, self.path, body)
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        for name, value in {"Content-Length": str(len(raw)), **headers}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815 - http.server's names

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(answer):
    """Yield a server and an Api that calls it."""
    server = Fake(answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    credentials = Fixed(Identity((bearer("token-of-ours"),)))
    try:
        yield server, Api(Connection(f"http://127.0.0.1:{server.server_address[1]}", credentials=credentials))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
