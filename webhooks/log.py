"""Log lines: one JSON object each, written to standard error by one system call.

Lines of several processes do not mix, as a write of at most PIPE_ATOMIC bytes is atomic.
"""

from __future__ import annotations

import collections
import contextlib
import datetime as dt
import json
import logging.config
import os
import time
import warnings
from collections.abc import Mapping
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
STANDARD_ERROR = 2
PIPE_ATOMIC = 4096
"""Largest write to a pipe that is atomic, in bytes."""
MAX_WARNINGS = 1000
"""Number of distinct warnings of libraries that are written."""


def stamp(seconds: float) -> str:
    """Return *seconds* since the epoch as RFC 3339, in UTC, with milliseconds."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(level: str, event: str, fields: Mapping[str, Any], descriptor: int = STANDARD_ERROR) -> None:
    """Write one line: time, level, event, and *fields*.  A line that cannot be written is dropped."""
    _write_line(descriptor, _line(level, event, fields))


def _line(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    return _encode({"time": stamp(time.time()), "level": level, "event": event, **fields}).encode("utf-8", "replace") + b"\n"


def _write_line(descriptor: int, line: bytes) -> None:
    # Standard error may be closed or full; a review must not fail because of that.
    with contextlib.suppress(OSError):
        os.write(descriptor, line)


class Batch:
    """Buffer of lines for *descriptor* until ``flush``, so that threads that answer reviews make no system call.

    Appending is atomic, so threads need no lock.
    """

    def __init__(self, descriptor: int = STANDARD_ERROR) -> None:
        self._descriptor = descriptor
        self._lines: collections.deque[bytes] = collections.deque()

    def write(self, level: str, event: str, fields: Mapping[str, Any]) -> None:
        """Append one line, with the fields of the function ``write``."""
        self._lines.append(_line(level, event, fields))

    def flush(self) -> None:
        """Write all lines, in writes of at most PIPE_ATOMIC bytes if lines are not longer."""
        while self._lines:
            chunk = self._lines.popleft()
            while self._lines and len(chunk) + len(self._lines[0]) <= PIPE_ATOMIC:
                chunk += self._lines.popleft()
            _write_line(self._descriptor, chunk)


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


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
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
