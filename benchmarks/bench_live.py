"""Cache and scheduler of the sidecar without network: events applied, and decisions on 5,000 nodes.

The figures include all work of the loop's thread between an event and the resulting writes.  The comparison is a snapshot that
is built from scratch for a cycle.
"""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator

from benchmarks import clusters, load, measure
from scheduler_core.cluster.load import load as load_objects
from scheduler_core.cycle.run_cycle import CycleOptions, prepared
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.optional_watches import ON_DEMAND, Reads
from scheduler_core.sidecar.client.claim_status import changed_claim
from scheduler_core.sidecar.scheduling.scheduler import Scheduler, SchedulerOptions
from scheduler_core.sidecar.writes import AllocateClaim, Bind, ReserveVolume, SetCondition, Write, WriteOutcome

NODES, PODS = 5_000, 50_000
GANGS = 500
VOLUMES_OF_A_NODE = 4
DEVICES_OF_A_NODE = 8
SMALL, LARGE = {"cpu": "20m", "memory": "100Mi"}, {"cpu": "3500m", "memory": "1Gi"}
ROUNDS = 5
_NAME = "default-scheduler"


def main() -> None:
    """Measure and print."""
    before = load.resident_bytes(os.getpid())
    objects = clusters.as_bytes([*_versioned(clusters.nodes(NODES))])
    running = clusters.as_bytes([*_versioned(clusters.running(PODS, NODES, cpu="20m", memory="100Mi"))])
    full = _store(objects, running)
    memory = load.resident_bytes(os.getpid())
    gc.freeze()
    rows = [
        _row("pod events applied per second, new pods", _events(objects, _added()), 5_000, at_least=True),
        _row("pod events applied per second, status changes", _events(objects, _added(), _changed()), 5_000, at_least=True),
        _row("a gang of 4 on an idle cluster, from its last pod to its binds, ms", _idle(objects), 10, at_least=False),
        _row("the same with 50,000 running pods, ms", _one_gang(full), 10, at_least=False),
        _row(
            "a snapshot built from scratch instead of the cache, with 50,000 pods, ms", _from_scratch(objects, running), 0, at_least=False
        ),
        _row("gangs of 4 in one rack each, as they arrive, with 50,000 running pods: pods per second", _stream(full), 1_000, at_least=True),
        _row(
            "a gang of 4 with a local volume for each pod, 20,000 volumes, from its first event to its binds, ms",
            _local_volumes(objects),
            50,
            at_least=False,
        ),
        *_devices(objects),
        _row("a gang that preempts 100 of 50,000 pods, ms", _preemption(objects), 1_000, at_least=False),
        _row("memory of the process with 50,000 pods and 5,000 nodes, MiB", (memory - before) / 2**20, 600, at_least=False),
    ]
    measure.table("Live: 5,000 nodes in 50 racks", ("what", "figure", "limit"), rows)


def _row(what: str, figure: float, limit: float, *, at_least: bool) -> list[str]:
    verdict = f"{limit:,g}: {measure.verdict(figure, limit, at_least=at_least)}" if limit else ""
    return [what, f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}", verdict]


def _versioned(objects: Iterable[clusters.Json]) -> Iterator[clusters.Json]:
    for number, each in enumerate(objects, 1):
        each["metadata"]["resourceVersion"] = str(number)
        yield each


def _store(nodes: list[bytes], pods: Iterable[bytes] = ()) -> Cache:
    store = Cache(reads=Reads(schedules=True, preempts=True, validates=True))
    for kind in ON_DEMAND:
        store.replace(kind, ())
    store.replace("Node", nodes)
    store.replace("Pod", pods)
    store.usage.placement_state()
    return store


def _added() -> list[bytes]:
    return clusters.as_bytes([*_versioned(clusters.running(20_000, NODES, cpu="20m", memory="100Mi"))])


