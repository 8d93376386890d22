"""The webhook server as a process: sockets, gunicorn's master and workers, start and graceful stop.

Shell.  It binds before gunicorn starts, so that a mistake is one line and not a log; it drains before it stops.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import mmap
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Protocol

from gunicorn import arbiter
from gunicorn.app.base import BaseApplication

from validators.lookup import Lookup
from webhooks import journal, tls
from webhooks.knobs import Address
from webhooks.settings import Settings

METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
LINE_BYTES = 8190
FIELDS = 64
FIELD_BYTES = 8190
COLLECT_AFTER = 20_000
"""Objects made and not freed, after which the collector looks for cycles: a large Workload alone makes 15,000."""


class StartError(ValueError):
    """The server cannot start; the message is one line for the user."""


class Source(Protocol):
    """Where the workers' Lookup comes from."""

    def start(self) -> Lookup:
        """The lookup of this worker; called once in each, after the fork, when threads may be started."""

    def unsynced(self) -> Sequence[str]:
        """Reasons why the lookup does not know all that it should yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    """A Source whose lookup was made before the fork and needs no care."""

    lookup: Lookup

    def start(self) -> Lookup:
        """See Source."""
        return self.lookup

    def unsynced(self) -> Sequence[str]:
        """See Source."""
        return ()


class Board:
    """Memory that master and workers share: whether the server drains."""

    def __init__(self) -> None:
        # Anonymous shared memory, inherited by fork; one byte needs no lock.
        self._memory = mmap.mmap(-1, 1)

    @property
    def draining(self) -> bool:
        """Whether the server is about to stop: not ready, and keeping no connection."""
        return self._memory[0] != 0

    def drain(self) -> None:
        """Begin to drain."""
        self._memory[0] = 1


class Master(arbiter.Arbiter):  # type: ignore[misc] # gunicorn ships no types
    """Gunicorn's master, which drains first and does not reload: the key pair is re-read without that."""

    stop_at: float | None = None

    def handle_term(self) -> None:
        """SIGTERM: drain, then stop; a second one stops at once."""
        seconds = self.app.settings.drain_seconds
        if self.stop_at is not None or not seconds:
            raise StopIteration
        self.app.board.drain()
        self.stop_at = time.monotonic() + seconds
        journal.write("info", "draining", {"seconds": seconds})

    def handle_int(self) -> None:
        """SIGINT, from a terminal: stop gracefully, without a drain."""
        raise StopIteration

    def handle_hup(self) -> None:
        """SIGHUP: nothing to do."""
        journal.write("info", "ignored", {"signal": "HUP", "reason": "key pairs are re-read by themselves; restart for settings"})

    handle_usr2 = handle_hup

    def manage_workers(self) -> None:
        """Called once a second, among other times."""
        super().manage_workers()
        if self.stop_at is not None and time.monotonic() >= self.stop_at:
            raise StopIteration

    def stop(self, graceful: bool = True) -> None:  # noqa: FBT001, FBT002 - gunicorn's signature
        """Stop the workers; from now on nothing is ready."""
        self.app.board.drain()
        super().stop(graceful)


class Server(BaseApplication):  # type: ignore[misc] # gunicorn ships no types
    """Gunicorn's application: its configuration, and the WSGI application of a worker."""

    def __init__(self, settings: Settings, live: tls.LivePair, source: Source, descriptors: Sequence[int]) -> None:
        self.settings, self.live, self.source = settings, live, source
        self.board = Board()
        self.descriptors = tuple(descriptors)
        self.telemetry: Any = None
        self.lines = journal.Batch()
        """What is told of reviews, written by the loop of the worker."""
        super().__init__()

    def load_config(self) -> None:
        """See BaseApplication."""
        for name, value in gunicorn_settings(self.settings, self.descriptors).items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        """The application of this worker; called after the fork."""
        from webhooks.app import create_app
        from webhooks.telemetry import Telemetry

        self.telemetry = Telemetry(self.lines.write)
        self.telemetry.certificate(self.live.pair.leaf_expires, self.live.pair.ca_expires)
        return create_app(self.settings, self.source.start(), self.telemetry, self.unready)

    def unready(self) -> list[str]:
        """Reasons why the API server should send its reviews elsewhere."""
        reasons = []
        if self.board.draining:
            reasons.append("draining: about to stop")
        if self.live.pair.leaf_expires <= time.time():
            reasons.append(f"the serving certificate expired at {journal.stamp(self.live.pair.leaf_expires)}")
        if self.live.unreadable:
            reasons.append(self.live.complaint)
        return [*reasons, *self.source.unsynced()]

    def tell_pair(self, told: str) -> None:
        """Log and count that a new key pair was taken, or why not."""
        taken = told == tls.RELOADED
        self.telemetry.reloaded(taken=taken)
        if taken:
            self.telemetry.certificate(self.live.pair.leaf_expires, self.live.pair.ca_expires)
            journal.write("info", "certificate", {"expires": journal.stamp(self.live.pair.leaf_expires)})
        else:
            journal.write("error", "certificate", {"reason": told, "serving": "the last good pair"})


