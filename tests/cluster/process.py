"""A program of the control plane as a child process that cannot outlive the tests, its log kept in a file."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from tests.cluster.waiting import until
from tests.forked import ForkedProcess

STOP_SECONDS = 10
KILLED_SECONDS = 60
FROZEN = frozenset("TZX")
"""Stopped, or not there any more."""
ASK_EVERY = 0.05
PORTS = range(20000, 32000)
"""Below the ports that Linux gives to outgoing connections: none of these takes ours between the asking and the listening."""
_GIVEN: set[int] = set()

_TIED = """
import ctypes, os, signal, sys
with __import__("contextlib").suppress(AttributeError):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the tests are gone")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""The kernel kills the program when the thread that started it ends (prctl PR_SET_PDEATHSIG)."""

_STARTER = ThreadPoolExecutor(1, thread_name_prefix="starter")
"""One thread starts all programs and lives as long as the interpreter: no program dies with a test's thread."""


class NotReadyError(Exception):
    """A program has died, or does not answer in time; the message ends with the last of its log."""


class Process:
    """One program, started again under the same name with the same log."""

    def __init__(self, name: str, log: Path) -> None:
        self.name, self.log = name, log
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise NotReadyError(f"{self.name} is not started")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, command: Sequence[str | Path], environ: Mapping[str, str] | None = None) -> None:
        """Start *command*, in a session of its own; its output is appended to the log."""
        if self.running:
            raise NotReadyError(f"{self.name} runs already")
        with self.log.open("ab") as log:
            self._process = begun(command, log, environ)

    def fork(self, arguments: Sequence[str], environ: Mapping[str, str], folder: Path) -> None:
        """Start ``muster`` with *arguments* in *folder*, forked from a process that has imported its modules."""
        if self.running:
            raise NotReadyError(f"{self.name} runs already")
        with self.log.open("ab") as log:
            self._process = ForkedProcess(arguments, log, log, environ, folder)

    def await_answer(self, answers: Callable[[], bool], seconds: float) -> None:
        """Wait until *answers* is true.  Raises NotReadyError where the process ends before, or time does."""
        end = time.monotonic() + seconds
        while not answers():
            if not self.running:
                raise NotReadyError(f"{self.name} has ended with {self._process and self._process.poll()}:\n{self.tail()}")
            if time.monotonic() > end:
                raise NotReadyError(f"{self.name} is not ready after {seconds:g} s:\n{self.tail()}")
            time.sleep(ASK_EVERY)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program and all that it has started."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def pause(self) -> None:
        """Freeze it: connections stay open, nothing is answered."""
        self.signal(signal.SIGSTOP)
        # The signal is sent, and heard by each thread when it gets the processor.
        until(lambda: self._states() <= FROZEN, told=lambda: f"{self.name} does not stop: {self._states()}")

    def resume(self) -> None:
        """Let it go on."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, as ``kill -9`` does."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(KILLED_SECONDS)

    def stop(self) -> None:
        """End it as an operator does, and at once where that takes too long."""
        if self._process is None:
            return
        self.resume()
        self.signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def _states(self) -> set[str]:
        """The states of all threads of the program and of what it has started, as /proc has them."""
        result = set()
        for each in Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, _, group = each.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:3]
                result |= {state} if int(group) == self.pid else set()
        return result

    def tail(self, lines: int = 30) -> str:
        """The last lines of the log."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


def begun(
    command: Sequence[str | Path], log: IO[bytes], environ: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """Start *command*, in a session of its own, so that it ends with this process at the latest."""
    attached = [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *map(str, command)]
    given = None if environ is None else dict(environ)
    return _STARTER.submit(
        lambda: subprocess.Popen(attached, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=given, start_new_session=True, **options)
    ).result()


def free_port() -> int:
    """A port of the loopback on which nothing listens, and which was given to nobody before, who may not listen yet."""
    while True:
        port = random.choice(PORTS)
        with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _GIVEN:
                _GIVEN.add(port)
                return port
