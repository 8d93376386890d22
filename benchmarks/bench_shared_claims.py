"""A gang of the sidecar whose pods use one claim, such as the data of a training job, relative to the same gang without it.

The figure includes all work of the loop's thread, in CPU time: the events of new pods, the decision, the binds with their events, and the
deletions.  Work for each pair of pods would show at a thousand pods.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator

from benchmarks import clusters, measure
from benchmarks.clusters import Json
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.optional_watches import ON_DEMAND, Reads
from scheduler_core.sidecar.scheduling.scheduler import Scheduler, SchedulerOptions
from scheduler_core.sidecar.writes import Bind, Write, WriteOutcome

NODES, PODS, ROUNDS = 500, 1_000, 5
LIMIT = 3.0
_NAMED = {"namespace": "default", "name": "data"}
_CLAIM: Json = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {**_NAMED, "uid": "claim", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}, "volumeName": "data"},
}
_VOLUME: Json = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "data", "uid": "volume"},
    "spec": {
        "capacity": {"storage": "1Ti"},
        "accessModes": ["ReadWriteMany"],
        "claimRef": {**_NAMED, "uid": "claim"},
        "csi": {"driver": "csi.example.com", "volumeHandle": "data"},
    },
}


def main() -> None:
    """Measure and print."""
    rounds = measure.in_turns({"shared": lambda: _seconds(shared=True), "plain": lambda: _seconds(shared=False)}, ROUNDS)
    ratio = rounds.ratio("shared", "plain")
    row = [f"{PODS:,} pods with one volume", f"{ratio:.2f}", f"{LIMIT:g}: {measure.verdict(ratio, LIMIT, at_least=False)}"]
    measure.table("Live: a gang whose pods share a claim, relative to one without claims", ("what", "ratio", "limit"), [row])


def _seconds(*, shared: bool) -> float:
    versions = itertools.count(1)
    cache = Cache(reads=Reads(schedules=True, preempts=True, validates=True))
    for kind in ON_DEMAND:
        cache.replace(kind, ())
    cache.replace("Node", [_raw(each, versions) for each in clusters.nodes(NODES)])
    cache.replace("PersistentVolume", [_raw(_VOLUME, versions)])
    cache.replace("PersistentVolumeClaim", [_raw(_CLAIM, versions)])
    scheduler = Scheduler(cache, SchedulerOptions(scheduler_name="default-scheduler", settle_seconds=0.0))
    gang = [*_gang(shared=shared)]
    pods = {each["metadata"]["name"]: each for each in gang if each["kind"] == "Pod"}
    started = time.process_time()
    for each in gang:
        cache.apply(each["kind"], "ADDED", _raw(each, versions))
    for bind in _binds(scheduler):
        pods[bind.target.name]["spec"]["nodeName"] = bind.node
        cache.apply("Pod", "MODIFIED", _raw(pods[bind.target.name], versions))
        scheduler.done(bind, WriteOutcome.DONE, "", 0.0)
    for each in pods.values():
        cache.apply("Pod", "DELETED", _raw(each, versions))
    return time.process_time() - started


def _gang(*, shared: bool) -> Iterator[Json]:
    for each in clusters.gangs(1, PODS, key=clusters.ZONE, requests={"cpu": "10m", "memory": "10Mi"}):
        if shared and each["kind"] == "Pod":
            each["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        yield each


def _binds(scheduler: Scheduler) -> list[Bind]:
    """Return the binds of the gang, after all other writes."""
    binds: list[Bind] = []
    writes: list[Write] = [write for attempt in scheduler.attempt(0.0) for write in attempt.writes]
    while writes:
        write = writes.pop()
        if isinstance(write, Bind):
            binds.append(write)
        else:
            writes += scheduler.done(write, WriteOutcome.DONE, "", 0.0)
    if len(binds) != PODS:
        raise SystemExit(f"{len(binds)} pods are bound, so the figure is not valid")
    return binds


def _raw(content: Json, versions: Iterator[int]) -> bytes:
    metadata = {**content["metadata"], "resourceVersion": str(next(versions))}
    return json.dumps({**content, "metadata": metadata}).encode()


if __name__ == "__main__":
    main()
