"""Memory at 5,000 nodes and 50,000 pods that run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from benchmarks import measure
from benchmarks.cluster.bound import Bound
from benchmarks.cluster.objects import Backlog, gangs, posts, running
from benchmarks.cluster.rates import Field
from benchmarks.cluster.schedulers import KUBE_SCHEDULER, SIDECAR, Running, Scheduler

MEGABYTES_LIMIT = 600.0
STEADY_SECONDS = 2.0
LONGEST_SECONDS = 120.0
GANGS = 25
COLUMNS = ("nodes", "pods", "scheduler", "resident, MB", "after 25 gangs more", "most", "limit", "until it is ready, s")


def table(field: Field, nodes: int, pods: int) -> None:
    """Create so many pods that run, and measure both."""
    field.grow(nodes)
    created = field.wire.press(posts(running(0, pods, nodes)))
    print(f"{pods:,} pods created in {created:.0f} s", file=sys.stderr, flush=True)
    measure.table("Memory", COLUMNS, list(_rows(field, pods)))


def _rows(field: Field, pods: int) -> Iterator[list[str]]:
    for scheduler in (SIDECAR, KUBE_SCHEDULER):
        started = time.perf_counter()
        backlog = gangs(GANGS, 4)
        with Bound(field.plane.kubeconfig, field.version()) as bound, scheduler.run(field.plane) as found:
            ready = time.perf_counter() - started
            idle = _steady(found)
            later = _after_work(field, scheduler, backlog, bound, found)
            most = found.most_resident_bytes() / 1e6
        kept = measure.verdict(max(idle, later), MEGABYTES_LIMIT, at_least=False)
        ours = scheduler is SIDECAR
        yield [
            *(f"{field.nodes:,}", f"{pods:,}", "sidecar" if ours else "kube-scheduler"),
            *(f"{idle:.0f}", f"{later:.0f}", f"{most:.0f}", f"{MEGABYTES_LIMIT:g} MB: {kept}" if ours else "", f"{ready:.1f}"),
        ]


def _after_work(field: Field, scheduler: Scheduler, backlog: Backlog, bound: Bound, found: Running) -> float:
    try:
        backlog.create(field.wire, scheduler.name)
        if not bound.wait(len(backlog.pods), LONGEST_SECONDS):
            raise SystemExit("not everything is bound, so the figure would be another")
        return _steady(found)
    finally:
        backlog.delete(field.wire)


def _steady(found: Running) -> float:
    """Megabytes, once the process has nothing left to do."""
    _until(lambda: _idle(found))
    return found.resident_bytes() / 1e6


def _idle(found: Running) -> bool:
    used = found.processor_seconds()
    time.sleep(STEADY_SECONDS)
    return found.processor_seconds() - used < STEADY_SECONDS / 10


def _until(claim: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not claim():
        if time.monotonic() > deadline:
            raise SystemExit("a scheduler does not come to rest")
