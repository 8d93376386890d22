"""Sidecars that are forked from a process that has imported their modules: four fifths of the CPU of a start are imports.

Each is a process in a session of its own.  It shares nothing with the process that it was forked from but imported modules, of
which none has started anything, and the seed of hashes.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing import connection, forkserver
from pathlib import Path
from subprocess import TimeoutExpired

MODULES = ("muster.cli", "muster.commands.sidecar", "muster.render.answer_json", "scheduler_core.sidecar.process.main", "webhooks.log")
PR_SET_PDEATHSIG = 1

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(list(MODULES))


class ForkedProcess:
    """A process that runs ``muster`` with *arguments*, with those methods of subprocess.Popen that are used here."""

    def __init__(self, arguments: Sequence[str], log: Path, environ: Mapping[str, str], folder: Path) -> None:
        log.touch()
        self._process = _CONTEXT.Process(target=_run, args=(arguments, log, dict(environ), folder), daemon=True)
        self._lock = threading.Lock()
        self._process.start()
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or minus the number of the signal; None while it runs."""
        # The code can be read once: of two threads, the second would get another.
        with self._lock:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended.  Raises TimeoutExpired after *timeout* seconds."""
        connection.wait([self._process.sentinel], timeout)
        if (code := self.poll()) is None:
            raise TimeoutExpired("muster", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""
        self.send_signal(signal.SIGKILL)


def _run(arguments: Sequence[str], log: Path, environ: Mapping[str, str], folder: Path) -> None:
    os.setsid()
    # As long as it is open the server goes on, which ends with the tests; and with the server this process ends.
    os.close(forkserver._forkserver._forkserver_alive_fd)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with Path(os.devnull).open("rb") as nothing, log.open("ab") as out:
        for number, stream in enumerate((nothing, out, out)):
            os.dup2(stream.fileno(), number)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv = ["muster", *arguments]
    from muster import cli

    cli.main(list(arguments))
