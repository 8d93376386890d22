"""Log lines: one JSON object each, to standard error, in one write.

Lines of several processes do not mix: one write of less than the pipe's atomic size stays whole.
"""

from __future__ import annotations

import collections
import contextlib
import datetime as dt
import json
import logging
import os
import time
from collections.abc import Mapping
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
STANDARD_ERROR = 2
PIPE_ATOMIC = 4096
"""Bytes that a pipe takes whole, whoever else writes to it."""


def stamp(seconds: float) -> str:
    """*seconds* since the epoch as RFC 3339, in UTC, to the millisecond."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(level: str, event: str, fields: Mapping[str, Any], descriptor: int = STANDARD_ERROR) -> None:
    """Write one line: time, level, event, and *fields*.  A log that nobody takes is lost, not an error."""
    _put(descriptor, _line(level, event, fields))


def _line(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    return _encode({"time": stamp(time.time()), "level": level, "event": event, **fields}).encode("utf-8", "replace") + b"\n"


def _put(descriptor: int, line: bytes) -> None:
    # Standard error may be closed or full; a review must not fail for that.
    with contextlib.suppress(OSError):
        os.write(descriptor, line)


class Batch:
    """Lines kept until ``flush``: a thread that judges gives up the interpreter for no write.

    Appending is atomic, so threads need no lock.
    """

    def __init__(self, descriptor: int = STANDARD_ERROR) -> None:
        """Lines go to *descriptor*."""
        self._descriptor = descriptor
        self._lines: collections.deque[bytes] = collections.deque()

    def write(self, level: str, event: str, fields: Mapping[str, Any]) -> None:
        """Keep one line, of the form of ``write``."""
        self._lines.append(_line(level, event, fields))

    def flush(self) -> None:
        """Write what is kept, as many lines at once as a pipe takes whole."""
        while self._lines:
            together = self._lines.popleft()
            while self._lines and len(together) + len(self._lines[0]) <= PIPE_ATOMIC:
                together += self._lines.popleft()
            _put(self._descriptor, together)


class JsonFormatter(logging.Formatter):
    """Records of other libraries' loggers as lines of the same form; a traceback goes into ``trace``."""

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
"""Logging configuration (``logging.config``) by which the loggers of libraries write such lines."""
