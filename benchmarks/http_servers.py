"""HTTP servers that could serve the webhooks: ours with both libraries, and two stock servers.

``gthread`` is gunicorn's threaded worker with eight threads and an ``ssl_context`` hook; ``granian`` runs the WSGI
application in four threads.  All run the same Flask application, with one worker, over TLS.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import load
from certs import store

GTHREAD_THREADS, GRANIAN_THREADS = 8, 4
APPLICATION = "benchmarks.wsgi:app"
STOCK = ("gthread", "granian")
GUNICORN_CONFIGURATION = """
import os, ssl, time
from webhooks.server.tls import LivePair
live = LivePair(os.environ["MUSTER_TLS_CERT"], os.environ["MUSTER_TLS_KEY"], 0.1)
def ssl_context(config, default):
    live.refresh(time.monotonic())
    return live.pair.context
"""


def _command(what: str, port: int, directory: Path, workers: int) -> list[str]:
    certificate, key = str(directory / store.CERTIFICATE), str(directory / store.KEY)
    if what == "gthread":
        configuration = directory / "gunicorn.conf.py"
        configuration.write_text(GUNICORN_CONFIGURATION)
        options = ["--config", str(configuration), "--bind", f"{load.HOST}:{port}", "--workers", str(workers)]
        options += ["--worker-class", "gthread", "--threads", str(GTHREAD_THREADS), "--keep-alive", "120"]
        options += ["--certfile", certificate, "--keyfile", key, "--log-level", "error", "--graceful-timeout", "10"]
        return [sys.executable, "-m", "gunicorn", *options, APPLICATION]
    options = ["--interface", "wsgi", "--host", load.HOST, "--port", str(port), "--workers", str(workers)]
    options += ["--http", "1", "--blocking-threads", str(GRANIAN_THREADS), "--backpressure", "19000", "--no-log"]
    options += ["--ssl-certificate", certificate, "--ssl-keyfile", key, "--ssl-protocol-min", "tls1.2", "--respawn-failed-workers"]
    return [sys.executable, "-m", "granian", *options, APPLICATION]


def _free_port() -> int:
    with socket.create_server((load.HOST, 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def stock(what: str, directory: Path, workers: int = 1) -> Iterator[load.Server]:
    """Run the stock server *what*, one of STOCK."""
    port = _free_port()
    with (directory / f"{what}.log").open("wb") as log:
        process = subprocess.Popen(
            _command(what, port, directory, workers),
            env=load.environment(directory, workers),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _await(port, process, directory / f"{what}.log")
        yield load.Server(port, load.children(process.pid)[0], directory / store.CA, process.pid)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((load.HOST, port), timeout=1):
            return
        time.sleep(0.1)
    raise SystemExit(f"the server did not start: {log.read_text()}")


def running(what: str, directory: Path, workers: int = 1) -> contextlib.AbstractContextManager[load.Server]:
    """Run the server *what*: one of STOCK, or of those of ``benchmarks.serving``."""
    return stock(what, directory, workers) if what in STOCK else load.serving(what, directory, workers)
