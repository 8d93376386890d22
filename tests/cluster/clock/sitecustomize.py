"""Clock of the time of day with an offset from a file, so that it jumps when the file changes.

Python imports this module at start if this folder is on PYTHONPATH.  Monotonic clocks are unchanged.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path

_FILE = Path(os.environ["CLOCK_FILE"])
"""File with the offset of the time of day in seconds."""
_real = time.time


def _time() -> float:
    return _real() + float(_FILE.read_text(encoding="ascii"))


class _Datetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> _Datetime:
        return cls.fromtimestamp(_time(), tz)


time.time = _time
dt.datetime = _Datetime  # type: ignore[misc]
