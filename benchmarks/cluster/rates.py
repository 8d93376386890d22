"""Pods bound per second: the sidecar, kube-scheduler, and bindings alone, in turns."""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks import measure
from benchmarks.cluster.bound import Bound
from benchmarks.cluster.objects import NAMESPACE, Backlog, posts
from benchmarks.cluster.objects import nodes as some_nodes
from benchmarks.cluster.schedulers import KUBE_SCHEDULER, SIDECAR, Running, Scheduler
from benchmarks.cluster.wire import Wire
from tests.cluster.control_plane import ControlPlane

WIDTHS = (4, 8, 16)
"""Clients at once that are tried for bindings alone; the best counts."""
WINDOW_SECONDS = 25.0
"""So long at most is a scheduler watched; what it has bound by then counts."""
STALLED_SECONDS = 60.0
BARE = "bindings alone"
TIMES_KUBE_SCHEDULER, SHARE_OF_BARE = 5.0, 0.8
COLUMNS = (
    "pods",
    "nodes",
    "sidecar, pods/s",
    "kube-scheduler",
    "ratio",
    BARE,
    "share of it",
    "limit",
    "processor time a pod, ms: sidecar",
    "kube-scheduler",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """What is scheduled, *rounds* times by each; *times* is how often kube-scheduler's rate is wanted."""

    name: str
    backlog: Backlog
    nodes: int
    rounds: int
    times: float = TIMES_KUBE_SCHEDULER


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """Of one scheduler in one round."""

    rate: float
    processor_milliseconds: float


class Field:
    """The control plane with so many nodes as a case wants, and connections to it."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane, self.wire, self.nodes = plane, Wire(plane.kubeconfig), 0
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    def grow(self, nodes: int) -> None:
        """Let there be at least so many nodes."""
        self.wire.press(posts(some_nodes(self.nodes, nodes - self.nodes)))
        self.nodes = max(nodes, self.nodes)

    def version(self) -> str:
        """Where a watch of pods begins."""
        return self.plane.api.listed("Pod", NAMESPACE, limit=1)[1]


def rows(field: Field, cases: Sequence[Case]) -> Iterator[list[str]]:
    """A row for each case."""
    for case in cases:
        field.grow(case.nodes)
        yield _row(case, *_measured(field, case))


def _measured(field: Field, case: Case) -> tuple[list[float], list[Figure], list[Figure]]:
    """Of each round: bindings alone, the sidecar, kube-scheduler."""
    bare: list[float] = []
    found: dict[str, list[Figure]] = {SIDECAR.name: [], KUBE_SCHEDULER.name: []}
    turns = (None, SIDECAR, KUBE_SCHEDULER)
    for number in range(case.rounds):
        for scheduler in turns[:: 1 if number % 2 else -1]:
            if scheduler is None:
                bare.append(_bare(field, case.backlog, WIDTHS[number % len(WIDTHS)]))
            else:
                found[scheduler.name].append(scheduled(field, case.backlog, scheduler))
        _say(case, bare, found)
    return bare, found[SIDECAR.name], found[KUBE_SCHEDULER.name]


def _bare(field: Field, backlog: Backlog, lines: int) -> float:
    """Bindings a second where nobody decides."""
    backlog.create(field.wire, "nobody")
    rate = len(backlog.pods) / backlog.bind(field.wire, field.nodes, lines)
    backlog.delete(field.wire)
    return rate


def scheduled(field: Field, backlog: Backlog, scheduler: Scheduler) -> Figure:
    """Pods bound a second, from when *scheduler* has heard of all until the last is bound, or time is up."""
    backlog.create(field.wire, scheduler.name)
    try:
        with Bound(field.plane.kubeconfig, field.version()) as bound, scheduler.run(field.plane) as running:
            used = running.processor_seconds()
            return _figure(bound, running, len(backlog.pods), used)
    finally:
        backlog.delete(field.wire)


def _figure(bound: Bound, running: Running, pods: int, used: float) -> Figure:
    if not bound.wait(1, STALLED_SECONDS):
        raise SystemExit("nothing is bound")
    bound.wait(pods, WINDOW_SECONDS)
    times = list(bound.times)
    if len(times) < pods and time.perf_counter() - times[-1] > WINDOW_SECONDS / 2:
        raise SystemExit(f"{len(times)} of {pods} pods are bound, and then no more: the figure would be another")
    return Figure(len(times) / (times[-1] - running.ready), 1e3 * (running.processor_seconds() - used) / len(times))


def _row(case: Case, bare: list[float], ours: list[Figure], theirs: list[Figure]) -> list[str]:
    sidecar, kube, most = _median(ours), _median(theirs), max(bare)
    ratio = statistics.median(one.rate / other.rate for one, other in zip(ours, theirs, strict=True))
    kept = ratio >= case.times or sidecar.rate >= SHARE_OF_BARE * most
    return [
        *(case.name, f"{case.nodes:,}", f"{sidecar.rate:,.0f}", f"{kube.rate:,.0f}", f"{ratio:.1f}"),
        *(f"{most:,.0f}", f"{sidecar.rate / most:.2f}"),
        f"{case.times:g} times kube-scheduler, or {SHARE_OF_BARE:g} of bindings alone: {'kept' if kept else '**missed**'}",
        *(f"{sidecar.processor_milliseconds:.2f}", f"{kube.processor_milliseconds:.2f}"),
    ]


def _median(figures: list[Figure]) -> Figure:
    return Figure(statistics.median(each.rate for each in figures), statistics.median(each.processor_milliseconds for each in figures))


def _say(case: Case, bare: list[float], found: dict[str, list[Figure]]) -> None:
    told = [f"{BARE} {bare[-1]:,.0f}", *(f"{name} {figures[-1].rate:,.0f}" for name, figures in found.items())]
    print(f"{case.name}, {case.nodes:,} nodes, round {len(bare)}: {', '.join(told)}", file=sys.stderr, flush=True)


def table(field: Field, cases: Sequence[Case]) -> None:
    """Measure and print."""
    measure.table("Pods bound per second", COLUMNS, list(rows(field, cases)))
