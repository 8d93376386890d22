"""Entry point of the ``muster`` command, which refuses to run with packages of another distribution.

The names of Muster's packages are common: PyPI has a ``validators`` and a ``muster``.  If two distributions in an
environment have a package of one name, one hides the other, or overwrites its files and deletes them when it is removed.
This module has the name of the distribution, which is unique, and checks the location of every package before it imports
Muster.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

DISTRIBUTION = "muster-scheduling"
PACKAGES = ("muster", "kubeapi", "validators", "scheduler_core", "webhooks", "workloadbuilder", "expansion", "apiserver", "certs")
REMEDY = f"install it in a separate virtual environment: python3 -m venv muster && muster/bin/pip install {DISTRIBUTION} (in a checkout: .)"
EXIT_MISTAKE = 2


def kubectl_plugin() -> None:
    """Run the command as ``kubectl muster``."""
    main("kubectl muster")


def kubectl_completion() -> None:
    """Print completions for ``kubectl muster``: kubectl calls it with the words of the command line, the last one unfinished."""
    from muster.cli import kubectl_completions

    # The last line is a directive of kubectl: do not complete names of files.
    sys.stdout.write("".join(f"{each}\n" for each in [*kubectl_completions(sys.argv[1:]), ":4"]))


def main(name: str = "muster") -> None:
    """Run the command under *name*, end the process with its exit status; 2 if a package is from another distribution."""
    gc.disable()  # no module leaves cycles that are worth a search while the next ones are imported
    atexit.register(gc.freeze)  # at its end, Python would search all objects for cycles twice, to free memory that is freed anyway
    home = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this check takes
    for package in PACKAGES:
        if foreign := _foreign_location(package, home):
            _refuse(f"Python imports the package {package!r} from {foreign}, which is not {DISTRIBUTION}'s")
    try:
        from muster.cli import main as command

        command(prog_name=name)
    except Exception:
        # Missing files can cause any error.  They are compared only now, because that takes longer than many commands.
        if damaged := [*_damaged_files()]:
            more = f" and {len(damaged) - 1} more" if damaged[1:] else ""
            _refuse(f"files of {DISTRIBUTION} were replaced or deleted, probably by another distribution: {damaged[0]}{more}")
        raise


def _foreign_location(package: str, home: str) -> str:
    """Return the location of *package*, if it is not in *home*; else an empty string."""
    # As importlib.util.find_spec, which takes longer to import than all that this module does.
    spec = next(filter(None, (finder.find_spec(package, None) for finder in sys.meta_path)), None)
    locations = [*(spec.submodule_search_locations or ())] if spec else []
    location = locations[0] if locations else (spec and spec.origin) or "nowhere"
    own = os.path.join(home, package)  # noqa: PTH118
    same = location == own or (os.path.exists(location) and os.path.exists(own) and os.path.samefile(location, own))  # noqa: PTH110, PTH121
    return "" if same else location


def _damaged_files() -> Iterator[str]:
    """Yield the paths of Muster's modules that differ from the installed ones; none in an editable installation."""
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
