"""Pods bound per second: the sidecar, kube-scheduler, and bindings alone, measured alternately."""

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
"""Numbers of concurrent clients for bindings alone; the best rate counts."""
WINDOW_SECONDS = 25.0
"""Limit for measuring a scheduler; pods bound later do not count."""
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
    "share of bindings alone",
    "limit",
    "processor time per pod, ms: sidecar",
    "kube-scheduler",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """Objects that each scheduler schedules *rounds* times; *times* is the required multiple of kube-scheduler's rate."""

    name: str
    backlog: Backlog
    nodes: int
    rounds: int
    times: float = TIMES_KUBE_SCHEDULER


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """Result of one scheduler in one round: pods per second, and processor time per pod."""

    rate: float
    processor_milliseconds: float


class Testbed:
    """Control plane, its nodes, and connections to it."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane, self.wire, self.nodes = plane, Wire(plane.kubeconfig), 0
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    def grow(self, nodes: int) -> None:
        """Create nodes until there are at least *nodes*."""
        self.wire.press(posts(some_nodes(self.nodes, nodes - self.nodes)))
        self.nodes = max(nodes, self.nodes)

    def version(self) -> str:
        """Return the resourceVersion at which a watch of pods starts."""
        return self.plane.api.listed("Pod", NAMESPACE, limit=1)[1]


def rows(testbed: Testbed, cases: Sequence[Case]) -> Iterator[list[str]]:
    """Yield a row for each case."""
    for case in cases:
        testbed.grow(case.nodes)
        yield _row(case, *_measured(testbed, case))


def _measured(testbed: Testbed, case: Case) -> tuple[list[float], list[Figure], list[Figure]]:
    """Return the figures of all rounds: bindings alone, the sidecar, kube-scheduler."""
    bare: list[float] = []
    figures: dict[str, list[Figure]] = {SIDECAR.name: [], KUBE_SCHEDULER.name: []}
    turns = (None, SIDECAR, KUBE_SCHEDULER)
    for number in range(case.rounds):
        for scheduler in turns[:: 1 if number % 2 else -1]:
            if scheduler is None:
                bare.append(_bare(testbed, case.backlog, WIDTHS[number % len(WIDTHS)]))
            else:
                figures[scheduler.name].append(scheduled(testbed, case.backlog, scheduler))
        _print_round(case, bare, figures)
    return bare, figures[SIDECAR.name], figures[KUBE_SCHEDULER.name]


def _bare(testbed: Testbed, backlog: Backlog, connections: int) -> float:
    """Return the bindings per second without a scheduler."""
    backlog.create(testbed.wire, "nobody")
    rate = len(backlog.pods) / backlog.bind(testbed.wire, testbed.nodes, connections)
    backlog.delete(testbed.wire)
    return rate


def scheduled(testbed: Testbed, backlog: Backlog, scheduler: Scheduler) -> Figure:
    """Measure the pods bound per second, from the readiness of *scheduler* until the last is bound or WINDOW_SECONDS are over."""
    backlog.create(testbed.wire, scheduler.name)
    try:
        with Bound(testbed.plane.kubeconfig, testbed.version()) as bound, scheduler.run(testbed.plane) as running:
            used = running.processor_seconds()
            return _figure(bound, running, len(backlog.pods), used)
    finally:
        backlog.delete(testbed.wire)


def _figure(bound: Bound, running: Running, pods: int, used: float) -> Figure:
    if not bound.wait(1, STALLED_SECONDS):
        raise SystemExit("no pod is bound")
    bound.wait(pods, WINDOW_SECONDS)
    times = list(bound.times)
    if len(times) < pods and time.perf_counter() - times[-1] > WINDOW_SECONDS / 2:
        raise SystemExit(f"only {len(times)} of {pods} pods are bound, so the figure is not valid")
    return Figure(len(times) / (times[-1] - running.ready), 1e3 * (running.processor_seconds() - used) / len(times))


def _row(case: Case, bare: list[float], ours: list[Figure], theirs: list[Figure]) -> list[str]:
    sidecar, kube, most = _median(ours), _median(theirs), max(bare)
    ratio = statistics.median(one.rate / other.rate for one, other in zip(ours, theirs, strict=True))
    within = ratio >= case.times or sidecar.rate >= SHARE_OF_BARE * most
    return [
        *(case.name, f"{case.nodes:,}", f"{sidecar.rate:,.0f}", f"{kube.rate:,.0f}", f"{ratio:.1f}"),
        *(f"{most:,.0f}", f"{sidecar.rate / most:.2f}"),
        f"{case.times:g} times kube-scheduler, or {SHARE_OF_BARE:g} of bindings alone: {'kept' if within else '**missed**'}",
        *(f"{sidecar.processor_milliseconds:.2f}", f"{kube.processor_milliseconds:.2f}"),
    ]


def _median(figures: list[Figure]) -> Figure:
    return Figure(statistics.median(each.rate for each in figures), statistics.median(each.processor_milliseconds for each in figures))


def _print_round(case: Case, bare: list[float], figures: dict[str, list[Figure]]) -> None:
    rates = [f"{BARE} {bare[-1]:,.0f}", *(f"{name} {each[-1].rate:,.0f}" for name, each in figures.items())]
    print(f"{case.name}, {case.nodes:,} nodes, round {len(bare)}: {', '.join(rates)}", file=sys.stderr, flush=True)


def table(testbed: Testbed, cases: Sequence[Case]) -> None:
    """Measure and print."""
    measure.table("Pods bound per second", COLUMNS, list(rows(testbed, cases)))
