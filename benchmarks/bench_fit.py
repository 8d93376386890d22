"""Time and memory of ``muster fit`` and ``muster simulate`` on large clusters, as processes.

``python -m benchmarks.bench_fit [MUSTER]`` also compares with the command MUSTER, such as that of another version.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import clusters, measure

SIZES = ((5_000, 50_000), (50_000, 500_000))
"""Numbers of nodes and running pods."""
FIT_LIMIT, MEGABYTES_LIMIT, BEFORE_LIMIT = 1.5, 450, 0.5
OTHER = "simulate of the other command"
ROUNDS = 3
MUSTER = (sys.executable, "-m", "muster")
PARSE = (sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1]))")
_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "parallelism": 64,
        "completions": 64,
        "completionMode": "Indexed",
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "train:1", "resources": {"requests": {"cpu": "1", "memory": "4Gi"}}}],
            }
        },
    },
}


def main() -> None:
    """Measure and print."""
    before = tuple(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder = Path(name)
        job, rows = folder / "job.json", []
        job.write_bytes(clusters.as_bytes([_JOB])[0])
        for nodes, pods in SIZES:
            cluster = folder / f"cluster-{nodes}.json"
            _write(cluster, nodes, pods)
            title = f"{nodes:,} nodes, {pods:,} pods, {cluster.stat().st_size / 1e6:.0f} MB"
            rows += _rows(title, cluster, job, before if pods == SIZES[-1][1] else ())
    columns = ("cluster", "what", "CPU seconds", "ratio", "limit", "MB at most", "limit")
    measure.table("muster fit and simulate of a large cluster", columns, rows)


def _rows(title: str, cluster: Path, job: Path, before: Sequence[str]) -> list[list[str]]:
    commands = {
        "simulate": (*MUSTER, "simulate", str(cluster)),
        "fit": (*MUSTER, "fit", str(job), "--objects", str(cluster)),
        "json.load of the same text": (*PARSE, str(cluster)),
        **({OTHER: (*before, "simulate", str(cluster))} if before else {}),
    }
    memory: dict[str, float] = {}

    def run(name: str) -> float:
        seconds, megabytes = _measured(commands[name])
        memory[name] = max(memory.get(name, 0), megabytes)
        return seconds

    rounds = measure.in_turns({name: lambda name=name: run(name) for name in commands}, ROUNDS)
    rows = []
    for name in commands:
        ratio = rounds.ratio(name, "simulate")
        limit = f"{FIT_LIMIT}: {measure.verdict(ratio, FIT_LIMIT, at_least=False)}" if name == "fit" else ""
        kept = measure.verdict(memory[name], MEGABYTES_LIMIT, at_least=False) if commands[name][: len(MUSTER)] == MUSTER else ""
        most = [f"{memory[name]:.0f}", f"{MEGABYTES_LIMIT}: {kept}" if kept else ""]
        rows.append([title, name, f"{rounds.median(name):.1f}", f"{ratio:.2f}", limit, *most])
    for name in ("simulate", "fit") if before else ():
        ratio = rounds.ratio(name, OTHER)
        kept = measure.verdict(ratio, BEFORE_LIMIT, at_least=False)
        rows.append([title, f"{name}, relative to {OTHER}", "", f"{ratio:.2f}", f"{BEFORE_LIMIT}: {kept}", "", ""])
    return rows


def _measured(command: Sequence[str]) -> tuple[float, float]:
    """Return the seconds of CPU time and the maximum of the resident memory, in MiB, of a command."""
    # As where it is installed: modules are compiled once, in the first round.
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=measure.as_installed()) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}, so the figure is not valid")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _write(path: Path, nodes: int, pods: int) -> None:
    """Write a cluster as ``muster snapshot`` does: without the fields that placement does not read."""
    with path.open("wb") as file:
        file.write(b'{"apiVersion":"v1","kind":"List","items":[\n')
        file.write(b",\n".join(clusters.as_bytes(clusters.nodes(nodes))))
        for each in clusters.running(pods, nodes, cpu="100m", memory="100Mi"):
            each["spec"]["containers"][0].pop("args")
            file.write(b",\n" + clusters.as_bytes([each])[0])
        file.write(b"\n]}\n")


if __name__ == "__main__":
    main()
