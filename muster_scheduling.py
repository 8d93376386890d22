"""Entry point of the ``muster`` command: refuses to run with packages of another distribution in place of Muster's.

The names of Muster's packages are common: PyPI has a ``validators`` and a ``muster``.  Of two packages of one name in an
environment one hides the other, or overwrites its files and deletes them when it is removed.  This module has the name of the
distribution, which is unique, and imports nothing of Muster before every package is where it must be.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

DISTRIBUTION = "muster-scheduling"
PACKAGES = ("muster", "validators", "scheduler_core", "webhooks", "workloadbuilder", "apiserver", "certs")
REMEDY = f"install it in a virtual environment of its own: python3 -m venv muster && muster/bin/pip install {DISTRIBUTION}"
EXIT_MISTAKE = 2


def main() -> None:
    """Run the command and end the process with its exit status; 2 if a package of Muster's is not its own."""
    home = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this check takes
    for package in PACKAGES:
        if foreign := _foreign_location(package, home):
            _refuse(f"Python imports the package {package!r} from {foreign}, which is not {DISTRIBUTION}'s")
    try:
        from muster.cli import main as command

        command(prog_name="muster")
    except Exception:
        # Whatever fails where files are missing.  They are compared only now: it takes longer than many a command.
        if damaged := [*_damaged_files()]:
            more = f" and {len(damaged) - 1} more" if damaged[1:] else ""
            _refuse(f"files of {DISTRIBUTION} were replaced or deleted, probably by another distribution: {damaged[0]}{more}")
        raise


def _foreign_location(package: str, home: str) -> str:
    """Return where Python finds *package*, if that is not in *home*; else an empty string."""
    spec = importlib.util.find_spec(package)
    locations = [*(spec.submodule_search_locations or ())] if spec else []
    found = locations[0] if locations else (spec and spec.origin) or "nowhere"
    ours = os.path.join(home, package)  # noqa: PTH118
    return "" if found == ours or (os.path.exists(found) and os.path.exists(ours) and os.path.samefile(found, ours)) else found  # noqa: PTH110, PTH121


def _damaged_files() -> Iterator[str]:
    """Yield the paths of Muster's modules that are not as they were installed; none of an editable installation."""
    import base64
    import hashlib
    from importlib import metadata
    from pathlib import Path

    try:
        files = metadata.files(DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.hash is None or file.parts[0] not in PACKAGES or file.suffix != ".py":
            continue
        path = Path(file.locate())
        try:
            content = path.read_bytes()
        except OSError:
            content = b""
        digest = base64.urlsafe_b64encode(hashlib.new(file.hash.mode, content).digest()).rstrip(b"=").decode()
        if digest != file.hash.value:
            yield str(path)


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(f"muster: {message}; {REMEDY}\n")
    sys.exit(EXIT_MISTAKE)
