"""Share of existing placements that the strategies greedy and complete reach, and the time they take.

The trees are those of ``tests.scheduler_core.cp_sat.corpus``.  Each tree has a known placement in one zone, with one rack for
each child; running pods take all other capacity except the slack.  CP-SAT, a development dependency, finds which placements exist.

The comparison is a model of greedy with slots: each rack has capacity for a number of equal pods, and children are placed in the
given order.  It fails on 41, 26, 11 and 1 % of such trees at 0, 5, 10 and 20 % slack.  If a quarter of the pods is optional and
must be placed too, it fails on 94, 92, 77 and 26 %.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable

from benchmarks import clusters, measure
from scheduler_core.cluster.load import load
from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from tests.scheduler_core.cp_sat import corpus, model

TREES = 400
"""Trees for each row of the first table."""
LARGE = 200
"""Trees on 500 nodes."""
ROUNDS = 5
SLACK = (0, 5, 10, 20)
SEVERAL = 120
"""Trees of pods of several shapes."""
SLOTS = {False: (41, 26, 11, 1), True: (94, 92, 77, 26)}
"""Percentage of the trees on which the model on slots fails, without (False) and with optional pods, by slack."""


def main() -> None:
    """Measure and print; the argument ``greedy`` restricts the run to that strategy."""
    if sys.argv[1:] == ["greedy"]:
        measure.table(_PLACED, _PLACED_COLUMNS[:6], [row[:6] for row in _placed(("greedy",))])
        return
    measure.table(_PLACED, _PLACED_COLUMNS, list(_placed(("greedy", "complete"))))
    measure.table("Searching: optional pods and children of several shapes", _SEVERAL_COLUMNS, list(_several()))
    measure.table("Searching: time", ("what", "figure", "limit, s"), [*_times(), *_infeasible()])
    measure.table("Searching: complete compared with greedy where greedy places everything", _COMPARED_COLUMNS, list(_compared()))


_PLACED = f"Searching: {TREES} trees of 2 to 8 children for each row, each with a placement"
_PLACED_COLUMNS = (
    *("slack", "optional pods", "CP-SAT places", "greedy places", "greedy fails on", "model on slots fails on"),
    *("complete places", "searches over budget", "of the most pods possible, complete places"),
)
_SEVERAL_COLUMNS = ("slack", "optional", "complete places", "of the most pods possible, complete places", "p50, p99")
_COMPARED_COLUMNS = ("roots", "greedy, pods/s", "complete, pods/s", "complete's time over greedy's", "limit")


@dataclasses.dataclass(slots=True)
class _Tally:
    """Totals over the trees of one row."""

    possible: int = 0
    placed: int = 0
    over: int = 0
    pods: int = 0
    most: int = 0


def _placed(strategies: tuple[str, ...]) -> Iterable[list[str]]:
    for optional in (False, True):
        for slack, model_fails in zip(SLACK, SLOTS[optional], strict=True):
            make = corpus.Make(slack=slack, optional=optional)
            greedy, *complete = [_tally(make, strategy) for strategy in strategies]
            row = [f"{slack} %", "a quarter" if optional else "none", _share(greedy.possible), _share(greedy.placed)]
            row += [_share(greedy.possible - greedy.placed), f"{model_fails} %"]
            for each in complete:
                row += [_share(each.placed), _share(each.over), f"{each.pods / each.most:.1%}"]
            yield row


def _tally(make: corpus.Make, strategy: str) -> _Tally:
    tally = _Tally()
    for seed in range(TREES):
        objects = corpus.instance(seed, make)
        if strategy == "complete":
            tally.most += model.most_pods(objects)["t"]
        else:
            tally.possible += model.feasible(objects)["t"]
        decision, _ = _timed(_snapshot(objects), strategy)
        tally.placed += decision.status is Status.SUCCESS
        tally.over += decision.search.outcome == "budget"
        tally.pods += len(decision.assignments)
    return tally


def _several() -> Iterable[list[str]]:
    """Yield the rows for trees of two and three shapes of pods, one to four levels deep."""
    for spare in (0, 1):
        for slack in SLACK:
            tally, seconds = _Tally(), []
            for seed in range(SEVERAL):
                make = corpus.Make(slack=slack, optional=True, depth=1 + seed % 4, shapes=2 + seed % 2, spare=spare)
                objects = corpus.instance(seed, make)
                tally.most += model.most_pods(objects)["t"]
                decision, taken = _timed(_snapshot(objects), "complete")
                tally.placed += decision.status is Status.SUCCESS
                tally.pods += len(decision.assignments)
                seconds.append(taken)
            spread = f"{_milliseconds(statistics.median(seconds))}, {_milliseconds(statistics.quantiles(seconds, n=100)[-1])}"
            optional = "a quarter of the pods, and a child" if spare else "a quarter of the pods"
            yield [f"{slack} %", optional, f"{tally.placed / SEVERAL:.1%}", f"{tally.pods / tally.most:.1%}", spread]


def _times() -> Iterable[list[str]]:
    for name, make in {
        "a zone of 500 nodes": corpus.Make(nodes=500),
        "three shapes of pods": corpus.Make(nodes=500, shapes=3),
        "four levels": corpus.Make(nodes=500, depth=4),
        "optional pods": corpus.Make(nodes=500, optional=True),
    }.items():
        snapshots = [_snapshot(corpus.instance(seed, make)) for seed in range(LARGE)]
        seconds = sorted(_timed(snapshot, "complete")[1] for snapshot in snapshots)
        worst = statistics.quantiles(seconds, n=100)[-1]
        spread = f"{_milliseconds(statistics.median(seconds))}, {_milliseconds(worst)}"
        yield [f"a root without slack, {name}: p50, p99 of {LARGE}", spread, _verdict(worst, 0.02)]


def _infeasible() -> Iterable[list[str]]:
    running = list(clusters.running(5000, 5000, cpu="3600m", memory="1Gi", priority=1000))
    for name, large in {"equal pods": None, "alternating pods of two shapes": {"cpu": "200m", "memory": "150Mi"}}.items():
        snapshot = _snapshot([*clusters.nodes(5000), *_gang(512, large), *running])
        figure = measure.in_turns({"run": functools.partial(_proof_seconds, snapshot)}, ROUNDS).median("run")
        yield [f"a gang of 512 at 5,000 nodes, {name}, proved infeasible", _milliseconds(figure), _verdict(figure, 0.1)]


def _gang(size: int, large: clusters.Json | None) -> Iterable[clusters.Json]:
    """Yield a gang in one rack; every second pod requests *large* unless it is None."""
    yield clusters.group("PodGroup", "wide", {"gang": {"minCount": size}}, clusters.RACK)
    for number in range(size):
        yield clusters.pod(f"wide-{number:04d}", "wide", requests=large if number % 2 else None)


def _proof_seconds(snapshot: ClusterSnapshot) -> float:
    decision, seconds = _timed(snapshot, "complete")
    if decision.search.outcome != "infeasible":
        raise SystemExit(f"not proved infeasible: {decision.search}")
    return seconds


def _compared() -> Iterable[list[str]]:
    nodes = clusters.nodes(5000)
    for name, roots in {
        "1,500 gangs of 4": clusters.gangs(1500, 4),
        "6 gangs of 1,000": clusters.gangs(6, 1000),
        "500 trees of 2 x 4": clusters.trees(500, 2, 4),
        "3 trees of 2 x 500": clusters.trees(3, 2, 500),
        "500 gangs of 4, each of another shape": clusters.shapes(500, 4, 5),
    }.items():
        snapshot = _snapshot([*nodes, *roots])
        rounds = measure.in_turns({each: _placing(snapshot, each) for each in ("greedy", "complete")}, ROUNDS)
        ratio = rounds.ratio("greedy", "complete")
        yield [name, *(f"{rounds.median(each):,.0f}" for each in ("greedy", "complete")), f"{ratio:.2f}", _verdict(ratio, 1.5)]


def _placing(snapshot: ClusterSnapshot, strategy: str) -> Callable[[], float]:
    """Return a function that measures the pods per second for all roots of *snapshot*."""

    def run() -> float:
        decider, roots = run_cycle.prepared(snapshot, CycleOptions(strategy=strategy))
        gc.freeze()  # as muster simulate does
        started = time.perf_counter()
        decisions = [decider.decide(root) for root in roots]
        seconds = time.perf_counter() - started
        if any(decision.status is not Status.SUCCESS for decision in decisions):
            raise SystemExit("not everything was placed, so the figure is not valid")
        return sum(len(decision.assignments) for decision in decisions) / seconds

    return run


def _timed(snapshot: ClusterSnapshot, strategy: str) -> tuple[Decision, float]:
    """Return the decision on the only root, and its processor time in seconds, as other processes would distort the slowest wall time."""
    decider, (root,) = run_cycle.prepared(snapshot, CycleOptions(strategy=strategy))
    gc.freeze()
    started = time.process_time()
    decision = decider.decide(root)
    return decision, time.process_time() - started


def _snapshot(objects: Iterable[clusters.Json]) -> ClusterSnapshot:
    return load(clusters.as_bytes(list(objects)))


def _share(count: int) -> str:
    return f"{count / TREES:.1%}"


def _verdict(figure: float, limit: float) -> str:
    return f"{limit:g}: {measure.verdict(figure, limit, at_least=False)}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


if __name__ == "__main__":
    main()
