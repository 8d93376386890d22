"""Pending root in a small cluster, with the problem of its smallest set of victims."""

from __future__ import annotations

import json
from typing import Any

from scheduler_core.cluster.load import load
from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.decider import Decider
from scheduler_core.cycle.preemptor import Proving
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.entity import Entity
from scheduler_core.preemption.minimal.eviction_problem import PlanProblem, plan_problem
from scheduler_core.preemption.minimal.trials import RootRequirements
from scheduler_core.preemption.plans.plan_cost import PlanCost
from scheduler_core.preemption.units.preemption_units import Units
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.preemption.crowded import group, pod


def snapshot(objects: Objects) -> Any:
    return load(json.dumps(each).encode() for each in objects)


def prepared(objects: Objects) -> tuple[Decider, Entity]:
    """Return the decider and the only root."""
    decider, (root,) = run_cycle.prepared(snapshot(objects), CycleOptions(strategy="complete"))
    return decider, root


def requirements_of(objects: Objects) -> RootRequirements:
    decider, root = prepared(objects)
    return Proving(decider._greedy, root).requirements


def task(objects: Objects, *, allow_violations: bool = False) -> PlanProblem:
    decider, root = prepared(objects)
    units = decider.preemptions.units(root)
    below = units.potential_victims(root.priority)
    return plan_problem(
        Proving(decider._greedy, root).requirements,
        units,
        PlanCost(units, below, decider.preemptions.budgets),
        below.units,
        allow_violations=allow_violations,
    )


def names(units: Units, numbers: Any) -> list[str]:
    """Return the name of the first pod of each unit."""
    return sorted(units.unit(number).pods[0].name for number in numbers)


def gang(count: int, cpu: int, key: str = "", minimum: int | None = None) -> Objects:
    return [group("gang", count if minimum is None else minimum, key=key), *(pod(f"gang-{number}", cpu, "gang") for number in range(count))]


def tree(sizes: dict[str, tuple[int, int]], *, key: str = "", inner: str = "rack", minimum: int | None = None) -> Objects:
    """Return a composite with a gang for each name: its number of pods, their CPU, in one domain of *inner*."""
    result = [group("tree", len(sizes) if minimum is None else minimum, key=key)]
    for name, (count, cpu) in sizes.items():
        result += [group(name, count, key=inner, parent="tree"), *(pod(f"{name}-{number}", cpu, name) for number in range(count))]
    return result


def low(name: str, cpu: int, on: str, of: str = "", **more: Any) -> dict[str, Any]:
    """Return a running pod that can be preempted."""
    return pod(name, cpu, of, on=on, **{"priority": 0, **more})
