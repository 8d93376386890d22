"""Memory of both schedulers at 5,000 nodes and 50,000 running pods."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from benchmarks import measure
from benchmarks.cluster.bound import Bound
from benchmarks.cluster.objects import Backlog, gangs, posts, running
from benchmarks.cluster.rates import Testbed
from benchmarks.cluster.schedulers import KUBE_SCHEDULER, SIDECAR, Running, Scheduler

MEGABYTES_LIMIT = 600.0
STEADY_SECONDS = 2.0
LONGEST_SECONDS = 120.0
GANGS = 25
COLUMNS = ("nodes", "pods", "scheduler", "resident, MB", "after 25 more gangs", "maximum", "limit", "until ready, s")


def table(testbed: Testbed, nodes: int, pods: int) -> None:
    """Create *pods* running pods, measure both schedulers, and print."""
    testbed.grow(nodes)
    created = testbed.wire.press(posts(running(0, pods, nodes)))
    print(f"{pods:,} pods created in {created:.0f} s", file=sys.stderr, flush=True)
    measure.table("Memory", COLUMNS, list(_rows(testbed, pods)))


def _rows(testbed: Testbed, pods: int) -> Iterator[list[str]]:
    for scheduler in (SIDECAR, KUBE_SCHEDULER):
        started = time.perf_counter()
        backlog = gangs(GANGS, 4)
        with Bound(testbed.plane.kubeconfig, testbed.version()) as bound, scheduler.run(testbed.plane) as process:
            ready = time.perf_counter() - started
            idle = _idle_megabytes(process)
            later = _after_work(testbed, scheduler, backlog, bound, process)
            most = process.most_resident_bytes() / 1e6
        verdict = measure.verdict(max(idle, later), MEGABYTES_LIMIT, at_least=False)
        ours = scheduler is SIDECAR
        yield [
            *(f"{testbed.nodes:,}", f"{pods:,}", "sidecar" if ours else "kube-scheduler"),
            *(f"{idle:.0f}", f"{later:.0f}", f"{most:.0f}", f"{MEGABYTES_LIMIT:g} MB: {verdict}" if ours else "", f"{ready:.1f}"),
        ]


def _after_work(testbed: Testbed, scheduler: Scheduler, backlog: Backlog, bound: Bound, process: Running) -> float:
    try:
        backlog.create(testbed.wire, scheduler.name)
        if not bound.wait(len(backlog.pods), LONGEST_SECONDS):
            raise SystemExit("not all pods are bound, so the figure is not valid")
        return _idle_megabytes(process)
    finally:
        backlog.delete(testbed.wire)


def _idle_megabytes(process: Running) -> float:
    """Return the resident megabytes once the process is idle."""
    _await(lambda: _idle(process))
    return process.resident_bytes() / 1e6


def _idle(process: Running) -> bool:
    used = process.processor_seconds()
    time.sleep(STEADY_SECONDS)
    return process.processor_seconds() - used < STEADY_SECONDS / 10


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("a scheduler does not become idle")
