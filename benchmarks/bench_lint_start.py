"""Time of a ``muster lint`` process on one small file, compared with an empty Python process."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import measure, workloads

ROUNDS = 25
ADDED_SECONDS, TIMES_PYTHON = 0.1, 3


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        file = Path(name) / "workload.yaml"
        # JSON is YAML; with line breaks it is parsed like a hand-written manifest.
        file.write_bytes(workloads.as_json(workloads.usual()).replace(b",", b",\n "))
        nothing = functools.partial(_seconds, sys.executable, "-c", "pass")
        lint = functools.partial(_seconds, str(Path(sys.executable).parent / "muster"), "lint", str(file))
        rounds = measure.in_turns({"python": nothing, "lint": lint}, ROUNDS)
    python, whole = rounds.median("python"), rounds.median("lint")
    limit = TIMES_PYTHON * python + ADDED_SECONDS
    row = [f"{python * 1e3:.0f} ms", f"{whole * 1e3:.0f} ms", f"{rounds.ratio('lint', 'python'):.1f}"]
    row.append(f"{limit * 1e3:.0f} ms: {measure.verdict(whole, limit, at_least=False)}")
    measure.table("Start of `muster lint` on one file of 2 KB", ("python -c pass", "muster lint", "ratio", "3 x python + 100 ms"), [row])


def _seconds(*command: str) -> float:
    return measure.seconds(functools.partial(_run, *command), 1)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
