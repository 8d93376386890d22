"""Throughput of placement: gangs and trees on 5,000 and 50,000 nodes, compared with an engine without caches.

The comparison is the same engine without any cache, with every pod tried individually, as the algorithm is specified.
Times of kube-scheduler 1.37.1's algorithm on two cores: 83 ms for a gang of 4 in one of 50 racks (48 pods/s), 180 ms for a tree
of 2 x 4 (44 pods/s), 2.1 s for a gang of 100 (47 pods/s).
"""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from unittest import mock

from benchmarks import clusters, measure
from scheduler_core.cluster.load import load
from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.options import GREEDY, STRATEGIES
from scheduler_core.model.scheduler_profile import MOST_ALLOCATED, SchedulerProfile, SchedulerProfiles, ScoringStrategy
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.placement import equal_domains
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.placement_request import Signatures
from scheduler_core.placement.soft_spread import fill_spread
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.stateful_plugins import StatefulPlugins

KUBE_SCHEDULER = {"gang": 48, "tree": 44, "large": 47}
"""Pods per second of its algorithm's time, measured on two cores."""
ROUNDS = 5
_SAVED = 1.05
"""What a special case must save at least, where it applies."""
_GPU = "example.com/gpu"
_GPU_RESOURCES = ((_GPU, 5), ("cpu", 1), ("memory", 1))
REFUSED_ROOTS = 12
_UNCACHED_ROOTS = 6
"""Roots for the measurement without caches, which is slow, and equally fast for each root."""


def main() -> None:
    """Measure and print."""
    measure.table("Placing: decisions, 5,000 nodes in 50 racks and 5 zones, every placement scored", _COLUMNS, list(_throughput()))
    measure.table("Placing: gangs that a Service selects, which spreads their pods", _SPREAD_COLUMNS, list(_spread()))
    measure.table("Placing: such gangs, relative to the same without one way of saving time", _SAVINGS_COLUMNS, list(_savings()))
    measure.table("Placing: gangs that exclude each other from racks", _EXCLUSIVE_COLUMNS, list(_exclusive()))
    measure.table("Placing: scoring strategies, the same gangs in one run", _STRATEGY_COLUMNS, list(_strategies()))
    measure.table("Placing: growth, and roots that are not placed", ("what", "figure", "limit"), list(_growth_and_failures()))


_COLUMNS = ("roots", "pods/s", "per root", "limit, pods/s", "without caches, pods/s", "ratio", "times kube-scheduler's")


def _throughput() -> Iterable[list[str]]:
    nodes = clusters.nodes(5000)
    for count in (750, 1500, 2250):
        yield _row(f"{count:,} gangs of 4", [*nodes, *clusters.gangs(count, 4)], 20_000, KUBE_SCHEDULER["gang"])
    for count in (3, 6, 9):
        yield _row(f"{count} gangs of 1,000", [*nodes, *clusters.gangs(count, 1000)], 100_000, KUBE_SCHEDULER["large"])
    yield _row("500 trees of 2 x 4", [*nodes, *clusters.trees(500, 2, 4)], 20_000, KUBE_SCHEDULER["tree"])
    yield _row("3 trees of 2 x 500", [*nodes, *clusters.trees(3, 2, 500)], 100_000, KUBE_SCHEDULER["tree"])
    yield _row("500 gangs of 4, each of another shape", [*nodes, *clusters.shapes(500, 4, 5)], 4_000, 0)


_SPREAD_COLUMNS = ("roots", "per root", "per root without Services", "ratio", "limit")


def _spread() -> Iterable[list[str]]:
    nodes = clusters.nodes(5000)
    for name, count, size, key in (
        ("750 gangs of 4", 750, 4, clusters.RACK),
        ("3 gangs of 1,000", 3, 1000, clusters.RACK),
        ("200 gangs of 4 without topology", 200, 4, ""),
        ("3 gangs of 1,000 without topology", 3, 1000, ""),
    ):
        without = _snapshot([*nodes, *clusters.gangs(count, size, key=key)])
        selected = _snapshot([*nodes, *clusters.with_services(clusters.gangs(count, size, key=key))])
        runs = {"without": lambda each=without: pods_per_second(each), "with": lambda each=selected: pods_per_second(each)}
        rounds = measure.in_turns(runs, ROUNDS)
        ratio = rounds.ratio("without", "with")
        figures = (_milliseconds(size / rounds.median(each)) for each in ("with", "without"))
        yield [name, *figures, f"{ratio:.2f}", _verdict(ratio, 2)]


