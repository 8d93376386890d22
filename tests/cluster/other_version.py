"""An earlier version of Muster: a commit of this repository, which runs with the libraries of this version."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MANAGED = "59e6e0156f0e45462271f3e502db160a0158764a"
"""The first commit whose manifests have a certificate that the replicas manage."""


def extracted(commit: str, folder: Path) -> Path:
    """Return *folder* with the files of a commit; skip the test if this is no clone with the history of the project."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip("this is no clone with the history of the project")
    # Python extracts safely only from 3.11.4 on.
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return folder


def environ_of(folder: Path) -> dict[str, str]:
    """Return the environment in which ``python -m muster`` is the version in *folder*."""
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
