"""Best set of units by trying every set: slow, and independent of the tested code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from tests.scheduler_core.oracle import brute, preempt
from tests.scheduler_core.oracle.model import Cluster, Objects, flat, read

Key = tuple[Any, ...]


def without(objects: Objects, pods: set[str]) -> Objects:
    return [each for each in flat(objects) if each["kind"] != "Pod" or f"default/{each['metadata']['name']}" not in pods]


def worth(units: list[preempt.Unit], cluster: Cluster) -> Key:
    """Return the cost: violates a budget, units, pods, highest priority, sum of priorities, age of the oldest."""
    pods = [pod for unit in units for pod in unit.pods]
    ordered = sorted(units, key=preempt.importance)
    return (
        bool(preempt.violations(ordered, cluster.budgets)),
        len(units),
        len(pods),
        max((unit.priority for unit in units), default=0),
        sum(unit.priority * len(unit.pods) for unit in units),
        -min((preempt.started(pod).timestamp() for pod in pods if pod.started), default=float("inf")),
    )


def of_victims(objects: Objects, victims: tuple[str, ...]) -> Key:
    cluster = read(objects)
    units = [unit for unit in preempt.units(cluster) if any(pod.key in victims for pod in unit.pods)]
    assert sorted(victims) == sorted(pod.key for unit in units for pod in unit.pods)
    return worth(units, cluster)


def best(objects: Objects, root: dict[str, str], priority: int) -> Key | None:
    """Return the cost of the best plan; None if there is none."""
    cluster = read(objects)
    units = [unit for unit in preempt.units(cluster) if unit.priority < priority]
    for key, chosen in sorted(((worth(chosen, cluster), chosen) for chosen in _all(units)), key=lambda pair: pair[0]):
        if brute.placement(without(objects, {pod.key for unit in chosen for pod in unit.pods}), **root) is not None:
            return key
    return None


def _all(units: list[preempt.Unit]) -> Iterator[list[preempt.Unit]]:
    for size in range(len(units) + 1):
        yield from map(list, itertools.combinations(units, size))
