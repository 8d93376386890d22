"""Worker of ``bench_against``: measure the version of the scheduler that PYTHONPATH names.

Each line of standard input is ``load FILE``, ``decide FILE`` or ``answers FILE``.  Each line of FILE is a cluster, a list of objects.  The
answer is one line: nanoseconds of processor time for each cluster or root, or the decisions.
"""

from __future__ import annotations

import functools
import gc
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.snapshot import ClusterSnapshot

try:
    # An earlier version.
    from scheduler_core.loading.load import load
except ModuleNotFoundError:
    from scheduler_core.cluster.load import load


def main() -> None:
    """Answer until standard input ends."""
    actions = {"load": _loading, "decide": _deciding, "answers": _answers}
    for line in sys.stdin:
        action, path = line.rstrip("\n").split(" ", 1)
        print(json.dumps(list(actions[action](path))), flush=True)


def _loading(path: str) -> Iterator[int]:
    for sources in _sources(path):
        gc.collect()
        started = time.process_time_ns()
        snapshot = load(sources)
        yield time.process_time_ns() - started
        del snapshot


def _deciding(path: str) -> Iterator[int]:
    snapshots = _snapshots(path)
    gc.collect()
    gc.freeze()  # as muster simulate does
    for snapshot in snapshots:
        decider, roots = run_cycle.prepared(snapshot, CycleOptions(strategy="complete"))
        for root in roots:
            started = time.process_time_ns()
            decider.decide(root)
            yield time.process_time_ns() - started


def _answers(path: str) -> Iterator[object]:
    for snapshot in _snapshots(path):
        for each in run_cycle.run_cycle(snapshot, CycleOptions(strategy="complete")).decisions:
            # Fields that every version has, without the texts of reasons, which were reworded.
            yield str(each.root), each.status.value, each.assignments, each.nominations, [*each.victims], sorted(each.pending)


@functools.cache
def _snapshots(path: str) -> list[ClusterSnapshot]:
    return [load(sources) for sources in _sources(path)]


@functools.cache
def _sources(path: str) -> list[list[bytes]]:
    return [[json.dumps(each).encode() for each in json.loads(line)] for line in Path(path).read_bytes().splitlines()]


if __name__ == "__main__":
    main()