_SAVINGS_COLUMNS = ("roots", "without", "time, relative to with it", "limit")
_NEVER = 2**31


def _savings() -> Iterable[list[str]]:
    """Compare soft topology spread without each of its special cases: one that saves no time is not needed."""
    nodes = clusters.nodes(5000)
    first = "soft_spread.first_pods", functools.partial(mock.patch.object, fill_spread, "first_pods", lambda *_: None)
    forecast = "soft_spread.forecast", functools.partial(mock.patch.object, fill_spread, "LEAST", _NEVER)
    postponed = "pod_counts.PostponedPods", functools.partial(mock.patch.object, PodCounts, "count_alike", lambda *_: None)
    for name, count, size, key, (without, off) in (
        ("750 gangs of 4", 750, 4, clusters.RACK, first),
        ("200 gangs of 4 without topology", 200, 4, "", first),
        ("2 gangs of 4,000 in one zone each", 2, 4000, clusters.ZONE, forecast),
        ("3 gangs of 1,000 without topology", 3, 1000, "", forecast),
        ("3 gangs of 1,000", 3, 1000, clusters.RACK, postponed),
    ):
        snapshot = _snapshot([*nodes, *clusters.with_services(clusters.gangs(count, size, key=key))])
        rounds = measure.in_turns(
            {"with": functools.partial(_processor_rate, snapshot), "without": functools.partial(_switched, snapshot, off)}, ROUNDS
        )
        ratio = rounds.ratio("with", "without")
        yield [name, without, f"{ratio:.2f}", f"{_SAVED:g}: {measure.verdict(ratio, _SAVED, at_least=True)}"]


_EXCLUSIVE_COLUMNS = ("roots", "pods/s", "each rack tried, pods/s", "ratio", "limit")


def _exclusive() -> Iterable[list[str]]:
    """Compare gangs that exclude each other with the same if each rack is tried, also those that are equal or have another gang."""
    for count, racks in ((50, 100), (100, 200)):
        objects = [*clusters.nodes(4 * racks), *clusters.gangs(count, 4)]
        snapshot = _snapshot(clusters.exclusive(objects, nodes_of_a_rack=4))
        rounds = measure.in_turns({"equal": functools.partial(_processor_rate, snapshot), "each": lambda at=snapshot: _each_tried(at)}, 3)
        ratio = rounds.ratio("equal", "each")
        rates = [f"{rounds.median(each):,.0f}" for each in ("equal", "each")]
        yield [f"{count} gangs of 4, {racks} racks of 4", *rates, f"{ratio:.0f}", f"5: {measure.verdict(ratio, 5, at_least=True)}"]


def _each_tried(snapshot: ClusterSnapshot) -> float:
    def one_by_one(_request: object, _division: object, rows: list[int], _state: object) -> list[list[int]]:
        return [[row] for row in rows]

    with (
        mock.patch.object(equal_domains, "grouped", one_by_one),
        mock.patch.object(StatefulPlugins, "allowed", return_value=None),
    ):
        return _processor_rate(snapshot)


def _switched(snapshot: ClusterSnapshot, off: Callable[[], AbstractContextManager[object]]) -> float:
    with off():
        return _processor_rate(snapshot)


def _processor_rate(snapshot: ClusterSnapshot) -> float:
    return pods_per_second(snapshot, time.process_time)


_STRATEGY_COLUMNS = (
    "roots",
    "LeastAllocated, pods/s",
    "MostAllocated, pods/s",
    "of cpu, memory and GPUs, pods/s",
    "ratio of times",
    "limit",
)


