"""Decision rate with volumes: gangs whose pods have one claim each that waits for its first consumer.

The rate of kube-scheduler is that of its own metric of algorithm time; the volumes are not provisioned, so no pod is bound.  The rate of
Muster is that of its engine on the same objects, measured before and after.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator

from benchmarks import clusters, measure
from benchmarks.bench_placement import pods_per_second
from benchmarks.cluster.objects import Backlog
from benchmarks.cluster.rates import Testbed
from benchmarks.cluster.schedulers import KUBE_SCHEDULER, UNTHROTTLED
from scheduler_core.loading.load import load

SIZE = 4
TIMES_KUBE_SCHEDULER = 150.0
COLUMNS = ("pods", "nodes", "Muster, pods/s", "kube-scheduler, pods/s", "ratio", "limit")
_METRIC = "scheduler_podgroup_scheduling_algorithm_duration_seconds"
_METRICS_ALLOWED = "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"
_LONGEST_SECONDS, _POLL_SECONDS = 120.0, 0.2
_PATHS = {
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "PersistentVolumeClaim": "/api/v1/namespaces/bench/persistentvolumeclaims",
}
_WITHOUT_FINALIZERS = b'{"metadata":{"finalizers":null}}'


def table(testbed: Testbed, nodes: int, ours: int, theirs: int) -> None:
    """Measure *ours* gangs with Muster and *theirs* with kube-scheduler, and print."""
    testbed.grow(nodes)
    before = _muster(nodes, ours)
    kube = _kube_scheduler(testbed, theirs)
    muster = statistics.mean((before, _muster(nodes, ours)))
    ratio = muster / kube
    limit = f"{TIMES_KUBE_SCHEDULER:g}: {measure.verdict(ratio, TIMES_KUBE_SCHEDULER, at_least=True)}"
    row = ["gangs of 4 in one rack, a claim for each pod", f"{nodes:,}", f"{muster:,.0f}", f"{kube:,.1f}", f"{ratio:,.0f}", limit]
    measure.table("Decisions with claims that wait for their first consumer", COLUMNS, [row])


def _muster(nodes: int, gangs: int) -> float:
    """Return the pods per second of the engine, median of three runs."""
    objects = clusters.with_claims([*clusters.nodes(nodes), *clusters.gangs(gangs, SIZE)])
    snapshot = load(clusters.as_bytes(objects))
    return statistics.median(pods_per_second(snapshot) for _ in range(3))


def _kube_scheduler(testbed: Testbed, gangs: int) -> float:
    """Return the pods per second of its algorithm time; the objects are deleted afterwards."""
    objects = list(clusters.with_claims(clusters.gangs(gangs, SIZE)))
    volumes = [each for each in objects if each["kind"] in _PATHS]
    backlog = Backlog(tuple(each for each in objects if each["kind"] not in _PATHS))
    testbed.wire.press(("POST", _PATHS[each["kind"]], json.dumps(_named(each)).encode()) for each in volumes)
    backlog.create(testbed.wire, KUBE_SCHEDULER.name)
    try:
        testbed.plane.start_scheduler(UNTHROTTLED, [_METRICS_ALLOWED])
        return SIZE / _seconds_per_gang(testbed, gangs)
    finally:
        testbed.plane.scheduler.stop()
        backlog.delete(testbed.wire)
        paths = [f"{_PATHS[each['kind']]}/{each['metadata']['name']}" for each in volumes]
        testbed.wire.press((("DELETE", path, b"{}") for path in paths), missing=True)
        testbed.wire.press((("PATCH", path, _WITHOUT_FINALIZERS) for path in paths), missing=True)


def _named(manifest: clusters.Json) -> clusters.Json:
    return {**manifest, "metadata": {"name": manifest["metadata"]["name"]}}


def _seconds_per_gang(testbed: Testbed, gangs: int) -> float:
    deadline = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < deadline:
        sums = dict(_samples(testbed.plane.scheduler_metrics()))
        if sums.get("count", 0) >= gangs:
            return sums["sum"] / sums["count"]
        time.sleep(_POLL_SECONDS)
    raise SystemExit(f"kube-scheduler has not decided on {gangs} gangs after {_LONGEST_SECONDS:g} s")


def _samples(text: str) -> Iterator[tuple[str, float]]:
    """Yield sum and count of the metric."""
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.partition("{")[0] in (f"{_METRIC}_sum", f"{_METRIC}_count"):
            yield name.partition("{")[0].removeprefix(f"{_METRIC}_"), float(value)
