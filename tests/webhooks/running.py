"""A real ``muster serve`` on loopback for tests."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from certs import issue, pair, store
from tests.forked import ForkedProcess
from tests.sampling import WHOLE

PATIENCE = 30
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u-1",
        "kind": {"group": "scheduling.k8s.io", "version": "v1beta1", "kind": "PodGroup"},
        "resource": {"group": "scheduling.k8s.io", "version": "v1beta1", "resource": "podgroups"},
        "operation": "CREATE",
        "namespace": "default",
        "name": "pg",
        "object": {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "pg", "namespace": "default"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        },
    },
}
BODY = json.dumps(REVIEW).encode()
HEADERS = {"Content-Type": "application/json"}


def new_pair(authority=None, *, days=30):
    now = dt.datetime.now(dt.UTC)
    return issue.leaf(authority or issue.authority(now), pair.names_of(("localhost", "127.0.0.1")), now, days)


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


class Running:
    """Process of the server, its addresses, and its log.

    It is forked from a process that has imported its libraries; in `make soak` it is started as a user does.
    """

    def __init__(self, directory: Path, *options: str, before: str = "", **variables: str) -> None:
        self.directory = directory
        self.authority = issue.authority(dt.datetime.now(dt.UTC))
        store.write(directory, new_pair(self.authority))
        addresses = ["--bind", "127.0.0.1:0", "--probe-bind", "127.0.0.1:0"]
        files = ["--tls-cert", str(directory / "tls.crt"), "--tls-key", str(directory / "tls.key")]
        arguments = [*addresses, *([] if "--certificates" in options else files), *options]
        temporary = directory / "temporary"
        temporary.mkdir(exist_ok=True)
        # A master that is killed leaves its metrics behind.
        environ = {**os.environ, "MUSTER_TLS_POLL_SECONDS": "0.1", "TMPDIR": str(temporary), **variables}
        program = f"{before}\nfrom muster.commands.serve import command; command()"
        (self._stdout, output), (self._stderr, errors) = _pipe(), _pipe()
        with output, errors:
            if WHOLE:
                self.process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=output, stderr=errors, env=environ)
            else:
                self.process = ForkedProcess(arguments, output, errors, environ, Path.cwd(), program)
        line = self._stdout.readline()
        if not line:
            raise AssertionError(f"the server did not start: {self._stderr.read().decode()}")
        self.listening = json.loads(line)
        self.port, self.probe_port = (int(self.listening[key].rpartition(":")[2]) for key in ("address", "probeAddress"))
        self.lines: list[dict] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._stderr:
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                # Not a log line: a process has died badly.
                self.lines.append({"event": "noise", "level": "error", "text": line.decode(errors="replace")})

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.certificate.decode())

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.context())

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def tls(self) -> ssl.SSLSocket:
        return self.context().wrap_socket(self.raw(), server_hostname="localhost")

    def post(self, body: bytes = BODY, path: str = "/validate", headers=HEADERS, connection=None):
        with (
            contextlib.closing(connection or self.connect())
            if connection is None
            else contextlib.nullcontext(connection) as open_connection
        ):
            open_connection.request("POST", path, body, headers)
            response = open_connection.getresponse()
            return response.status, json.loads(response.read())

    def probe(self, path: str) -> tuple[int, bytes]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.probe_port, timeout=PATIENCE)) as plain:
            plain.request("GET", path)
            response = plain.getresponse()
            return response.status, response.read()

    def figure(self, name: str) -> float:
        """Return the sum of a metric over its labels."""
        lines = self.probe("/metrics")[1].decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.split("{")[0].split(" ")[0] == name)

    def serial(self) -> int:
        """Return the serial number of the certificate that is served."""
        from cryptography import x509

        with self.tls() as sock:
            return x509.load_der_x509_certificate(sock.getpeercert(binary_form=True)).serial_number

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self._reader.join(PATIENCE)
            self._stdout.close()
            self._stderr.close()
        return code


@contextlib.contextmanager
def running(directory: Path, *options: str, **variables: str):
    """Run a server; ``before`` is Python code that runs in its process first."""
    server = Running(directory, *options, **variables)
    try:
        yield server
    finally:
        server.stop()


def until(claim, seconds: float = PATIENCE) -> bool:
    """Return true once *claim* holds, false at the deadline; polls."""
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if claim():
            return True
        time.sleep(0.05)
    return bool(claim())
