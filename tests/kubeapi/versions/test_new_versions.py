"""A new version or API group needs rows in the table, and no other change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def test_versions_that_are_added_to_the_table_are_taken_everywhere() -> None:
    """Run the other modules in a process whose table has the new rows."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.kubeapi.versions.extended_table"]
    done = subprocess.run([*command, *map(str, HERE.glob("new_versions*.py"))], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
