"""A cycle over a small cluster, and the victims of its decision."""

from __future__ import annotations

from typing import Any

from scheduler_core.cycle.run_cycle import CycleOptions, Result, run_cycle
from scheduler_core.model.decision import Decision, Eviction
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.preemption.crowded import node, pod
from tests.scheduler_core.preemption.pending_root import snapshot


def run(objects: Objects, strategy: str = "complete", **options: Any) -> Result:
    return run_cycle(snapshot(objects), CycleOptions(strategy=strategy, **options))


def decide(objects: Objects, strategy: str = "complete", **options: Any) -> Decision:
    return run(objects, strategy, **options).decisions[0]


def victims(decision: Decision) -> list[str]:
    return [key.removeprefix("default/") for key in decision.victims]


def proved(units: int) -> Eviction:
    """Return an Eviction of *units* units, proved to be the fewest."""
    return Eviction(units, units, proved=True)


SPREAD = [
    *(node(f"n{number}", 4) for number in range(4)),
    *(pod(f"small-{number}{part}", 2, on=f"n{number}") for number in range(3) for part in "ab"),
    pod("large", 4, on="n3"),
]
"""Objects of four full nodes: two pods on each of three, one on the last."""


def low(objects: Objects, priority: int = 0) -> Objects:
    return [{**each, "spec": {**each["spec"], "priority": priority}} if each["kind"] == "Pod" else each for each in objects]
