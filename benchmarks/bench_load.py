"""Time and memory to load a large cluster: 5,000 nodes and 150,000 pods of about 1 KB, as one List."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import clusters, measure
from kubeapi.json_values import split
from scheduler_core.cluster.load import load

NODES, PODS = 5_000, 150_000
SECONDS_LIMIT, MEGABYTES_LIMIT = 10, 500
_FILE = "cluster.json"


def main() -> None:
    """Measure each case in its own process, and print."""
    if len(sys.argv) > 1:
        print(*_measured(Path(sys.argv[1]), parse_only=len(sys.argv) > 2))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, _FILE)
        with path.open("wb") as file:
            file.write(b'{"apiVersion": "v1", "kind": "List", "items": [')
            objects = [
                *clusters.as_bytes(clusters.nodes(NODES)),
                *clusters.as_bytes(clusters.running(PODS, NODES, cpu="100m", memory="100Mi")),
            ]
            file.write(b",".join(objects))
            file.write(b"]}")
        rows = [_row("load", path, []), _row("json.loads of the same text, alone", path, ["parse"])]
        size = path.stat().st_size / 1e6
    measure.table(f"Loading {NODES:,} nodes and {PODS:,} pods, {size:.0f} MB", ("what", "seconds", "limit", "MB at most", "limit"), rows)


def _row(name: str, path: Path, arguments: list[str]) -> list[str]:
    command = [sys.executable, "-m", "benchmarks.bench_load", str(path), *arguments]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(3)]
    seconds, megabytes = min(float(run[0]) for run in runs), max(float(run[1]) for run in runs)
    if arguments:
        return [name, f"{seconds:.1f}", "", f"{megabytes:.0f}", ""]
    verdicts = measure.verdict(seconds, SECONDS_LIMIT, at_least=False), measure.verdict(megabytes, MEGABYTES_LIMIT, at_least=False)
    return [name, f"{seconds:.1f}", f"{SECONDS_LIMIT}: {verdicts[0]}", f"{megabytes:.0f}", f"{MEGABYTES_LIMIT}: {verdicts[1]}"]


def _measured(path: Path, *, parse_only: bool) -> tuple[float, float]:
    started = time.perf_counter()
    if parse_only:
        import json

        json.loads(path.read_bytes())
    else:
        snapshot = load(split(path.read_bytes()))
        if len(snapshot.pods) != PODS or snapshot.problems:
            raise SystemExit("not everything was loaded, so the figure is not valid")
    seconds = time.perf_counter() - started
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
