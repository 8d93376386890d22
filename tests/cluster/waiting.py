"""Timeouts of tests: for events that take milliseconds, or much longer on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

WAIT_SECONDS = 60.0
"""Only a test that fails waits so long."""
ASK_EVERY = 0.02


def until(condition: Callable[[], Any], seconds: float = WAIT_SECONDS, told: Callable[[], str] = lambda: "") -> None:
    """Wait for *condition*; AssertionError with what *told* says if it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, told()
        time.sleep(ASK_EVERY)
