"""Programs written in Go that judge our files, each built once from its module: ``find(name)``.

A tool is a folder of ``tests/cluster/assets`` with a ``go.mod`` that names it as ``tool``, and a ``go.sum`` with the checksums of all that it is
built of.  ``python -m tests.cluster.go_tools`` builds all of them, if Go is installed; it needs no installed package.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from pathlib import Path

from tests.cluster import programs

NAMES = ("helm", "kubeconform")


def find(name: str) -> Path:
    """Return the tool *name*, built before.

    Raises:
        MissingError: it was not built.
    """
    if (tool := _target(name)).exists():
        return tool
    raise programs.MissingError(f"`make cluster-assets` builds {name} (it needs Go)")


def build(name: str) -> Path:
    """Build the tool *name* into the cache unless it exists; return its path.

    Raises:
        MissingError: Go is not installed, or the build failed.
    """
    target = _target(name)
    if not target.exists():
        programs.build_once(target, lambda created: programs.go_build(_package(name), created, module=_module(name)))
    return target


def _module(name: str) -> Path:
    return programs.MODULE / name


def _package(name: str) -> str:
    result = re.search(r"^tool (\S+)$", (_module(name) / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if not result:
        raise programs.MissingError(f"{_module(name) / 'go.mod'} must name a tool")
    return result[1]


def _target(name: str) -> Path:
    content = b"".join((_module(name) / each).read_bytes() for each in ("go.mod", "go.sum"))
    return programs.cached().parent / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"


def main() -> int:
    """Build all tools, if Go is installed; 2 if one cannot be built."""
    try:
        for name in NAMES if shutil.which("go") else ():
            build(name)
    except programs.MissingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
