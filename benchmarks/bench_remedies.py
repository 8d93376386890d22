"""Processor time of remedies and conflicting constraints for a root that is not placed: 5,000 nodes, one root of 8 x 500 pods.

The figure is the time from raw objects and a loaded snapshot to remedies with their steps.  The lower bound is the time to load
the objects and to decide on the root once: the cost of testing one change by a whole simulation.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

from benchmarks import clusters, measure
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.whatif.remedies.remedies import Advice, advise

NODES, CHILDREN, PODS = 5000, 8, 500
ROUNDS = 5
LIMIT = 1.0
"""Seconds."""
OPTIONS = CycleOptions(strategy="complete")

_BUSY = {"cpu": "3600m", "memory": "1Gi"}
_TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


def main() -> None:
    """Measure and print."""
    columns = ("reason why it is not placed", "remedies", "conflicting constraints", "seconds", "one simulation", "ratio", "limit, s")
    measure.table("Remedies: a tree of 8 gangs of 500, one rack each, at 5,000 nodes", columns, [_row(*each) for each in _situations()])


def _row(what: str, objects: list[clusters.Json]) -> list[str]:
    results: list[Advice] = []
    sources = clusters.as_bytes(objects)
    rounds = measure.in_turns({"advise": lambda: _advised(sources, results), "simulate": lambda: _simulated(sources)}, ROUNDS)
    figure, floor, advice = rounds.median("advise"), rounds.median("simulate"), results[-1]
    cells = [
        what,
        str(len(advice.remedies)),
        str(len(advice.conflict)),
        f"{figure:.2f}",
        f"{floor:.2f}",
        f"{rounds.ratio('advise', 'simulate'):.1f}",
    ]
    return [*cells, f"{LIMIT:g}: {measure.verdict(figure, LIMIT, at_least=False)}"]


def _advised(sources: list[bytes], results: list[Advice]) -> float:
    snapshot = load(sources)
    (decision,) = (each for each in run_cycle(snapshot, OPTIONS).decisions if not each.assignments)
    gc.freeze()  # as muster simulate does
    seconds = _timed(lambda: results.append(advise(sources, snapshot, decision, OPTIONS, before=())))
    if not results[-1].remedies:
        raise SystemExit("there is no remedy, so the figure is not valid")
    return seconds


def _simulated(sources: list[bytes]) -> float:
    gc.freeze()
    return _timed(lambda: run_cycle(load(sources), OPTIONS))


def _timed(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def _situations() -> Iterator[tuple[str, list[clusters.Json]]]:
    nodes = clusters.nodes(NODES)
    yield "each gang is too large for any rack", [*nodes, *_tree("1")]
    busy = list(clusters.running(NODES, NODES, priority=1000, **_BUSY))
    yield "running pods leave too little capacity", [*nodes, *_tree("100m"), *busy]
    yield "the same, each gang with pods of another size", [*nodes, *_tree("100m", more=1), *busy]
    tainted = [{**each, "spec": {"taints": [_TAINT]}} if number % 2 else each for number, each in enumerate(nodes)]
    yield "a taint on every second node", [*tainted, *_tree("800m")]
    yield "a node selector that matches nothing", [*nodes, *_tree("800m", selector={"disk": "ssd"})]


def _tree(cpu: str, more: int = 0, selector: dict[str, str] | None = None) -> Iterator[clusters.Json]:
    """Yield the tree's objects; the pods of each gang request *more* millicores than those of the gang before it."""
    yield clusters.group("CompositePodGroup", "tree", {"gang": {"minGroupCount": CHILDREN}}, clusters.ZONE)
    for number in range(CHILDREN):
        name = f"tree-{number}"
        requests = {"cpu": f"{100 + number * more}m" if more else cpu, "memory": "100Mi"}
        yield clusters.group("PodGroup", name, {"gang": {"minCount": PODS}}, clusters.RACK, "tree")
        yield from (clusters.pod(f"{name}-{member:04d}", name, requests=requests, selector=selector) for member in range(PODS))


if __name__ == "__main__":
    main()