def gunicorn_settings(settings: Settings, descriptors: Sequence[int]) -> dict[str, Any]:
    """Gunicorn's own settings that follow from ours."""
    from webhooks.worker import WebhookWorker

    return {
        "bind": [f"fd://{each}" for each in descriptors],
        "backlog": settings.backlog,
        "worker_class": WebhookWorker,
        "workers": settings.workers,
        "threads": settings.threads,
        "worker_connections": settings.connections,
        "timeout": int(settings.stuck_seconds),
        # The workers stop by themselves in time; the master's patience ends later.
        "graceful_timeout": int(settings.stop_seconds) + 3,
        "limit_request_line": LINE_BYTES,
        "limit_request_fields": FIELDS,
        "limit_request_field_size": FIELD_BYTES,
        # Nobody stands between the API server and us: no header may change who called, how, or where.
        "forwarded_allow_ips": "",
        "forwarder_headers": "",
        "secure_scheme_headers": {},
        "control_socket_disable": True,
        "logger_class": "webhooks.journal.JsonLogger",
        "loglevel": "warning",
        "proc_name": "muster",
        "when_ready": _tell_listening,
        "child_exit": _forget,
        "worker_exit": _leave,
    }


def _tell_listening(master: Master) -> None:
    """One line on standard output: where the server listens, which matters for port 0."""
    names = ("address", "probeAddress")
    listening = {name: str(Address(*each.getsockname()[:2])) for name, each in zip(names, master.LISTENERS, strict=False)}
    line = {"event": "listening", **listening, "workers": master.app.settings.workers, "pid": os.getpid()}
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def _forget(_: Master, worker: Any) -> None:
    from webhooks.telemetry import process_ended

    process_ended(worker.pid)


def _leave(_: Master, worker: Any) -> None:
    if getattr(worker, "judging", None):
        # The interpreter would wait for a thread that may never end.
        journal.write("error", "abandoned", {"reviews": len(worker.judging), "pid": worker.pid})
        os._exit(1)


def listen(address: Address, backlog: int) -> socket.socket:
    """A listening socket.

    Raises:
        StartError: the address is in use, not ours, or does not exist.
    """
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, where = found[0]
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and address.host == "::":
            # One socket for both families, as Kubernetes probes a pod by either.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(where)
        sock.listen(backlog)
    except OSError as error:
        raise StartError(f"cannot listen on {address}: {error.strerror or error}") from None
    return sock


def serve(settings: Settings, source: Source) -> None:
    """Serve until SIGTERM or SIGINT; returns after a graceful stop.

    Raises:
        StartError: before anything is served, where the key pair or an address cannot be used.
    """
    if not settings.tls_cert or not settings.tls_key:
        raise StartError("--tls-cert and --tls-key must be given: the API server calls webhooks over TLS only")
    try:
        live = tls.LivePair(settings.tls_cert, settings.tls_key, settings.tls_poll_seconds)
    except tls.PairError as error:
        raise StartError(str(error)) from None
    addresses = [settings.bind, *([settings.probe_bind] if settings.probe_bind else [])]
    sockets = [listen(each, settings.backlog) for each in addresses]
    # Until gunicorn hears signals itself, to be told to stop is to leave by the way on which everything is put away.
    signal.signal(signal.SIGTERM, _stop_early)
    directory = _metrics_directory()
    master = os.getpid()
    try:
        # Imported once here, not in each worker, and only now: the metrics' kind of storage is chosen at import.
        from webhooks.app import warm_up

        warm_up(settings)
        # Gunicorn closes the descriptors that it is given, having copied them.
        server = Server(settings, live, source, [each.detach() for each in sockets])
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        # What stands now stays.  What a review makes is freed by count; the collector has only errors' cycles to find.
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER, 10, 10)
        Master(server).run()
    except SystemExit as stop:
        if os.getpid() != master or stop.code:
            raise
    finally:
        if os.getpid() == master:
            shutil.rmtree(directory, ignore_errors=True)


def _stop_early(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def _metrics_directory() -> str:
    try:
        directory = tempfile.mkdtemp(prefix="muster-metrics-")
    except OSError as error:
        raise StartError(f"cannot make a directory for metrics in {tempfile.gettempdir()}: {error.strerror or error}") from None
    os.environ[METRICS_DIRECTORY] = directory
    return directory
