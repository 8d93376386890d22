"""Source distribution and wheel, and the archive of the Helm chart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from release import archives
from tests.cluster import go_tools


def build_packages(sources: Path, folder: Path, time: int) -> None:
    """Build the source distribution, and the wheel of what is in it.

    The build backend is the setuptools of this environment, whose version is in the lock: in an environment of its own, ``build`` would
    install the newest one.
    """
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(sources)]
    subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": str(time)}, check=True, stdout=subprocess.DEVNULL)
    (packed,) = folder.glob("*.tar.gz")
    archives.rewrite(packed, time)


def build_chart(sources: Path, folder: Path, time: int) -> None:
    """Pack the chart.  Raises MissingError if helm cannot be built."""
    command = [go_tools.build("helm"), "package", sources / "deploy" / "chart", "--destination", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (packed,) = folder.glob("muster-*.tgz")
    archives.rewrite(packed, time)
