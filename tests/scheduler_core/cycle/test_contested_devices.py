"""A root that evicts pods for devices is placed in the next cycle, if nothing else changes."""

from __future__ import annotations

import dataclasses

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from tests.sampling import sampled
from tests.scheduler_core.builders import Json
from tests.scheduler_core.cycle.contested_devices import Contested
from tests.scheduler_core.cycle.test_second_cycle import after

COMPLETE = CycleOptions(strategy="complete", budget=100_000)
CHUNKS = 10
SEEDS = (530, 544, 561, 730, 841, 1046, 1224, 3472, 3946)
"""Clusters in which little is missing, or much must be known, to hold the right devices."""


def started(seed: int) -> tuple[list[Json], list[Json]]:
    """Return a cluster in which pods of low priority run, and the roots that come then."""
    contested = Contested(seed)
    objects = [*contested.objects, *contested.running]
    objects = after(objects, run_cycle(load(objects), COMPLETE).decisions)
    return [each for each in objects if each["kind"] != "Pod" or each["spec"].get("nodeName")], contested.roots


def cycles(objects: list[Json]) -> tuple[dict[Name, Decision], dict[Name, Decision]]:
    """Return the decisions of a cycle, and of the next one if it evicted pods."""
    decisions = run_cycle(load(objects), dataclasses.replace(COMPLETE, evict=True)).decisions
    first: dict[Name, Decision] = {}
    for each in decisions:
        if each.root in first:
            break
        first[each.root] = each
    return first, {each.root: each for each in decisions[len(first) :]}


def is_overtaken(root: Name, priority: dict[str, int], first: dict[Name, Decision], second: dict[Name, Decision]) -> bool:
    """Return whether a root of higher priority has places in the second cycle that it did not have in the first."""
    return any(
        priority[each.root.name] > priority[root.name] and {*each.assignments, *each.nominations} - {*first[each.root].nominations}
        for each in second.values()
    )


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_root_is_placed_when_its_victims_are_gone(chunk: int):
    preempting = 0
    for seed in (*range(chunk, sampled(3_000, share=10), CHUNKS), *SEEDS[chunk::CHUNKS]):
        objects, roots = started(seed)
        priority = {each["metadata"]["name"]: each["spec"]["priority"] for each in roots}
        first, second = cycles([*objects, *roots])
        for decision in (each for each in first.values() if each.victims):
            preempting += 1
            placed = {*decision.nominations} <= {*second[decision.root].assignments}
            assert placed or is_overtaken(decision.root, priority, first, second), (seed, decision, second[decision.root])
    assert preempting
