"""Tests pass in any environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.sampling import WHOLE

ROOT = Path(__file__).parent.parent
SENSITIVE = (
    "tests/muster/test_demo.py::test_ctrl_c_is_answered_and_no_second_one_disturbs_what_is_stopped",
    "tests/muster/test_standard_output.py",
    "tests/muster/test_explain.py",
    "tests/certs/test_store.py",
)
SAMPLE = () if WHOLE else ("-k", "not full_disk_is_one_line or lint or explain or schema or version")
"""Of the commands that print, some are enough: they share the code that writes."""
ODD = {"COLUMNS": "20", "FORCE_COLOR": "1", "TERM": "xterm-256color", "LC_ALL": "POSIX", "LANG": "de_DE.ISO-8859-1", "TZ": "Asia/Kathmandu"}


def _inherit() -> None:
    """Ignore signals as under nohup, and set a umask without access for others."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o077)


def test_signals_terminal_locale_time_zone_umask_and_home_do_not_matter(tmp_path):
    environ = {**os.environ, **ODD, "HOME": str(tmp_path / "nowhere")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SAMPLE, *SENSITIVE]

    ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, preexec_fn=_inherit)

    assert 0 == ended.returncode, ended.stdout
