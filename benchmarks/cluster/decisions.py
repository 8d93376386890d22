"""Decision rate: gangs, trees, and gangs whose pods have one claim each, to a volume that waits for its first consumer, or to a device.

The rate of kube-scheduler is that of its own metric of algorithm time; volumes are not provisioned, so no pod with a volume is bound.  The
rate of Muster is that of its engine on the same objects, measured before and after.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from benchmarks import clusters, measure
from benchmarks.bench_placement import pods_per_second
from benchmarks.cluster.objects import Backlog
from benchmarks.cluster.rates import Testbed
from benchmarks.cluster.schedulers import KUBE_SCHEDULER, UNTHROTTLED
from benchmarks.clusters import Json
from scheduler_core.cluster.load import load

SIZE, DEVICES = 4, 8
COLUMNS = ("pods", "nodes", "Muster, pods/s", "kube-scheduler, pods/s", "ratio", "limit")
_METRIC = "scheduler_podgroup_scheduling_algorithm_duration_seconds"
_METRICS_ALLOWED = "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"
LONGEST_SECONDS, LEAST_ROOTS = 120.0, 5
_POLL_SECONDS = 0.2
_PATHS = {
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "PersistentVolumeClaim": "/api/v1/namespaces/bench/persistentvolumeclaims",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "ResourceClaim": "/apis/resource.k8s.io/v1/namespaces/bench/resourceclaims",
}
"""Kinds that are created in addition to nodes, groups and pods."""
_GANGS = functools.partial(clusters.gangs, size=SIZE)
_WITHOUT_FINALIZERS = b'{"metadata":{"finalizers":null}}'


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """Roots.

    Attributes:
        name: description of the pods.
        times: required multiple of kube-scheduler's rate.
        with_claims: adds claims to nodes and roots.
        roots: returns so many roots.
        size: number of pods of a root.

    """

    name: str
    times: float
    with_claims: Callable[[Iterable[Json]], Iterable[Json]] = iter
    roots: Callable[[int], Iterable[Json]] = _GANGS
    size: int = SIZE


CASES = (
    Case("gangs of 4 in one rack, without claims", 1000.0),
    Case(
        "trees of 2 x 4, zone and rack, without claims", 1000.0, roots=functools.partial(clusters.trees, width=2, size=SIZE), size=2 * SIZE
    ),
    Case("gangs of 4 in one rack, a claim for each pod that waits for its first consumer", 150.0, clusters.with_claims),
    Case(
        f"gangs of 4 in one rack, a claim for each pod to one of the {DEVICES} devices of a node",
        200.0,
        functools.partial(clusters.with_devices, count=DEVICES, created=True),
    ),
)


def table(testbed: Testbed, cases: Iterable[Case], nodes: int, ours: int, theirs: int) -> None:
    """Measure *ours* roots of each case with Muster and *theirs* with kube-scheduler, and print."""
    testbed.grow(nodes)
    measure.table("Decisions", COLUMNS, [_row(testbed, case, nodes, ours, theirs) for case in cases])


def _row(testbed: Testbed, case: Case, nodes: int, ours: int, theirs: int) -> list[str]:
    before = _muster(case, nodes, ours)
    kube = _kube_scheduler(testbed, case, nodes, theirs)
    muster = statistics.mean((before, _muster(case, nodes, ours)))
    ratio = muster / kube
    limit = f"{case.times:g}: {measure.verdict(ratio, case.times, at_least=True)}"
    return [case.name, f"{nodes:,}", f"{muster:,.0f}", f"{kube:,.2f}", f"{ratio:,.0f}", limit]


def _muster(case: Case, nodes: int, roots: int) -> float:
    """Return the pods per second of the engine, median of three runs."""
    snapshot = load(clusters.as_bytes([*case.with_claims([*clusters.nodes(nodes), *case.roots(roots)])]))
    return statistics.median(pods_per_second(snapshot) for _ in range(3))


def _kube_scheduler(testbed: Testbed, case: Case, nodes: int, roots: int) -> float:
    """Return the pods per second of its algorithm time; all objects but the nodes are deleted afterwards."""
    objects = list(case.with_claims([*clusters.nodes(nodes), *case.roots(roots)]))
    others = [each for each in objects if each["kind"] in _PATHS]
    backlog = Backlog(tuple(each for each in objects if each["kind"] not in _PATHS and each["kind"] != "Node"))
    testbed.wire.press(("POST", _PATHS[each["kind"]], json.dumps(_named(each)).encode()) for each in others)
    backlog.create(testbed.wire, KUBE_SCHEDULER.name)
    try:
        testbed.plane.start_scheduler(UNTHROTTLED, [_METRICS_ALLOWED])
        return case.size / _seconds_per_root(testbed, roots)
    finally:
        testbed.plane.scheduler.stop()
        backlog.delete(testbed.wire)
        paths = [f"{_PATHS[each['kind']]}/{each['metadata']['name']}" for each in others]
        testbed.wire.press((("DELETE", path, b"{}") for path in paths), missing=True)
        testbed.wire.press((("PATCH", path, _WITHOUT_FINALIZERS) for path in paths), missing=True)


def _named(manifest: Json) -> Json:
    return {**manifest, "metadata": {"name": manifest["metadata"]["name"]}}


def _seconds_per_root(testbed: Testbed, roots: int) -> float:
    """Return the algorithm time of a root: the mean of *roots*, or of those that are decided in LONGEST_SECONDS."""
    deadline = time.monotonic() + LONGEST_SECONDS
    count = 0.0
    while count < roots and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        sums = dict(_samples(testbed.plane.scheduler_metrics()))
        count = sums.get("count", 0.0)
    if count < min(roots, LEAST_ROOTS):
        raise SystemExit(f"kube-scheduler has decided on only {count:g} of {roots} roots after {LONGEST_SECONDS:g} s")
    print(f"kube-scheduler: {count:g} roots, {sums['sum']:.1f} s", file=sys.stderr, flush=True)
    return sums["sum"] / count


def _samples(text: str) -> Iterator[tuple[str, float]]:
    """Yield sum and count of the metric."""
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.partition("{")[0] in (f"{_METRIC}_sum", f"{_METRIC}_count"):
            yield name.partition("{")[0].removeprefix(f"{_METRIC}_"), float(value)
