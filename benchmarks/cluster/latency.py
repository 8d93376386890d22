"""Latency of one gang on an idle cluster: from the response to the creation of its last pod until all its pods are bound."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks import clusters, measure
from benchmarks.cluster.bound import Bound
from benchmarks.cluster.objects import Backlog, posts
from benchmarks.cluster.rates import Testbed
from benchmarks.cluster.schedulers import KUBE_SCHEDULER, SIDECAR, Scheduler
from benchmarks.clusters import Json

SIZE = 4
MILLISECONDS_LIMIT = 100.0
PAUSE_SECONDS = 0.1
LONGEST_SECONDS = 30.0
COLUMNS = ("nodes", "gangs", "scheduler", "median, ms", "99th percentile", "longest", "limit")


def table(testbed: Testbed, nodes: int, count: int) -> None:
    """Measure *count* gangs, one after the other, and print."""
    testbed.grow(nodes)
    rows = list(_rows(testbed, count))
    measure.table("One gang of 4 in one rack on an idle cluster, from the creation of its last pod until all are bound", COLUMNS, rows)


def _rows(testbed: Testbed, count: int) -> Iterator[list[str]]:
    for scheduler in (SIDECAR, KUBE_SCHEDULER):
        milliseconds = sorted(1e3 * each for each in _latencies(testbed, scheduler, count))
        median, p99 = percentile(milliseconds, 0.5), percentile(milliseconds, 0.99)
        verdict = f"{MILLISECONDS_LIMIT:g} ms: {measure.verdict(p99, MILLISECONDS_LIMIT, at_least=False)}" if scheduler is SIDECAR else ""
        name = "sidecar" if scheduler is SIDECAR else "kube-scheduler"
        print(f"latency, {name}: {median:.0f} ms, 99 %: {p99:.0f} ms", file=sys.stderr, flush=True)
        yield [f"{testbed.nodes:,}", str(count), name, f"{median:.0f}", f"{p99:.0f}", f"{milliseconds[-1]:.0f}", verdict]


def _latencies(testbed: Testbed, scheduler: Scheduler, count: int) -> Iterator[float]:
    """Yield the latency of each gang in seconds, after a warm-up gang."""
    gangs = [list(clusters.gangs(1, SIZE, prefix=f"lone-{number}")) for number in range(count + 1)]
    with Bound(testbed.plane.kubeconfig, testbed.version()) as bound, scheduler.run(testbed.plane):
        try:
            for number, gang in enumerate(gangs):
                latency = _latency(testbed, scheduler, gang, bound, SIZE * (number + 1))
                if number:
                    yield latency
                time.sleep(PAUSE_SECONDS)
        finally:
            Backlog(tuple(each for gang in gangs for each in gang)).delete(testbed.wire)


def _latency(testbed: Testbed, scheduler: Scheduler, gang: Sequence[Json], bound: Bound, count: int) -> float:
    testbed.wire.press(posts(gang, scheduler.name), connections=1)
    created = time.perf_counter()
    if not bound.wait(count, LONGEST_SECONDS):
        raise SystemExit(f"a gang is not bound after {LONGEST_SECONDS:g} s")
    return max(0.0, bound.times[-1] - created)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value of *ordered* that is at least as large as *share* of the values."""
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]