def _strategies() -> Iterable[list[str]]:
    """Compare the default scores with MostAllocated, over cpu and memory, and over GPUs as well."""
    kinds = {"least": ScoringStrategy(), "most": ScoringStrategy(MOST_ALLOCATED), "gpu": ScoringStrategy(MOST_ALLOCATED, _GPU_RESOURCES)}
    gpu, nodes = {"cpu": "100m", "memory": "200Mi", _GPU: "1"}, clusters.nodes(5000)
    for node in nodes:
        node["status"]["allocatable"][_GPU] = "8"
    for count, size in ((1500, 4), (6, 1000)):
        pods = [*nodes, *clusters.gangs(count, size), *clusters.gangs(count // 2, size // 2, prefix="gpu", requests=gpu)]
        objects = clusters.as_bytes(pods)
        profiles = {name: SchedulerProfiles({"default-scheduler": SchedulerProfile(strategy=each)}) for name, each in kinds.items()}
        snapshots = {name: load(objects, each) for name, each in profiles.items()}
        rounds = measure.in_turns({name: functools.partial(pods_per_second, each) for name, each in snapshots.items()}, ROUNDS)
        ratios = [rounds.ratio("least", name) for name in ("most", "gpu")]
        yield [
            *(f"{count:,} gangs of {size:,}, {count // 2} of {size // 2} with GPUs", *(f"{rounds.median(name):,.0f}" for name in kinds)),
            *(", ".join(f"{each:.2f}" for each in ratios), _verdict(max(ratios), 1.3)),
        ]


def _growth_and_failures() -> Iterable[list[str]]:
    small = _seconds_per_root(_snapshot([*clusters.nodes(5000), *clusters.gangs(1500, 4)]), 500)
    large = _seconds_per_root(_snapshot([*clusters.nodes(50_000), *clusters.gangs(1500, 4)]), 500)
    yield ["a gang of 4 at 50,000 nodes / at 5,000, same shape as the last", f"{large / small:.2f}", _verdict(large / small, 2)]
    for what, local in (("a volume to provision", 0), ("a local volume", 4)):
        figure = _ratio_with_claims([*clusters.nodes(5000), *clusters.gangs(750, 4)], local)
        yield [f"gangs of 4, {what} for each pod / without", f"{figure:.2f}", _verdict(figure, 2)]
    full = [*clusters.nodes(5000), *clusters.running(20_000, 5000)]
    urgent = [clusters.group("PodGroup", "urgent", {"gang": {"minCount": 100}}, clusters.RACK, priority=100)]
    size = {"cpu": "1", "memory": "7Gi"}
    urgent += [clusters.pod(f"urgent-{number}", "urgent", requests=size, priority=100) for number in range(100)]
    snapshot = _snapshot([*full, *urgent])
    figure = _median(lambda: _one(snapshot, Status.UNSCHEDULABLE, victims=True))
    yield ["preemption for a gang of 100 among 20,000 running pods", _milliseconds(figure), _verdict(figure, 0.5)]
    hopeless = _snapshot([*clusters.nodes(5000), *clusters.gangs(1, 512, prefix="wide"), *_fillers()])
    figure = _median(lambda: _one(hopeless, Status.UNSCHEDULABLE, victims=False))
    yield ["a gang of 512 that cannot fit: decision and diagnosis", _milliseconds(figure), _verdict(figure, 0.1)]
    yield from _refusals()


def _refusals() -> Iterable[list[str]]:
    """Compare gangs that cannot fit with gangs that are placed, many of each in a cycle: what is computed once for all of them is shared."""
    refused = _snapshot([*clusters.nodes(5000), *clusters.gangs(REFUSED_ROOTS, 512, prefix="wide"), *_fillers()])
    placed = _snapshot([*clusters.nodes(5000), *clusters.gangs(750, 4)])
    runs = {each: functools.partial(_processor_seconds, refused, Status.UNSCHEDULABLE, each) for each in STRATEGIES}
    rounds = measure.in_turns({**runs, "placed": functools.partial(_processor_seconds, placed, Status.SUCCESS)}, ROUNDS)
    for name in STRATEGIES:
        figure = rounds.ratio(name, "placed")
        yield [f"one of {REFUSED_ROOTS} such gangs / one of 750 placed gangs of 4, {name}, CPU time", f"{figure:.1f}", _verdict(figure, 10)]


def _ratio_with_claims(objects: list[clusters.Json], local: int) -> float:
    """Return the time for a pod with a claim that waits for it, as a multiple of the time without."""
    plain, claims = _snapshot(objects), _snapshot(clusters.with_claims(objects, local=local))
    rounds = measure.in_turns({"claims": lambda: pods_per_second(claims), "plain": lambda: pods_per_second(plain)}, ROUNDS)
    return rounds.ratio("plain", "claims")


def _fillers() -> Iterable[clusters.Json]:
    """Return running pods that leave capacity for fewer than 512 pods of 100m in each rack."""
    return clusters.running(5000, 5000, cpu="3600m", memory="1Gi", priority=1000)


def _row(name: str, objects: list[clusters.Json], limit: int, other: int) -> list[str]:
    snapshot = _snapshot(objects)
    roots = len(run_cycle.queued(snapshot, CycleOptions()))
    pods = sum(pod.node < 0 for pod in snapshot.pods)
    rounds = measure.in_turns({"ours": lambda: pods_per_second(snapshot), "uncached": lambda: _uncached(snapshot)}, ROUNDS)
    ours = rounds.median("ours")
    ratio = f"{ours / other:,.0f}" if other else ""
    verdict = f"{limit:,}: {measure.verdict(ours, limit, at_least=True)}"
    return [
        *(name, f"{ours:,.0f}", _milliseconds(pods / ours / roots), verdict),
        *(f"{rounds.median('uncached'):,.0f}", f"{rounds.ratio('ours', 'uncached'):,.0f}", ratio),
    ]


def _snapshot(objects: Iterable[clusters.Json]) -> ClusterSnapshot:
    return load(clusters.as_bytes(list(objects)))


def pods_per_second(snapshot: ClusterSnapshot, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the pods per second of the decisions on all roots, without the preparation of the cluster."""
    decider, roots = run_cycle.prepared(snapshot, CycleOptions())
    gc.freeze()  # as muster simulate does
    started = clock()
    decisions = [decider.decide(root) for root in roots]
    seconds = clock() - started
    if any(decision.status is not Status.SUCCESS for decision in decisions):
        raise SystemExit("not everything was placed, so the figure is not valid")
    return sum(len(decision.assignments) for decision in decisions) / seconds


def _seconds_per_root(snapshot: ClusterSnapshot, after: int) -> float:
    """Return the seconds per root after the decisions on the first *after* roots."""
    decider, roots = run_cycle.prepared(snapshot, CycleOptions())
    for root in roots[:after]:
        decider.decide(root)
    started = time.perf_counter()
    for root in roots[after:]:
        decider.decide(root)
    return (time.perf_counter() - started) / (len(roots) - after)


def _uncached(snapshot: ClusterSnapshot) -> float:
    """Return the pods per second without caches, with each pod tried individually."""
    greedy = Greedy(PlacementState.from_snapshot(snapshot, CycleOptions().placing), Signatures(lambda _: True, one_by_one=True))
    roots = run_cycle.queued(snapshot, CycleOptions())[:_UNCACHED_ROOTS]
    roots = roots[: 1 if sum(len(leaf.waiting) for leaf in roots[0].leaves()) > 100 else _UNCACHED_ROOTS]
    started, placed = time.perf_counter(), 0
    for root in roots:
        request = greedy.request(root)
        outcome = greedy.place(request)
        greedy.assume(request, outcome)
        placed += outcome.placed
    return placed / (time.perf_counter() - started)


def _one(snapshot: ClusterSnapshot, status: Status, *, victims: bool) -> float:
    decider, roots = run_cycle.prepared(snapshot, CycleOptions())
    started = time.perf_counter()
    (decision,) = [decider.decide(root) for root in roots]
    seconds = time.perf_counter() - started
    if decision.status is not status or bool(decision.victims) is not victims:
        raise SystemExit(f"unexpected decision: {decision.status}, {len(decision.victims)} victims")
    return seconds


def _processor_seconds(snapshot: ClusterSnapshot, status: Status, strategy: str = GREEDY) -> float:
    """Return the processor time of each root of a cycle."""
    decider, roots = run_cycle.prepared(snapshot, CycleOptions(strategy=strategy))
    gc.freeze()
    started = time.process_time()
    decisions = [decider.decide(root) for root in roots]
    seconds = time.process_time() - started
    if {each.status for each in decisions} != {status}:
        raise SystemExit(f"not every root is {status}, so the figure is not valid")
    return seconds / len(roots)


def _median(run: Callable[[], float]) -> float:
    return measure.in_turns({"run": run}, ROUNDS).median("run")


def _verdict(figure: float, limit: float) -> str:
    return f"{limit:g}: {measure.verdict(figure, limit, at_least=False)}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


if __name__ == "__main__":
    main()
