"""All recorded answers, by name."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.recording import clusters, commands, sidecar

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "muster" / "commands" / "demo" / "data"


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """Make the current directory one with the case tables (``cases``), the files of the demonstration (``demo``) and ``deploy``."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="muster-recording-") as name:
        directory = Path(name)
        shutil.copytree(ROOT / "tests" / "cases", directory / "cases")
        shutil.copytree(DEMO, directory / "demo")
        shutil.copytree(ROOT / "deploy", directory / "deploy")
        os.chdir(directory)
        try:
            yield directory
        finally:
            os.chdir(before)


def items(part: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and text of each answer; with *part* only those whose name begins with it."""
    for key in [each for each in os.environ if each.startswith("MUSTER_")] + ["NO_COLOR", "COLUMNS"]:
        os.environ.pop(key, None)
    # Pages have their date, and those of the files.
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    sources = {"commands": commands.items, "clusters": clusters.items, "sidecar": sidecar.items}
    for name, source in sources.items():
        if name.startswith(part) or part.startswith(name):
            with workspace() as directory:
                answers = ((key, text) for key, text in source(part) if key.startswith(part))
                yield from ((key, text.replace(str(directory), "DIRECTORY")) for key, text in answers)
