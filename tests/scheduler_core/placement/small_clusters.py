"""Nodes, shapes, pods, groups and placement states for tests of the engine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import CPU, MEMORY, PODS, NodeTable
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.state import PlacementState
from validators.object_lookup import NOTHING

GI = 2**30
_serials = itertools.count()


def table(sizes: Sequence[tuple[int, int]], racks: Sequence[str | None] = (), zones: Sequence[str | None] = ()) -> NodeTable:
    """Return nodes n0, n1, ... with these cores and GiB, each in a rack and a zone."""
    labels = []
    for number in range(len(sizes)):
        named = {"rack": racks[number] if racks else None, "zone": zones[number] if zones else None}
        labels.append({key: value for key, value in named.items() if value is not None})
    allocatable = np.array([[cpu * 1000, memory * GI, 0, 110] for cpu, memory in sizes], dtype=np.int64).T
    names = [f"n{number:03d}" for number in range(len(sizes))]
    resources = ("cpu", "memory", "ephemeral-storage", "pods")
    return NodeTable(names, labels, [()] * len(sizes), [False] * len(sizes), resources, allocatable)


def shape(milli: int = 1000, memory: int = GI) -> PodShape:
    """Return a new shape."""
    requests = tuple((row, amount) for row, amount in ((CPU, milli), (MEMORY, memory), (PODS, 1)) if amount)
    return PodShape(next(_serials), requests, (milli or 100, memory or 200 * 2**20))


def pods(prefix: str, shapes: Sequence[PodShape], node: int = -1, priority: int = 0) -> tuple[PodRecord, ...]:
    """Return pods of these shapes, in this order."""
    return tuple(
        PodRecord(f"d/{prefix}-{number}", "d", each, {}, priority, node, prefix, "s", True, "", "", False, (), -1)
        for number, each in enumerate(shapes)
    )


def gang(name: str, shapes: Sequence[PodShape], minimum: int, key: str = "", running: tuple[PodRecord, ...] = ()) -> Entity:
    """Return a gang with members of these shapes."""
    return Entity(Name("PodGroup", "d", name), minimum, True, key, 0, True, "", waiting=pods(name, shapes), running=running)


def composite(name: str, children: Sequence[Entity], minimum: int, key: str = "") -> Entity:
    """Return a gang of groups."""
    return Entity(Name("CompositePodGroup", "d", name), minimum, True, key, 0, True, "", children=tuple(children))


def state(nodes: NodeTable, running: tuple[PodRecord, ...] = (), options: PlacingOptions | None = None) -> PlacementState:
    """Return a placement state with only *running* pods."""
    return PlacementState.from_snapshot(ClusterSnapshot(nodes, running, (), {}, {}, (), NOTHING), options or PlacingOptions())
