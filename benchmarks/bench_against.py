"""Processor time for clusters without volumes and devices, relative to that of another commit.

Two processes, each with the packages of one commit, load the same clusters and decide on the same roots in alternation.  Other work on the
machine only adds to a time, so the minimum over the rounds counts for each root.  The figure is the ratio of the sums.  Both commits must
decide the same; the words of a reason may differ.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import clusters, measure
from tests.scheduler_core.cp_sat import corpus

BASE = "73ba819"
"""The last commit that knows neither volumes nor devices."""
ROUNDS = 16
LIMIT = 1.05
ROOT = Path(__file__).parent.parent
NODES = 5000
_DIFFER = "answers differ"


def main() -> None:
    """Measure and print; the arguments are a commit, and words of the inputs to measure."""
    commit, words = (sys.argv[1:2] or [BASE])[0], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        archived = subprocess.run(["git", "archive", "-o", here / "base.zip", commit], cwd=ROOT, capture_output=True, check=False)
        if archived.returncode:
            print(f"not measured: this clone does not have the commit {commit}\n")
            return
        zipfile.ZipFile(here / "base.zip").extractall(here / "base")
        pair = (_Version(here / "base"), _Version(ROOT))
        rows = [_row(what, action, found, pair, here) for what, action, found in _inputs() if all(word in what for word in words)]
        for each in pair:
            each.close()
    measure.table(f"Without volumes and devices, relative to {commit}", ("input", "ratio", "limit"), rows)
    if any(_DIFFER in ratio for _, ratio, _ in rows):
        raise SystemExit("the figures of inputs with different answers are not valid")


class _Version:
    """Process with the packages in one folder."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", ROOT / "benchmarks" / "bench_against_worker.py"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, action: str, path: Path) -> Any:
        """Return the answer to one line."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process has no pipes")
        self._process.stdin.write(f"{action} {path}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _row(what: str, action: str, found: Iterable[list[clusters.Json]], pair: tuple[_Version, _Version], folder: Path) -> list[str]:
    path = folder / f"{what}.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in found), encoding="utf-8")
    before, now = (each.ask("answers", path) for each in pair)
    if before != now:
        differing = sum(one != other for one, other in itertools.zip_longest(before, now))
        return [what, f"{differing} of {len(now)} {_DIFFER}", ""]
    least: dict[_Version, list[int]] = {}
    for number in range(ROUNDS):
        for each in pair[:: 1 if number % 2 else -1]:
            figures = each.ask(action, path)
            least[each] = [*map(min, least.get(each, figures), figures)]
    old, new = (sum(least[each]) for each in pair)
    return [what, f"{new / old:.2f}", f"{LIMIT:g}: {measure.verdict(new / old, LIMIT, at_least=False)}"]


def _inputs() -> Iterator[tuple[str, str, Iterable[list[clusters.Json]]]]:
    """Yield the name, what is measured, and the clusters of each input."""
    nodes = clusters.nodes(NODES)
    for name, roots in {
        "750 gangs of 4": clusters.gangs(750, 4),
        "3 gangs of 1,000": clusters.gangs(3, 1000),
        "500 trees of 2 x 4": clusters.trees(500, 2, 4),
        "3 trees of 2 x 500": clusters.trees(3, 2, 500),
        "500 gangs of 4, each of another shape": clusters.shapes(500, 4, 5),
    }.items():
        yield f"placement: {name}", "decide", [[*nodes, *roots]]
    yield "loading: 30,000 running pods", "load", [[*nodes, *clusters.running(30000, NODES, cpu="100m", memory="100Mi")]]
    yield "loading: 3,000 pending pods", "load", [[*nodes, *clusters.gangs(750, 4)]]
    yield "search: 25 roots in a zone of 500 nodes", "decide", [_tree(seed, nodes=500, shapes=1 + 2 * (seed % 2)) for seed in range(25)]
    yield (
        "search: 80 small trees",
        "decide",
        [_tree(seed, slack=5 * (seed % 2), optional=bool(seed % 3), depth=1 + seed % 4, shapes=1 + seed % 3) for seed in range(80)],
    )
    crowd = clusters.running(NODES, NODES, cpu="3600m", memory="1Gi", priority=1000)
    yield "search: refutation of a gang of 512", "decide", [[*nodes, *clusters.gangs(1, 512, prefix="wide"), *crowd]]
    yield "preemption: 40 crowded clusters", "decide", [list(corpus.crowded(seed)) for seed in range(40)]


def _tree(seed: int, **options: Any) -> list[clusters.Json]:
    return list(corpus.instance(seed, corpus.Make(**options)))


if __name__ == "__main__":
    main()