def _changed() -> list[bytes]:
    changed = []
    for number, raw in enumerate(_added()):
        each = json.loads(raw)
        each["metadata"]["resourceVersion"] = str(100_000 + number)
        each["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        changed.append(json.dumps(each).encode())
    return changed


def _events(nodes: list[bytes], *rounds: list[bytes]) -> float:
    def run() -> float:
        store = _store(nodes)
        for events in rounds[:-1]:
            for each in events:
                store.apply("Pod", "ADDED", each)
        started = time.perf_counter()
        for each in rounds[-1]:
            store.apply("Pod", "MODIFIED", each)
        return len(rounds[-1]) / (time.perf_counter() - started)

    return _median(run)


def _gang(name: str, version: int, *, priority: int = 0, size: int = 4, requests: clusters.Json | None = None) -> list[clusters.Json]:
    objects = [clusters.group("PodGroup", name, {"gang": {"minCount": size}}, clusters.RACK, priority=priority)]
    objects += [clusters.pod(f"{name}-{number}", name, requests=requests or SMALL, priority=priority) for number in range(size)]
    for number, each in enumerate(objects):
        each["metadata"]["resourceVersion"] = str(version + number)
    return objects


def _apply(store: Cache, objects: Iterable[clusters.Json]) -> None:
    for each in objects:
        store.apply(each["kind"], "ADDED", json.dumps(each).encode())


def _idle(nodes: list[bytes]) -> float:
    return _one_gang(_store(nodes))


def _one_gang(store: Cache) -> float:
    """Return the milliseconds from the event of the last pod to the binds; each round has another gang."""
    scheduler = Scheduler(store, SchedulerOptions(scheduler_name=_NAME, settle_seconds=0.0))
    numbers = iter(range(10**6, 10**9, 100))

    def run() -> float:
        number = next(numbers)
        *others, last = _gang(f"single-{number}", number)
        _apply(store, others)
        raw = json.dumps(last).encode()
        started = time.perf_counter()
        store.apply("Pod", "ADDED", raw)
        attempts = scheduler.attempt(0.0)
        seconds = time.perf_counter() - started
        if sum(isinstance(write, Bind) for each in attempts for write in each.writes) != 4:
            raise SystemExit("the gang was not placed, so the figure is not valid")
        _complete_writes(scheduler, [write for each in attempts for write in each.writes])
        return seconds * 1e3

    return _median(run)


def _local_volumes(nodes: list[bytes]) -> float:
    """Return the milliseconds of all work for a gang with a local volume for each pod, from its first event to its binds."""
    store = _store(nodes)
    objects = [each for each in clusters.with_claims(clusters.nodes(NODES), local=VOLUMES_OF_A_NODE) if each["kind"] in ON_DEMAND]
    for kind in ON_DEMAND:
        store.replace(kind, clusters.as_bytes([each for each in objects if each["kind"] == kind]))
    known = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    scheduler = Scheduler(store, SchedulerOptions(scheduler_name=_NAME, settle_seconds=0.0))
    numbers = iter(range(10**6, 10**9, 100))

    def run() -> float:
        number = next(numbers)
        gang = [each for each in clusters.with_claims(_gang(f"local-{number}", number)) if each["kind"] != "StorageClass"]
        known.update({(each["kind"], each["metadata"]["name"]): each for each in gang})
        started = time.perf_counter()
        _apply(store, gang)
        binds = 0
        while binds < 4:
            writes = [write for attempt in scheduler.attempt(0.0) for write in attempt.writes]
            if not writes:
                raise SystemExit("the gang was not placed, so the figure is not valid")
            for each in writes:
                if isinstance(each, ReserveVolume):
                    _bind_volume(store, known["PersistentVolume", each.target.name], known["PersistentVolumeClaim", each.claim.name])
            binds += _complete_writes(scheduler, writes)
        return (time.perf_counter() - started) * 1e3

    return _median(run)


def _bind_volume(store: Cache, volume: clusters.Json, claim: clusters.Json) -> None:
    """Apply the events of a volume that is reserved for a claim, and of the controller that binds the claim to it."""
    reference = {"claimRef": {"namespace": "default", "name": claim["metadata"]["name"], "uid": claim["metadata"]["uid"]}}
    metadata = {**claim["metadata"], "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    bound = {**claim, "metadata": metadata, "spec": {**claim["spec"], "volumeName": volume["metadata"]["name"]}}
    _apply(store, ({**volume, "spec": {**volume["spec"], **reference}}, bound))


def _devices(nodes: list[bytes]) -> list[list[str]]:
    """Compare the CPU time of all work for a gang with a device for each pod with that for a gang without."""
    store = _store(nodes)
    objects = [each for each in clusters.with_devices(clusters.nodes(NODES), DEVICES_OF_A_NODE) if each["kind"] in ON_DEMAND]
    for kind in ON_DEMAND:
        store.replace(kind, clusters.as_bytes([each for each in objects if each["kind"] == kind]))
    scheduler = Scheduler(store, SchedulerOptions(scheduler_name=_NAME, settle_seconds=0.0))
    numbers = iter(range(10**6, 10**9, 100))

    def run(*, devices: bool) -> float:
        number = next(numbers)
        gang = _gang(f"{'devices' if devices else 'plain'}-{number}", number)
        claims = [clusters.device_claim(each) for each in gang if each["kind"] == "Pod"] if devices else []
        known = {each["metadata"]["name"]: each for each in claims}
        started = time.process_time()
        _apply(store, [*claims, *gang])
        binds = 0
        while binds < 4:
            writes = [write for attempt in scheduler.attempt(0.0) for write in attempt.writes]
            if not writes:
                raise SystemExit("the gang was not placed, so the figure is not valid")
            for each in writes:
                if isinstance(each, AllocateClaim):
                    claim = changed_claim(each, known[each.target.name], "2026-08-02T00:00:00Z")
                    _apply(store, [{**claim, "metadata": {**claim["metadata"], "resourceVersion": str(number + 50)}}])
            binds += _complete_writes(scheduler, writes)
        return (time.process_time() - started) * 1e3

    rounds = measure.in_turns({"devices": lambda: run(devices=True), "plain": lambda: run(devices=False)}, ROUNDS)
    what = f"a gang of 4 with a device for each pod, {NODES * DEVICES_OF_A_NODE:,} devices, from its first event to its binds: CPU time"
    return [
        _row(f"{what}, ms", rounds.median("devices"), 50, at_least=False),
        _row("the same relative to a gang without devices", rounds.ratio("devices", "plain"), 0, at_least=False),
    ]


def _from_scratch(nodes: list[bytes], pods: list[bytes]) -> float:
    snapshot = load_objects([*nodes, *pods, *clusters.as_bytes(_gang("one", 1))])
    return _median(lambda: measure.seconds(lambda: prepared(snapshot, CycleOptions()), 1) * 1e3)


def _complete_writes(scheduler: Scheduler, writes: Iterable[Write]) -> int:
    """Report success for every write; return the number of binds."""
    binds = 0
    pending = [*writes]
    while pending:
        write = pending.pop(0)
        binds += isinstance(write, Bind)
        if isinstance(write, (AllocateClaim, Bind, SetCondition, ReserveVolume)):
            pending += scheduler.done(write, WriteOutcome.DONE, "", 0.0)
    return binds


def _stream(store: Cache) -> float:
    """Return the pods bound per second, with the events of a few gangs, a cycle and the results of its writes in each step."""
    scheduler = Scheduler(store, SchedulerOptions(scheduler_name=_NAME, settle_seconds=0.0))
    numbers = iter(range(10**9, 10**12, 100))

    def run() -> float:
        events = [(_gang(f"stream-{number}", number)) for number in (next(numbers) for _ in range(GANGS))]
        raws = [[(each["kind"], json.dumps(each).encode()) for each in gang] for gang in events]
        binds = 0
        started = time.perf_counter()
        for first in range(0, GANGS, 8):
            for gang in raws[first : first + 8]:
                for kind, raw in gang:
                    store.apply(kind, "ADDED", raw)
            while (due := scheduler.due(0.0)) is not None and due <= 0.0:
                for attempt in scheduler.attempt(0.0):
                    binds += _complete_writes(scheduler, attempt.writes)
        seconds = time.perf_counter() - started
        if binds != 4 * GANGS:
            raise SystemExit(f"{binds} pods were bound, not {4 * GANGS}")
        return binds / seconds

    return _median(run)


def _preemption(nodes: list[bytes]) -> float:
    """Return the milliseconds of a decision with victims, among 50,000 pods of lower priority that fill the cluster."""
    pods = clusters.as_bytes([*_versioned(clusters.running(PODS, NODES, cpu="390m", memory="100Mi"))])
    store = _store(nodes, pods)
    urgent = _gang("urgent", 10**6, priority=100, size=100, requests={"cpu": "400m", "memory": "100Mi"})
    _apply(store, urgent)

    def run() -> float:
        scheduler = Scheduler(store, SchedulerOptions(scheduler_name=_NAME, settle_seconds=0.0, preempt=True))
        started = time.perf_counter()
        (attempt,) = scheduler.attempt(0.0)
        seconds = time.perf_counter() - started
        if not attempt.plan:
            raise SystemExit("there are no victims, so the figure is not valid")
        scheduler.restart()
        return seconds * 1e3

    return _median(run)


def _median(run: Callable[[], float]) -> float:
    return measure.in_turns({"run": run}, ROUNDS).median("run")


if __name__ == "__main__":
    main()
