"""Process of the webhook server: sockets, gunicorn and its workers, drain and graceful stop.

Shell.  Addresses are bound before gunicorn starts, so that an error is one line instead of a log.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import logging
import mmap
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication

from validators.options import Address
from webhooks import log
from webhooks.certificate_settings import MANAGED
from webhooks.lookup.source import Source
from webhooks.server import memory, tls
from webhooks.settings import Settings

if TYPE_CHECKING:
    from webhooks.server.application import Application
    from webhooks.server.certificates import Managed
    from webhooks.server.worker import CreateApp, Worker

METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
COLLECT_AFTER = 20_000
"""Net allocations after which the garbage collector runs; decoding a large Workload makes 15,000 objects."""
RECEIVE_BUFFER = 64 * 1024
"""Receive buffer of a connection in the kernel, which doubles it.  Left alone, one that is not read grows to several MiB."""


class StartError(ValueError):
    """The server cannot start; the message is one line for the user."""


class Server(BaseApplication):  # type: ignore[misc] # gunicorn ships no types
    """Gunicorn's application: its configuration, and the ASGI application of a worker."""

    worker: Worker

    def __init__(
        self,
        settings: Settings,
        live: tls.LivePair,
        source: Source,
        listeners: Sequence[socket.socket],
        create_app: CreateApp,
        managed: Managed | None,
    ) -> None:
        self._settings, self._live, self._source, self._create_app, self._managed = settings, live, source, create_app, managed
        self._addresses = [str(Address(*each.getsockname()[:2])) for each in listeners]
        # Gunicorn duplicates the descriptor and closes the original.
        self._descriptor, self._probes = listeners[0].detach(), listeners[1:]
        # Shared memory, inherited by fork; one byte needs no lock.
        self._draining = mmap.mmap(-1, 1)
        self._alone = memory.Alone()
        self._pid = os.getpid()
        super().__init__()

    def load_config(self) -> None:
        """See BaseApplication."""
        for name, value in self._gunicorn_settings().items():
            self.cfg.set(name, value)

    def load(self) -> Application:
        """Return the application of this worker; called after the fork."""
        from webhooks.server.worker import Worker

        log.capture_libraries()
        # Uvicorn warns about each malformed request; these are counted by a metric instead.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self.worker = Worker(
            self._settings,
            self._live,
            self._source,
            self._create_app,
            parent=self._pid,
            draining=lambda: self._draining[0] != 0,
            alone=self._alone,
            managed=self._managed,
        )
        for probe in self._probes:
            threading.Thread(target=_serve_probes, args=(self.worker.probes, probe), name="probes", daemon=True).start()
        return self.worker.application

    def _gunicorn_settings(self) -> dict[str, Any]:
        settings = self._settings
        return {
            "bind": [f"fd://{self._descriptor}"],
            "backlog": settings.backlog,
            "worker_class": self._uvicorn_worker() if settings.server == "uvicorn" else "asgi",
            "workers": settings.workers,
            "worker_connections": settings.connections,
            "keepalive": int(settings.keepalive_seconds),
            "timeout": int(settings.stuck_seconds),
            # Timeout of the master.  It is longer than that of the workers (see _worker_forked), which notice a stop a second later.
            "graceful_timeout": int(settings.stop_seconds) + 3,
            "certfile": self._live.files[0],
            "keyfile": self._live.files[1],
            "ssl_context": lambda _config, _default: self._live.context(),
            "asgi_lifespan": "on",
            # The API server connects directly, so no header may change the client's address or the scheme.
            "forwarded_allow_ips": "",
            "forwarder_headers": "",
            "secure_scheme_headers": {},
            "control_socket_disable": True,
            "logconfig_dict": log.LOGGING,
            "loglevel": "warning",
            "proc_name": "muster",
            "when_ready": self._ready,
            "post_fork": self._worker_forked,
            "child_exit": _worker_exited,
        }

    def _uvicorn_worker(self) -> type:
        from uvicorn_worker import UvicornWorker

        from webhooks.server.connection import limited

        options = {
            "http": limited(self._settings, lambda code: self.worker.telemetry.refused("connection", code)),
            "loop": "webhooks.server.connection:Loop",
            "ws": "none",
            "lifespan": "on",
            "access_log": False,
            "server_header": False,
            "proxy_headers": False,
            "timeout_graceful_shutdown": int(self._settings.stop_seconds),
            "ssl_context_factory": lambda _config, _default: self._live.context(),
        }
        return type("Worker", (UvicornWorker,), {"CONFIG_KWARGS": options})

    def _worker_forked(self, _arbiter: Any, worker: Any) -> None:
        worker.cfg.set("graceful_timeout", int(self._settings.stop_seconds))

    def _ready(self, _arbiter: Any) -> None:
        """Set the signal handlers of gunicorn's master, and print the addresses, which port 0 leaves to the kernel."""
        stop: Any = signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGINT, lambda _number, frame: stop(signal.SIGTERM, frame))
        for number in (signal.SIGHUP, signal.SIGUSR2):
            signal.signal(number, _ignore)
        if self._settings.drain_seconds:
            signal.signal(signal.SIGTERM, lambda *_: self._drain(stop))
        listening = dict(zip(("address", "probeAddress"), self._addresses, strict=False))
        line = {"event": "listening", **listening, "workers": self._settings.workers, "pid": os.getpid()}
        with contextlib.suppress(OSError):
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

    def _drain(self, stop: Any) -> None:
        """Become unready and stop after ``drain_seconds``; a second SIGTERM stops at once."""
        signal.signal(signal.SIGTERM, stop)
        self._draining[0] = 1
        seconds = self._settings.drain_seconds
        log.write("info", "draining", {"seconds": seconds})
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM))
        timer.daemon = True
        timer.start()


