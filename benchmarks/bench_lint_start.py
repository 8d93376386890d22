"""Time of a ``muster lint`` process on one small file, compared with an empty Python process."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import measure, workloads

ROUNDS = 25
TIMES_PYTHON = 7


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        file = Path(name) / "workload.yaml"
        # JSON is YAML; with line breaks it is parsed like a hand-written manifest.
        file.write_bytes(workloads.as_json(workloads.usual()).replace(b",", b",\n "))
        nothing = functools.partial(_seconds, sys.executable, "-c", "pass")
        lint = functools.partial(_seconds, str(Path(sys.executable).parent / "muster"), "lint", str(file))
        lint()  # compiles the modules, if they are not
        rounds = measure.in_turns({"python": nothing, "lint": lint}, ROUNDS)
    python, whole = rounds.median("python"), rounds.median("lint")
    ratio = rounds.ratio("lint", "python")
    row = [f"{python * 1e3:.0f} ms", f"{whole * 1e3:.0f} ms", f"{ratio:.1f}", measure.verdict(ratio, TIMES_PYTHON, at_least=False)]
    measure.table(
        "Start of `muster lint` on one file of 2 KB", ("python -c pass", "muster lint", "ratio", f"at most {TIMES_PYTHON}"), [row]
    )


def _seconds(*command: str) -> float:
    return measure.seconds(functools.partial(_run, *command), 1)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, env=measure.as_installed(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
