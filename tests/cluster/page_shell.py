"""A shell for the commands of pages: helm, kustomize, kubectl and muster as an administrator of a control plane.  There is no container engine."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

from tests.cluster import go_tools
from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.docs import pages

SECONDS = 300
PODMAN = """#!/bin/sh
test "$1" != build || test -f "$3"
"""
MUSTER = f"""#!/bin/sh
PYTHONPATH={pages.ROOT} exec {sys.executable} -m muster "$@"
"""


def section(name: str, page: Path) -> list[pages.Block]:
    """Return the fenced blocks of a section of a page."""
    text = page.read_text(encoding="utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    return pages.blocks(text)


class Shell:
    """Runs lines in a checkout, by default in that of this version."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        programs = folder / "bin"
        programs.mkdir()
        built = {name: available(functools.partial(go_tools.find, name)) for name in ("helm", "kustomize")}
        for name, path in {**built, "kubectl": plane.programs.path("kubectl")}.items():
            (programs / name).symlink_to(path)
        for name, text in (("podman", PODMAN), ("muster", MUSTER)):
            (programs / name).write_text(text, encoding="utf-8")
            (programs / name).chmod(0o755)
        search = f"{programs}:{os.environ['PATH']}"
        self._environ = {"PATH": search, "KUBECONFIG": str(plane.kubeconfig), "HOME": str(folder)}

    def __call__(self, line: str, folder: Path = pages.ROOT) -> subprocess.CompletedProcess[str]:
        """Run a line; return its status and what it wrote."""
        command = ["bash", "-euc", line]
        return subprocess.run(command, cwd=folder, env=self._environ, capture_output=True, text=True, check=False, timeout=SECONDS)

    def run(self, line: str, folder: Path = pages.ROOT) -> str:
        """Run a line that must succeed; return its output."""
        done = self(line, folder)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        return done.stdout