def _hold_stops_at_fork() -> None:
    """Block SIGTERM in a new worker until its event loop runs (``Lifespan.live``).

    An earlier SIGTERM would be lost: the worker first has the inherited handler of gunicorn's master, which adds the signal to
    a queue that only the master reads, and then the handler of an event loop that does not run yet.  The worker would continue,
    accept connections, and be killed with them after the master's ``graceful_timeout``.
    """
    hold = functools.partial(signal.pthread_sigmask, signal.SIG_BLOCK, {signal.SIGTERM})
    release = functools.partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, {signal.SIGTERM})
    os.register_at_fork(before=hold, after_in_parent=release)


def _serve_probes(application: Application, listener: socket.socket) -> None:
    import uvicorn

    options: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "access_log": False, "server_header": False}
    uvicorn.Server(uvicorn.Config(application, proxy_headers=False, **options)).run([listener])


def _ignore(number: int, _frame: FrameType | None) -> None:
    reason = "key pairs are reloaded automatically; restart the server to change settings"
    log.write("info", "ignored", {"signal": signal.Signals(number).name.removeprefix("SIG"), "reason": reason})


def _worker_exited(_: Any, worker: Any) -> None:
    from webhooks.server.multiprocess_metrics import process_ended

    process_ended(worker.pid)


def listen(address: Address, backlog: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        StartError: the address is in use, belongs to another machine, or does not exist.
    """
    try:
        candidates = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, socket_address = candidates[0]
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        if family == socket.AF_INET6 and address.host == "::":
            # One socket for both address families, as Kubernetes may probe a pod by either.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(socket_address)
        sock.listen(backlog)
    except OSError as error:
        raise StartError(f"cannot listen on {address}: {error.strerror or error}") from None
    return sock


def serve(settings: Settings, source: Source, create_app: CreateApp | None = None) -> None:
    """Serve until SIGTERM or SIGINT; return after a graceful stop.

    *create_app* creates the WSGI application of a worker; the default is ``webhooks.server.routes.create_app``.

    Raises:
        StartError: the key pair or an address cannot be used; nothing has been served.
        OptionError: there is no cluster to keep a managed certificate in.
    """
    certificate = _certificate(settings)
    addresses = [settings.bind, *([settings.probe_bind] if settings.probe_bind else [])]
    sockets = [listen(each, settings.backlog) for each in addresses]
    # Until gunicorn handles signals, SIGTERM must run the clean-up below.
    signal.signal(signal.SIGTERM, _stop_early)
    # The name is chosen before the directory is created, so that it is removed whenever SIGTERM arrives.
    directory = Path(tempfile.gettempdir()) / f"muster-metrics-{secrets.token_hex(8)}"
    master = os.getpid()
    try:
        _make_metrics_directory(directory)
        live, managed = certificate(directory)
        # Imported once here, not in each worker, and after the variable is set: prometheus_client reads it at import.
        from webhooks.server import routes

        routes.warm_up(settings)
        server = Server(settings, live, source, sockets, create_app or routes.create_app, managed)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        _hold_stops_at_fork()
        # Objects that exist now are permanent.  A review's objects are freed by reference count; only errors make cycles.
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER, 10, 10)
        server.run()
    except SystemExit as stop:
        if os.getpid() != master or stop.code:
            raise
    finally:
        if os.getpid() == master:
            shutil.rmtree(directory, ignore_errors=True)


def _certificate(settings: Settings) -> Callable[[Path], tuple[tls.LivePair, Managed | None]]:
    """Return the function that loads the key pair, in a directory if the replicas manage it.  Raises StartError and OptionError."""
    if settings.client_name and not settings.client_ca:
        raise StartError("--client-name needs --client-ca: without it clients show no certificate")
    if settings.client_name and settings.server != "uvicorn":
        raise StartError(f"--client-name needs --server uvicorn: {settings.server} does not show the certificate of a client")
    if settings.certificates == MANAGED:
        from webhooks.server.certificates import Managed

        managed = Managed(settings)
        return lambda directory: (_live_pair(managed.prepare(directory / "certificate"), settings), managed)
    if not settings.tls_cert or not settings.tls_key:
        raise StartError("--tls-cert and --tls-key must be given, or --certificates managed: the API server calls webhooks over TLS only")
    live = _live_pair((settings.tls_cert, settings.tls_key), settings)
    return lambda _: (live, None)


def _live_pair(files: tuple[str, str], settings: Settings) -> tls.LivePair:
    """Return the key pair to serve.  Raises StartError."""
    try:
        return tls.LivePair(*files, settings.tls_poll_seconds, settings.client_ca)
    except tls.PairError as error:
        raise StartError(str(error)) from None


def _stop_early(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def _make_metrics_directory(directory: Path) -> None:
    try:
        directory.mkdir(0o700)
    except OSError as error:
        raise StartError(f"cannot make a directory for metrics in {directory.parent}: {error.strerror or error}") from None
    os.environ[METRICS_DIRECTORY] = str(directory)
