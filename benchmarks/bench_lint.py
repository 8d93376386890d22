"""``muster lint`` on corpora, beside kubeconform: documents per second with two processes, and memory of all processes together.

The ratio of the processor time is given too: it depends less on other work on the machine.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import lint_corpora, load, measure
from tests.cluster import go_tools

ROUNDS = 5
PROCESSES = 2
MIXED_TIMES, LARGEST_TIMES = 2.0, 3.0
MOST_MEMORY = 200e6
"""Bytes of all processes together; memory that processes share counts for each."""
LINEAR = 1.3
"""Allowed ratio of the time per document of 100,000 documents to that of 10,000."""
_EVERY_SECONDS = 0.01


@dataclasses.dataclass(slots=True)
class Program:
    """Command, with the largest memory of its runs in bytes, and the processor time of each run in seconds."""

    command: Sequence[str]
    memory: int = 0
    processor: list[float] = dataclasses.field(default_factory=list)

    def seconds(self) -> float:
        """Run it; return the seconds."""
        started = time.perf_counter()
        null = subprocess.DEVNULL
        with subprocess.Popen(self.command, stdout=null, stderr=null, stdin=null, env=measure.as_installed()) as process:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            while not ended:
                self.memory = max(self.memory, sum(map(_resident, _with_children(process.pid))))
                time.sleep(_EVERY_SECONDS)
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.processor.append(usage.ru_utime + usage.ru_stime)
        if process.returncode not in (0, 1, 3):
            raise RuntimeError(f"{self.command} ended with exit status {process.returncode}")
        return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder = Path(name)
        lint_corpora.schemas(folder / "schemas")
        compared = [
            ("mixed: 10,000 documents in 2,500 files", lint_corpora.mixed(folder / "mixed", 2500), "mixed", MIXED_TIMES),
            ("scheduling kinds alone, 2,500 files", lint_corpora.scheduling(folder / "scheduling", 2500), "scheduling", None),
            ("20,000 documents, pods and groups in other files", lint_corpora.across(folder / "across", 100), "across", None),
            ("200 largest Workloads", lint_corpora.largest(folder / "largest", 200), "largest", LARGEST_TIMES),
        ]
        _compare(folder, compared)
        _alone(folder)


def _compare(folder: Path, corpora: Sequence[tuple[str, int, str, float | None]]) -> None:
    rows = []
    for title, documents, name, times in corpora:
        ours, peer = _lint(folder / name), _kubeconform(folder / name, folder / "schemas")
        rounds = measure.in_turns({"lint": ours.seconds, "kubeconform": peer.seconds}, ROUNDS)
        rates = [f"{documents / rounds.median(each):,.0f}" for each in ("lint", "kubeconform")]
        ratio = rounds.ratio("kubeconform", "lint")
        # The first run of each is the one before the rounds.
        processor = measure.Rounds({"lint": ours.processor[1:], "kubeconform": peer.processor[1:]}).ratio("kubeconform", "lint")
        limit = "" if times is None else f"{times:.0f}: {measure.verdict(ratio, times, at_least=True)}"
        memory = [f"{each.memory / 1e6:.0f} MB" for each in (ours, peer)]
        rows.append(
            [
                title,
                *rates,
                f"{ratio:.1f}",
                f"{processor:.1f}",
                limit,
                *memory,
                measure.verdict(ours.memory, MOST_MEMORY, at_least=False),
            ]
        )
    columns = (
        "corpus",
        "documents/s",
        "kubeconform -strict -n 2",
        "ratio",
        "of processor time",
        "limit",
        "memory",
        "kubeconform",
        f"at most {MOST_MEMORY / 1e6:.0f} MB",
    )
    measure.table(f"`muster lint --jobs {PROCESSES}` beside kubeconform", columns, rows)


def _alone(folder: Path) -> None:
    small, large = folder / "mixed", folder / "large"
    documents = lint_corpora.mixed(large, 25_000)
    rounds = measure.in_turns({"small": _lint(small).seconds, "large": (lint := _lint(large)).seconds}, 1)
    ratio = rounds.ratio("large", "small") * 10_000 / documents
    row = [f"{documents:,} documents in 25,000 files", f"{rounds.median('large'):.1f} s", f"{lint.memory / 1e6:.0f} MB"]
    rows = [[*row, f"{ratio:.2f} of the time per document", f"{LINEAR}: {measure.verdict(ratio, LINEAR, at_least=False)}"]]
    file = folder / "one.yaml"
    documents = lint_corpora.one_file(file, 270_000)
    one = _lint(file)
    seconds = measure.seconds(one.seconds, 1)
    row = [f"{documents:,} documents in one file of {file.stat().st_size / 1e6:.0f} MB", f"{seconds:.0f} s", f"{one.memory / 1e6:.0f} MB"]
    rows.append([*row, "", f"{MOST_MEMORY / 1e6:.0f} MB: {measure.verdict(one.memory, MOST_MEMORY, at_least=False)}"])
    measure.table("Large inputs", ("input", "time", "memory", "relative to 10,000 documents", "limit"), rows)


def _lint(path: Path) -> Program:
    return Program([str(Path(sys.executable).parent / "muster"), "lint", "--jobs", str(PROCESSES), str(path)])


@functools.cache
def _binary() -> Path:
    return go_tools.build("kubeconform")


def _kubeconform(path: Path, schemas: Path) -> Program:
    location = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    return Program([str(_binary()), "-strict", "-n", str(PROCESSES), "-schema-location", location, str(path)])


def _with_children(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *map(int, children)]


def _resident(pid: int) -> int:
    try:
        return load.resident_bytes(pid)
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    main()
