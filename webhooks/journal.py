"""Log lines: one JSON object each, to standard error, in one write.

Lines of several processes do not mix: one write of less than the pipe's atomic size stays whole.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import time
from collections.abc import Mapping
from typing import Any

from gunicorn import glogging
from gunicorn.config import Config

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
STANDARD_ERROR = 2


def stamp(seconds: float) -> str:
    """*seconds* since the epoch as RFC 3339, in UTC, to the millisecond."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(level: str, event: str, fields: Mapping[str, Any], descriptor: int = STANDARD_ERROR) -> None:
    """Write one line: time, level, event, and *fields*.  A log that nobody takes is lost, not an error."""
    line = _encode({"time": stamp(time.time()), "level": level, "event": event, **fields})
    try:
        os.write(descriptor, line.encode("utf-8", "replace") + b"\n")
    except OSError:
        # Standard error is closed or full; a review must not fail for that.
        return


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


class JsonLogger(glogging.Logger):  # type: ignore[misc] # gunicorn ships no types
    """Gunicorn's logger, in JSON."""

    def setup(self, cfg: Config) -> None:
        """See gunicorn.glogging.Logger."""
        super().setup(cfg)
        for target in self.error_log.handlers:
            target.setFormatter(JsonFormatter())
