"""Size of an installation, and processor time of short commands, compared with an empty Python process.

Both are of new virtual environments with a copy of this tree: a development installation starts Python itself more slowly.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import measure, workloads

ROOT = Path(__file__).parents[1]
ROUNDS = 15
MEGABYTES = {"": 45, "[all]": 250}
"""Limits for what an installation with the extras adds to an empty virtual environment."""
JOB = ROOT / "examples" / "llm.yaml"
NODES = "32 x cpu=192,memory=2Ti,nvidia.com/gpu=8 in 4 racks"
TIMES_PYTHON = {"--version": 5, "lint": 14, "fit": 65}
"""Limits for the processor time of a command, relative to ``python -c pass``."""
FLOORS = {"import click": "--version", "import click, msgspec, yaml": "lint", "import click, msgspec, yaml, numpy": "fit"}
"""Imports without which a command is not possible, by what they are imported for."""


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder = Path(name)
        sizes = [_size(folder, extras, limit) for extras, limit in MEGABYTES.items()]
        measure.table("Size of an installation", ("extras", "added", "with pip and setuptools", "at most"), sizes)
        file = folder / "workload.yaml"
        # JSON is YAML; with line breaks it is parsed like a hand-written manifest.
        file.write_bytes(workloads.as_json(workloads.usual()).replace(b",", b",\n "))
        _times(folder / "all" / "bin", file)


def _size(folder: Path, extras: str, limit: int) -> tuple[str, ...]:
    environment = folder / (extras.strip("[]") or "base")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    empty = _megabytes(environment)
    install = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--constraint", ROOT / "requirements-ci.txt"]
    subprocess.run([*install, f"{_copied(folder)}{extras}"], check=True, stdout=subprocess.DEVNULL)
    whole = _megabytes(environment)
    added = whole - empty
    return extras or "none", f"{added:.0f} MB", f"{whole:.0f} MB", f"{limit} MB: {measure.verdict(added, limit, at_least=False)}"


def _copied(folder: Path) -> Path:
    """Return a copy of the committed and changed files: an installation leaves a folder ``build`` in its source."""
    copy = folder / "source"
    if not copy.exists():
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"], check=True, capture_output=True)
        copy.mkdir()
        archive = ["tar", "-C", str(ROOT), "--null", "--ignore-failed-read", "-T", "-", "-c"]
        packed = subprocess.run(archive, input=listed.stdout, check=True, capture_output=True)
        subprocess.run(["tar", "-C", copy, "-x"], input=packed.stdout, check=True)
    return copy


def _megabytes(environment: Path) -> float:
    """Return the size on the disk, as ``du`` counts it."""
    return sum(path.lstat().st_blocks * 512 for path in environment.rglob("*")) / 1e6


def _times(programs: Path, file: Path) -> None:
    python, muster = str(programs / "python"), str(programs / "muster")
    commands = {
        "python -c pass": (python, "-c", "pass"),
        "--version": (muster, "--version"),
        "lint": (muster, "lint", str(file)),
        "fit": (muster, "fit", str(JOB), "--gang", "--topology", "rack", "--nodes", NODES),
        **{floor: (python, "-c", floor) for floor in FLOORS},
    }
    for command in commands.values():
        _seconds(command)  # compiles the modules, if they are not
    rounds = measure.in_turns({name: functools.partial(_seconds, each) for name, each in commands.items()}, ROUNDS)
    floor_of = {command: floor for floor, command in FLOORS.items()}
    rows = [
        (
            f"muster {name}",
            f"{rounds.median(name) * 1e3:.0f} ms",
            f"{(ratio := rounds.ratio(name, 'python -c pass')):.1f}",
            f"{rounds.ratio(floor_of[name], 'python -c pass'):.1f} ({floor_of[name]})",
            measure.verdict(ratio, limit, at_least=False),
        )
        for name, limit in TIMES_PYTHON.items()
    ]
    head = ("command", "processor time", "relative to python -c pass", "its libraries alone", "limit")
    measure.table("Processor time of short commands", head, rows)


def _seconds(command: Sequence[str]) -> float:
    """Return the processor time of a command."""
    process = subprocess.Popen(
        command, env=measure.as_installed(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
