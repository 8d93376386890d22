"""The time of day as a file has it, so that the clock of a process jumps when the file changes.

Python runs this at its start wherever this folder is on PYTHONPATH.  The clocks that only count seconds stay as they are.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path

_FILE = Path(os.environ["CLOCK_FILE"])
"""Has the seconds by which the time of day is off."""
_real = time.time


def _time() -> float:
    return _real() + float(_FILE.read_text(encoding="ascii"))


class _Datetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> _Datetime:
        return cls.fromtimestamp(_time(), tz)


time.time = _time
dt.datetime = _Datetime  # type: ignore[misc]
