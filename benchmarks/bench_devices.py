"""Claims to devices: 5,000 nodes with 8 devices each in ResourceSlices, compared with the same cluster without claims."""

from __future__ import annotations

import gc
import json
import time

from benchmarks import clusters, measure
from benchmarks.bench_placement import pods_per_second
from kubeapi.json_values import split
from scheduler_core.cluster.load import load
from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status

NODES, DEVICES, GANGS = 5_000, 8, 750
ROUNDS = 5
_LOAD_LIMIT, _REFUSAL_LIMIT = 3.0, 30.0


def main() -> None:
    """Measure and print."""
    rows = [_loading(), *_placing()]
    measure.table(f"Devices: {NODES:,} nodes with {DEVICES} devices each", ("what", "figure", "limit"), rows)


def _loading() -> list[str]:
    """Compare loading with parsing of the same text."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(_cluster(GANGS, 4, 1))}).encode()
    rounds = measure.in_turns({"load": lambda: _seconds_to_load(text), "parse": lambda: _seconds_to_parse(text)}, ROUNDS)
    ratio = rounds.ratio("load", "parse")
    return [f"loading {len(text) / 1e6:.0f} MB / json.loads of the same text", f"{ratio:.2f}", _verdict(ratio, _LOAD_LIMIT)]


def _placing() -> list[list[str]]:
    """Compare gangs with devices with gangs without, and the refusal of a large gang with the placement of a small one, by CPU time."""
    plain = _snapshot([*clusters.nodes(NODES), *clusters.gangs(GANGS, 4)])
    devices, large = _snapshot(_cluster(GANGS, 4, 1)), _snapshot(_cluster(1, 256, DEVICES))
    runs = {
        "plain": lambda: 4 / pods_per_second(plain, time.process_time),
        "devices": lambda: 4 / pods_per_second(devices, time.process_time),
        "refused": lambda: _seconds_to_refuse(large),
    }
    rounds = measure.in_turns(runs, ROUNDS)
    ratio, refusal = rounds.ratio("devices", "plain"), rounds.ratio("refused", "devices")
    return [
        ["a gang of 4 in one rack, one device for each pod", f"{rounds.median('devices') * 1e3:.2f} ms", ""],
        ["the same / without claims to devices", f"{ratio:.2f}", ""],
        [
            "refutation of a gang of 256 with 8 devices for each pod / a placed gang of 4",
            f"{refusal:.1f}",
            _verdict(refusal, _REFUSAL_LIMIT),
        ],
    ]


def _cluster(gangs: int, size: int, requested: int) -> list[clusters.Json]:
    return list(clusters.with_devices([*clusters.nodes(NODES), *clusters.gangs(gangs, size)], DEVICES, requested))


def _snapshot(objects: list[clusters.Json]) -> ClusterSnapshot:
    return load(clusters.as_bytes(objects))


def _seconds_to_load(text: bytes) -> float:
    gc.collect()
    started = time.process_time()
    snapshot = load(split(text))
    seconds = time.process_time() - started
    if snapshot.problems or not snapshot.nodes.counted:
        raise SystemExit("not everything was loaded, so the figure is not valid")
    return seconds


def _seconds_to_parse(text: bytes) -> float:
    gc.collect()
    started = time.process_time()
    json.loads(text)
    return time.process_time() - started


def _seconds_to_refuse(snapshot: ClusterSnapshot) -> float:
    """Return the CPU seconds for the proof that the only root has no placement, with the diagnosis."""
    decider, (root,) = run_cycle.prepared(snapshot, CycleOptions(strategy="complete"))
    gc.freeze()
    started = time.process_time()
    decision = decider.decide(root)
    seconds = time.process_time() - started
    if decision.status is not Status.UNRESOLVABLE or decision.search.outcome != "infeasible":
        raise SystemExit(f"unexpected decision: {decision.status}, {decision.search.outcome}")
    return seconds


def _verdict(figure: float, limit: float) -> str:
    return f"{limit:g}: {measure.verdict(figure, limit, at_least=False)}"


if __name__ == "__main__":
    main()
