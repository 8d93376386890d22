"""Work that is shared by several processes: each takes numbered tasks until none is left.

The processes are forked, so they have the objects of this one.  Nothing is sent to them but the numbers, through a pipe.  Each
writes its result to a temporary file, which this process reads at the end.  This process works too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import BinaryIO

import click

_NUMBER = struct.Struct("=I")
MOST_TASKS = 8000
"""Their numbers must fit into a pipe of 64 KiB."""
_MOST_PROCESSES = 4
_BUFFER = 1_000_000
_INTERRUPTED = 2
"""Exit status of a process that ends with KeyboardInterrupt."""

Work = Callable[[int, Iterator[int]], bytes]
"""Function from the number of the process and its tasks to its result."""


class FileByteStore:
    """Bytes in a temporary file, which all processes can read (``validators.lint.object_columns.ByteStore``)."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as this object
        self._waiting = bytearray()
        self._written = 0

    def append(self, blob: bytes) -> int:
        """See ByteStore."""
        offset = self._written + len(self._waiting)
        self._waiting += blob
        if len(self._waiting) > _BUFFER:
            self.flush()
        return offset

    def flush(self) -> None:
        """Write all bytes, so that other processes can read them."""
        self._file.write(self._waiting)
        self._file.flush()
        self._written += len(self._waiting)
        self._waiting.clear()

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def read(self, offset: int, size: int) -> bytes:
        """See ByteStore."""
        return os.pread(self._file.fileno(), size, offset)


def available() -> int:
    """Return the number of processes to use if the user does not say."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_PROCESSES) if hasattr(os, "fork") else 1


def share(count: int, tasks: int, work: Work, progress: Callable[[int], None]) -> list[bytes]:
    """Return the results of *work* in *count* processes, which share the numbers below *tasks* (at most ``MOST_TASKS``).

    *progress* is called in this process with the number of each of its tasks: all tasks before it were taken.

    Raises:
        click.ClickException: a process ended without a result.
        KeyboardInterrupt: one of the processes was interrupted.

    """
    reading, writing = os.pipe()
    running: list[int] = []
    with contextlib.ExitStack() as stack:
        stack.callback(_kill, running)
        stack.callback(os.close, reading)
        os.write(writing, b"".join(map(_NUMBER.pack, range(tasks))))
        os.close(writing)
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(1, count)]
        for number, file in enumerate(files, 1):
            with _interrupts_blocked():  # until the process is known
                running.append(_fork(number, reading, work, file))
        own = work(0, _reported(_taken(reading), progress))
        return [own, *(_result(running, file) for file in files)]


def _kill(running: list[int]) -> None:
    for pid in running:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _fork(number: int, reading: int, work: Work, file: BinaryIO) -> int:
    """Start a process that writes its result, or its error, to *file*; return its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        file.write(work(number, _taken(reading)))
        status = 0
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except BaseException:  # noqa: BLE001 - this process must end here, whatever happens
        file.write(traceback.format_exc().encode("utf-8", "replace"))
    finally:
        with contextlib.suppress(OSError):
            file.flush()
        os._exit(status)


def _taken(reading: int) -> Iterator[int]:
    while packed := os.read(reading, _NUMBER.size):
        yield _NUMBER.unpack(packed)[0]


def _reported(numbers: Iterator[int], progress: Callable[[int], None]) -> Iterator[int]:
    for number in numbers:
        progress(number)
        yield number


def _result(running: list[int], file: BinaryIO) -> bytes:
    """Return the result of the first of the processes, when it has ended."""
    _, status = os.waitpid(running[0], 0)
    del running[0]
    file.seek(0)
    content = file.read()
    if status == 0:
        return content
    code = os.waitstatus_to_exitcode(status)
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    why = f"signal {-code}" if code < 0 else content.decode("utf-8", "replace").strip().rpartition("\n")[2]
    raise click.ClickException(f"a process of `--jobs` ended early: {why}; try --jobs 1")
