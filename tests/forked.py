"""Processes of ``muster`` that are forked from one that has imported their modules: four fifths of the CPU of a start are imports.

Each is a process in a session of its own.  It shares nothing with the process that it was forked from but imported modules, of
which none has started anything, and the seed of hashes.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import multiprocessing.process
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from multiprocessing import connection, forkserver, reduction
from pathlib import Path
from typing import IO, Protocol

from tests.sampling import WHOLE

MODULES = (
    *("muster.cli", "muster.commands.sidecar", "muster.render.answer_json", "scheduler_core.sidecar.process.main", "webhooks.log"),
    *(
        "muster.commands.serve",
        "cryptography.x509",
        "flask",
        "gunicorn.app.base",
        "gunicorn.arbiter",
        "httptools",
        "uvicorn_worker",
        "uvloop",
        "muster.commands.lsp.server",
    ),
)
PR_SET_PDEATHSIG = 1

RUN_SECONDS = 90

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(list(MODULES))


MAIN = "from muster import cli; cli.main()"
LOST = 255
"""Status by which multiprocessing says that it could not read the status; muster has no such status."""
_STARTS = threading.Lock()


class LostStatusError(Exception):
    """The exit status of a process is not known."""


class HasFileno(Protocol):
    """A file or a socket."""

    def fileno(self) -> int:
        """Return the file descriptor."""


class ForkedProcess:
    """A process that runs *program* with *arguments* and these streams, with the methods of subprocess.Popen that are used here."""

    def __init__(
        self,
        arguments: Sequence[str],
        output: HasFileno,
        errors: HasFileno,
        environ: Mapping[str, str],
        folder: Path,
        program: str = MAIN,
        *,
        given: HasFileno | None = None,
    ) -> None:
        """Start it; its standard input is *given*, or empty."""
        with contextlib.ExitStack() as stack:
            stdin = given or stack.enter_context(Path(os.devnull).open("rb"))
            self._start(program, arguments, [_Stream(each) for each in (stdin, output, errors)], environ, folder)

    def _start(self, program: str, arguments: Sequence[str], streams: list[_Stream], environ: Mapping[str, str], folder: Path) -> None:
        self._process = _CONTEXT.Process(target=_run, args=(program, arguments, streams, dict(environ), folder), daemon=True)
        self._lock = threading.Lock()
        with _STARTS:
            self._process.start()
            # Each start reads the status of all processes in this set, whatever thread waits for one of them; a status can be read once.
            multiprocessing.process._children.discard(self._process)
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or minus the number of the signal; None while it runs."""
        # The code can be read once: of two threads, the second would get another.
        with self._lock:
            code = self._process.exitcode
        if code == LOST:
            raise LostStatusError(f"the exit status of process {self.pid} is lost: the server that forked it has ended")
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended.  Raises TimeoutExpired after *timeout* seconds."""
        connection.wait([self._process.sentinel], timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired("muster", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""
        self.send_signal(signal.SIGKILL)


def run(
    arguments: Sequence[str],
    folder: Path,
    environ: Mapping[str, str] = os.environ,
    *,
    output: IO[bytes] | None = None,
    errors: IO[bytes] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; return its status and what it wrote, unless to *output* and *errors*.

    In `make soak` it is started as a user does.
    """
    with tempfile.TemporaryFile() as written, tempfile.TemporaryFile() as reported:
        streams = output or written, errors or reported
        if WHOLE:
            command = [sys.executable, "-m", "muster", *arguments]
            status = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=streams[0],
                stderr=streams[1],
                cwd=folder,
                env=environ,
                timeout=RUN_SECONDS,
                check=False,
            ).returncode
        else:
            process = ForkedProcess(arguments, *streams, environ, folder)
            try:
                status = process.wait(RUN_SECONDS)
            finally:
                process.kill()
        return subprocess.CompletedProcess(arguments, status, *map(_text, (written, reported)))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


class _Stream:
    """A stream of this process that becomes a file descriptor of the process it is sent to."""

    def __init__(self, stream: HasFileno) -> None:
        self._stream = stream

    def __reduce__(self) -> tuple[object, ...]:
        return _received, (reduction.DupFd(self._stream.fileno()),)


def _received(descriptor: reduction.DupFd) -> int:
    result: int = descriptor.detach()
    return result


def _run(program: str, arguments: Sequence[str], streams: Sequence[int], environ: Mapping[str, str], folder: Path) -> None:
    os.setsid()
    # As long as it is open the server goes on, which ends with the tests; and with the server this process ends.
    os.close(forkserver._forkserver._forkserver_alive_fd)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # That of multiprocessing is empty.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it is open as long as the process
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    # When it is imported it decides from the environment if figures are those of one process.
    for name in [each for each in sys.modules if each.partition(".")[0] == "prometheus_client"]:
        del sys.modules[name]
    sys.argv = ["muster", *arguments]
    exec(program, {"__name__": "__main__"})
