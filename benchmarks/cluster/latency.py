"""How long one gang waits on an idle cluster: from the answer to the creation of its last pod until all of it is bound."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks import clusters, measure
from benchmarks.cluster.bound import Bound
from benchmarks.cluster.objects import Backlog, posts
from benchmarks.cluster.rates import Field
from benchmarks.cluster.schedulers import KUBE_SCHEDULER, SIDECAR, Scheduler
from benchmarks.clusters import Json

SIZE = 4
MILLISECONDS_LIMIT = 100.0
PAUSE_SECONDS = 0.1
LONGEST_SECONDS = 30.0
COLUMNS = ("nodes", "gangs", "scheduler", "median, ms", "99th percentile", "longest", "limit")


def table(field: Field, nodes: int, count: int) -> None:
    """Measure and print: *count* gangs, one after the other."""
    field.grow(nodes)
    rows = list(_rows(field, count))
    measure.table("One gang of 4 in one rack on an idle cluster, from its last pod created to all of it bound", COLUMNS, rows)


def _rows(field: Field, count: int) -> Iterator[list[str]]:
    for scheduler in (SIDECAR, KUBE_SCHEDULER):
        found = sorted(1e3 * each for each in _waits(field, scheduler, count))
        median, late = percentile(found, 0.5), percentile(found, 0.99)
        kept = f"{MILLISECONDS_LIMIT:g} ms: {measure.verdict(late, MILLISECONDS_LIMIT, at_least=False)}" if scheduler is SIDECAR else ""
        name = "sidecar" if scheduler is SIDECAR else "kube-scheduler"
        print(f"latency, {name}: {median:.0f} ms, 99 %: {late:.0f} ms", file=sys.stderr, flush=True)
        yield [f"{field.nodes:,}", str(count), name, f"{median:.0f}", f"{late:.0f}", f"{found[-1]:.0f}", kept]


def _waits(field: Field, scheduler: Scheduler, count: int) -> Iterator[float]:
    """Seconds that each gang waits; a first one does not count."""
    gangs = [list(clusters.gangs(1, SIZE, prefix=f"lone-{number}")) for number in range(count + 1)]
    with Bound(field.plane.kubeconfig, field.version()) as bound, scheduler.run(field.plane):
        try:
            for number, gang in enumerate(gangs):
                waited = _wait(field, scheduler, gang, bound, SIZE * (number + 1))
                if number:
                    yield waited
                time.sleep(PAUSE_SECONDS)
        finally:
            Backlog(tuple(each for gang in gangs for each in gang)).delete(field.wire)


def _wait(field: Field, scheduler: Scheduler, gang: Sequence[Json], bound: Bound, count: int) -> float:
    field.wire.press(posts(gang, scheduler.name), lines=1)
    created = time.perf_counter()
    if not bound.wait(count, LONGEST_SECONDS):
        raise SystemExit(f"a gang is not bound after {LONGEST_SECONDS:g} s")
    return max(0.0, bound.times[-1] - created)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest of *ordered* that *share* of them are not above."""
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]
