"""Surroundings of all tests: none depends on the signals, terminal, locale, time zone, umask or home of whoever runs them."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

TERMINAL = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "PAGER")
LANGUAGE = ("LANG", "LANGUAGE", "LC_CTYPE", "LC_MESSAGES", "LC_TIME", "LC_NUMERIC", "LC_COLLATE", "PYTHONIOENCODING")
HOME_PREFIX = "muster-tests-home-"


def pytest_configure(config: pytest.Config) -> None:
    """Set them once for each process, before a test is imported."""
    # nohup and many CI systems start programs with SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    for name in (*TERMINAL, *LANGUAGE):
        os.environ.pop(name, None)
    os.environ |= {"LC_ALL": "C.UTF-8", "TZ": "UTC"}
    time.tzset()
    _leave_home(config)


def _leave_home(config: pytest.Config) -> None:
    """Give the tests an empty home; caches of builds stay where they are."""
    home = Path(os.environ.get("HOME") or Path.home())
    os.environ.setdefault("XDG_CACHE_HOME", str(home / ".cache"))
    os.environ.setdefault("GOPATH", str(home / "go"))
    empty = tempfile.mkdtemp(prefix=HOME_PREFIX)
    os.environ["HOME"] = empty
    config.add_cleanup(lambda: shutil.rmtree(empty, ignore_errors=True))
