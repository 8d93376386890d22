"""Log lines: one JSON object each, written to standard error by one system call.

A thread writes them, from a queue with a limit.  No other thread waits for the reader of standard error: if it stalls, lines are
dropped and counted, and the first line after that reports their number.  Lines of several processes do not mix, as a write of at most
PIPE_ATOMIC bytes is atomic.
"""

from __future__ import annotations

import atexit
import collections
import datetime as dt
import json
import logging.config
import os
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
STANDARD_ERROR = 2
PIPE_ATOMIC = 4096
"""Largest write to a pipe that is atomic, in bytes."""
QUEUE_BYTES = 1024 * 1024
"""Limit for the lines of a process that wait for the reader of standard error: about 3,000 reviews."""
CLOSE_SECONDS = 1.0
"""Time for the last lines at the end of a process."""
MAX_WARNINGS = 1000
"""Number of distinct warnings of libraries that are written."""


def stamp(seconds: float) -> str:
    """Return *seconds* since the epoch as RFC 3339, in UTC, with milliseconds."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(level: str, event: str, fields: Mapping[str, Any]) -> None:
    """Write one line: time, level, event, and *fields*.  Only a thread waits for a slow reader; a line too many is dropped."""
    append(level, event, fields)
    flush()


def append(level: str, event: str, fields: Mapping[str, Any]) -> None:
    """Add one line that is written at the next ``flush``, so that threads that answer reviews make no system call."""
    _queue.add(_line(level, event, fields))


def flush() -> None:
    """Have all lines written, by a thread; return at once."""
    _queue.wake()


def close(seconds: float = CLOSE_SECONDS) -> None:
    """Write all lines, for at most *seconds*: a reader that has stalled must not keep a process from ending."""
    _queue.close(seconds)


def dropped() -> int:
    """Return the number of lines that this process has dropped."""
    return _queue.dropped


def _line(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    return _encode({"time": stamp(time.time()), "level": level, "event": event, **fields}).encode("utf-8", "replace") + b"\n"


class Queue:
    """Lines of one process that wait to be written to *descriptor*, at most *most_bytes* of them.

    A thread writes them, started with the first line: a write blocks while the reader of a pipe does not read.
    """

    def __init__(self, descriptor: int = STANDARD_ERROR, most_bytes: int = QUEUE_BYTES) -> None:
        self._descriptor, self._most_bytes = descriptor, most_bytes
        self.dropped = 0
        self._reported = 0
        self.reset()

    def reset(self) -> None:
        """Forget all lines and the thread: a forked process has neither."""
        self._lines: collections.deque[bytes] = collections.deque()
        self._bytes = 0
        self._wanted = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, line: bytes) -> None:
        """Add a line, or drop it if the queue is full."""
        with self._changed:
            if self._bytes + len(line) > self._most_bytes:
                self.dropped += 1
            else:
                self._bytes += len(line)
                self._lines.append(line)

    def wake(self) -> None:
        """Have the thread write."""
        with self._changed:
            if not self._lines:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="log", daemon=True)
                self._thread.start()
            self._wanted = True
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Wait until all lines are written, at most *seconds*."""
        self.wake()
        with self._changed:
            self._changed.wait_for(lambda: self._bytes == 0, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted)
                self._wanted = False
            while chunk := self._next_chunk():
                written = self._write(chunk)
                with self._changed:
                    self._bytes -= len(chunk)
                    self._changed.notify_all()
                    count = self.dropped - self._reported if self._bytes <= self._most_bytes // 2 else 0
                if written and count:
                    self._reported += count
                    self._write(_line("warning", "log-dropped", {"lines": count, "reason": "standard error was not read in time"}))

    def _next_chunk(self) -> bytes:
        """Return lines for one write: at most PIPE_ATOMIC bytes if lines are not longer."""
        chunk = b""
        with self._changed:
            while self._lines and (not chunk or len(chunk) + len(self._lines[0]) <= PIPE_ATOMIC):
                chunk += self._lines.popleft()
        return chunk

    def _write(self, chunk: bytes) -> bool:
        """Write; return False if standard error is closed or full: the lines are dropped."""
        try:
            os.write(self._descriptor, chunk)
        except OSError:
            with self._changed:
                self.dropped += chunk.count(b"\n")
            return False
        return True


_queue = Queue()
os.register_at_fork(after_in_child=_queue.reset)
atexit.register(close)


class JsonFormatter(logging.Formatter):
    """Formatter that gives other libraries' log records the same form; a traceback is in ``trace``."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        fields: dict[str, Any] = {
            "time": stamp(record.created),
            "level": record.levelname.lower(),
            "event": "log",
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return _encode(fields)


class Handler(logging.Handler):
    """Handler of the loggers of libraries: it adds to the same queue, so it does not block either."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        """See logging.Handler."""
        _queue.add(self.format(record).encode("utf-8", "replace") + b"\n")
        flush()


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"()": Handler}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"gunicorn.error": {"handlers": ["stderr"], "level": "WARNING", "propagate": False}},
}
"""Configuration for ``logging.config`` by which the loggers of libraries write such lines."""


def capture_libraries() -> None:
    """Write log records and warnings of libraries as such lines, each distinct warning once in this process."""
    logging.config.dictConfig(LOGGING)
    written: set[tuple[str, str]] = set()

    def show(message: Warning | str, category: type[Warning], *_place: object) -> None:
        warning = category.__name__, str(message)
        if warning not in written and len(written) < MAX_WARNINGS:
            written.add(warning)
            write("warning", "log", {"logger": category.__module__, "message": f"{warning[0]}: {warning[1]}"})

    warnings.showwarning = show  # type: ignore[assignment] # the place is not used
