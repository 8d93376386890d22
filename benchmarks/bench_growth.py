"""Growth of processor time with nodes, pods, roots, groups in a tree, templates and files: the exponent of a fit of logarithms.

1 is linear.  A fixed part makes it smaller: decisions on more nodes, with the shape of the gang before, take no longer.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import clusters, lint_corpora, measure, workloads
from kubeapi.json_values import split
from scheduler_core.cluster.load import load
from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.status import Status
from validators import pipeline
from validators.rules.base import Operation, Settings

ROUNDS = 3
_REPEATED = 50
"""Calls of one figure, where one is too short."""
LIMIT = 1.1
"""Exponent that still counts as linear: of figures of a machine with other work."""
COLUMNS = ("what", "grows with", "sizes", "processor time", "exponent", "limit")


@dataclasses.dataclass(frozen=True, slots=True)
class Growth:
    """What takes time, what grows, the sizes, and a function that prepares a size and returns the call that is measured."""

    what: str
    grows: str
    sizes: Sequence[int]
    prepared: Callable[[int], Callable[[], object]]


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        measure.table("Growth of processor time", COLUMNS, [_row(each) for each in _growths(Path(name))])


def _growths(folder: Path) -> Iterator[Growth]:
    yield Growth("loading a cluster", "nodes", (2_500, 5_000, 10_000, 20_000), _loading_nodes)
    yield Growth("loading a cluster of 5,000 nodes", "running pods", (20_000, 40_000, 80_000, 160_000), _loading_pods)
    yield Growth("a cycle of 250 gangs of 4", "nodes", (2_500, 5_000, 10_000, 20_000), lambda size: _cycle(size, 250, 4))
    yield Growth("a cycle on 5,000 nodes", "gangs of 4", (500, 1_000, 2_000, 4_000), lambda size: _cycle(5_000, size, 4))
    yield Growth("one gang on 5,000 nodes", "its pods", (500, 1_000, 2_000, 4_000), lambda size: _cycle(5_000, 1, size, clusters.ZONE))
    yield Growth("one tree on 5,000 nodes", "groups of 4 pods in it", (25, 50, 100, 200), _tree)
    yield Growth("gangs of 4 that exclude each other, on 400 racks", "gangs", (50, 100, 200, 400), lambda size: _exclusive(size, 400))
    yield Growth("50 gangs of 4 that exclude each other", "racks", (100, 200, 400, 800), lambda size: _exclusive(50, size))
    yield Growth("a gang of 512 that cannot fit, and why", "nodes", (2_500, 5_000, 10_000, 20_000), _refused)
    yield Growth(
        f"all rules for a Workload, {_REPEATED} times", "templates", tuple(workloads.templates(depth) for depth in (2, 3, 4)), _validated
    )
    yield Growth("`muster lint`", "files of 4 documents", (1_000, 2_000, 4_000, 8_000), functools.partial(_linted, folder))


def _row(growth: Growth) -> list[str]:
    calls = {str(size): functools.partial(_seconds, growth.prepared, size) for size in growth.sizes}
    rounds = measure.in_turns(calls, ROUNDS)
    seconds = [min(rounds.figures[each]) for each in calls]
    exponent = float(np.polyfit(np.log(growth.sizes), np.log(seconds), 1)[0])
    sizes, times = ", ".join(f"{each:,}" for each in growth.sizes), ", ".join(f"{1e3 * each:,.1f}" for each in seconds)
    verdict = f"{LIMIT:g}: {measure.verdict(exponent, LIMIT, at_least=False)}"
    return [growth.what, growth.grows, sizes, f"{times} ms", f"{exponent:.2f}", verdict]


def _seconds(prepared: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return the processor seconds of a call, those of the processes that it starts included."""
    call = prepared(size)
    gc.collect()
    before = os.times()
    started = time.process_time()
    call()
    own, after = time.process_time() - started, os.times()
    return own + after.children_user + after.children_system - before.children_user - before.children_system


def _text(objects: Sequence[clusters.Json]) -> bytes:
    return b'{"apiVersion": "v1", "kind": "List", "items": [' + b",".join(clusters.as_bytes(objects)) + b"]}"


@functools.cache
def _loading_nodes(size: int) -> Callable[[], object]:
    text = _text(list(clusters.nodes(size)))
    return lambda: load(split(text))


@functools.cache
def _loading_pods(size: int) -> Callable[[], object]:
    text = _text([*clusters.nodes(5_000), *clusters.running(size, 5_000, cpu="20m", memory="100Mi")])
    return lambda: load(split(text))


def _cycle(nodes: int, gangs: int, size: int, key: str = clusters.RACK) -> Callable[[], object]:
    return _decided(nodes, tuple(clusters.as_bytes([*clusters.gangs(gangs, size, key=key)])))


def _tree(size: int) -> Callable[[], object]:
    return _decided(5_000, tuple(clusters.as_bytes([*clusters.trees(1, size, 4)])))


def _exclusive(gangs: int, racks: int) -> Callable[[], object]:
    objects = [*clusters.nodes(4 * racks), *clusters.gangs(gangs, 4)]
    return _decided(0, tuple(clusters.as_bytes([*clusters.exclusive(objects, nodes_of_a_rack=4)])))


def _refused(size: int) -> Callable[[], object]:
    running = clusters.running(size, size, cpu="3600m", memory="1Gi", priority=1000)
    return _decided(size, tuple(clusters.as_bytes([*running, *clusters.gangs(1, 512)])), Status.UNSCHEDULABLE)


@functools.cache
def _decided(nodes: int, objects: tuple[bytes, ...], status: Status = Status.SUCCESS) -> Callable[[], object]:
    """Return a function that decides on all roots of a cluster, without loading it, and checks their status."""
    snapshot = load([*clusters.as_bytes(clusters.nodes(nodes)), *objects])

    def decide() -> None:
        decider, roots = run_cycle.prepared(snapshot, CycleOptions())
        found = {decider.decide(root).status for root in roots}
        if found != {status}:
            raise SystemExit(f"the roots are {found}, so the figure is not valid")

    return decide


@functools.cache
def _validated(size: int) -> Callable[[], object]:
    depth = next(each for each in (2, 3, 4) if workloads.templates(each) == size)
    text, settings = workloads.as_json(workloads.full(depth)), Settings()

    def validate() -> None:
        for _ in range(_REPEATED):
            pipeline.validate("Workload", text, None, Operation.CREATE, settings=settings)

    return validate


@functools.cache
def _linted(folder: Path, size: int) -> Callable[[], object]:
    files = folder / str(size)
    lint_corpora.mixed(files, size)
    command = [sys.executable, "-m", "muster", "lint", "--no-config", "--jobs", "1", "--quiet", str(files)]
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=measure.as_installed())


if __name__ == "__main__":
    main()
