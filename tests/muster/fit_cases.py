"""Manifests of each kind as its documentation shows them, and the answers of ``muster fit`` to them (``tests/cases/fit``).

``python -m tests.muster.fit_cases`` writes the answers anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

from click.testing import CliRunner

from muster import cli

FOLDER = Path(__file__).parent.parent / "cases" / "fit"
CLUSTER = FOLDER / "cluster.yaml"
CASES = sorted(path for path in FOLDER.glob("*.yaml") if path != CLUSTER)


def answer(path: Path) -> str:
    """Return the exit status and the text for the manifest *path*, then the text with details."""
    short, whole = (CliRunner().invoke(cli.main, ["fit", str(path), "--objects", str(CLUSTER), *options]) for options in ((), ("-v",)))
    return f"exit {short.exit_code}\n{short.stderr}{short.stdout}\n$ -v\n{whole.stdout}"


def golden(path: Path) -> Path:
    """Return the file with the answer to the manifest *path*."""
    return path.with_suffix(".txt")


def main() -> int:
    """Write all answers."""
    for path in CASES:
        golden(path).write_text(answer(path), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
