"""The demonstration's server: ``muster serve`` in its own process, with its own certificate, and a client.

No process outlives its context.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import os
import selectors
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
START_SECONDS = 30.0
STOP_SECONDS = 15.0
ANSWER_SECONDS = 10.0
ASK_EVERY = 0.05
LAST_LINES = 5
LONGEST_LINE = 300
"""Limits of lines of a log that are shown when a process fails, and of characters of each."""


class ServerError(Exception):
    """A muster command failed, or the server does not answer; the message has the last lines of output."""


@dataclasses.dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """An HTTP answer in JSON."""

    code: int
    content: dict[str, Any]


class Client:
    """One connection to the server, over TLS and verified."""

    def __init__(self, address: str, ca: Path) -> None:
        host, _, port = address.rpartition(":")
        context = ssl.create_default_context(cafile=str(ca))
        self._connection = http.client.HTTPSConnection(host, int(port), timeout=ANSWER_SECONDS, context=context)
        self.address = address

    def post(self, path: str, body: bytes) -> WebhookAnswer:
        """Send *body* to *path*.

        Raises:
            ServerError: no answer, or one that is not JSON.
        """
        try:
            self._connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            return WebhookAnswer(response.status, json.loads(response.read()))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ServerError(f"the server at {self.address} does not answer correctly: {error}") from None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def run(*arguments: str) -> None:
    """Run a ``muster`` command and discard its output.

    Raises:
        ServerError: it failed; the message has its last lines.
    """
    try:
        ended = subprocess.run(  # noqa: S603 - our own command
            _command(*arguments), env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=START_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ServerError(f"muster {arguments[0]} did not end after {START_SECONDS:g} s") from None
    if ended.returncode != 0:
        raise ServerError(f"muster {arguments[0]} failed: {_last_lines(ended.stderr)}")


@contextlib.contextmanager
def running(directory: Path, *options: str) -> Iterator[Client]:
    """Context with a server and a client of it; *directory* has the certificate and gets the log.

    Raises:
        ServerError: it does not start; the message has the last lines of its log.
    """
    log = directory / "server.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own command
            _command("serve", "--bind", f"{HOST}:0", "--tls-cert", f"{directory}/tls.crt", "--tls-key", f"{directory}/tls.key", *options),
            env=_keeping(directory),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sink,
            # Ctrl-C reaches only this process, which stops the server in order.
            start_new_session=True,
        )
    try:
        client = Client(_address(process, log), directory / "ca.crt")
        with contextlib.closing(client):
            yield client
    finally:
        _stop(process)


@contextlib.contextmanager
def process(command: Sequence[str], log: Path, ready: Callable[[], bool]) -> Iterator[subprocess.Popen[bytes]]:
    """Context with a program, entered once *ready* is true; its output is written to *log*.

    Raises:
        ServerError: it ends before, or is not ready in time; with the last lines of its log.
    """
    name = "muster" if command[0] == sys.executable else Path(command[0]).name
    with log.open("wb") as sink:
        child = subprocess.Popen(  # noqa: S603 - a program that the user names, or our own
            command, env=_keeping(log.parent), stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
        )
    try:
        end = time.monotonic() + START_SECONDS
        while not ready():
            if child.poll() is not None or time.monotonic() > end:
                raise ServerError(f"{name} does not start: {_last_lines(log.read_bytes())}")
            time.sleep(ASK_EVERY)
        yield child
    finally:
        _stop(child)


def command(*arguments: str) -> Sequence[str]:
    """Return the command line of ``muster`` with these arguments."""
    return _command(*arguments)


def _command(*arguments: str) -> Sequence[str]:
    return sys.executable, "-m", "muster", *arguments


def environment() -> dict[str, str]:
    """Return the environment without settings of other servers or clusters, and without proxies: all is on this machine."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MUSTER_", "PROMETHEUS_", "KUBE")) and not name.lower().endswith("_proxy")
    }


def _keeping(folder: Path) -> dict[str, str]:
    """Return the environment of a process that writes temporary files to *folder* only."""
    return {**environment(), "TMPDIR": str(folder)}


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    if process.stdout is None:
        raise ServerError("the server has no standard output")
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(START_SECONDS) else b""
    try:
        return str(json.loads(line)["address"])
    except (ValueError, KeyError, TypeError):
        last_lines = _last_lines(log.read_bytes() + line)
        raise ServerError(f"the server does not start: {last_lines}") from None


def _last_lines(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
    return "\n".join(line[:LONGEST_LINE] for line in lines) or "it prints nothing"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    finally:
        if process.poll() is None:
            # Its workers are in its session, which has no other processes.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
