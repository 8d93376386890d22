"""Pods by node after the last cycle: resources taken on every node, and requests of pending pods."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from muster.render.answer import Answer
from scheduler_core.cycle.effects import Effects
from scheduler_core.model.nodes import CPU, EPHEMERAL, MEMORY, PODS, Bools, Ints, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.profile import Profile

_SHAPES = 64
"""Limit of pod shapes that are tested against closed nodes."""


class State(enum.StrEnum):
    """Role of a pod on a node in this simulation."""

    RUNNING = "running"
    VICTIM = "leaving"
    PLACED = "placed"
    NOMINATED = "promised"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class FinalPlacement:
    """The cluster after the last cycle.

    Attributes:
        nodes: its nodes.
        pods: every pod of the snapshot by ``namespace/name``.
        seats: the pods on each node by index, with their state: running ones first.
        used: shape (resources, nodes) for each state.
        closed: shape (nodes,): True if no pending pod can run there, with any free capacity.
        pending: pods that have no node in the end.
        evicted: pods evicted in earlier cycles.

    """

    nodes: NodeTable
    pods: Mapping[str, PodRecord]
    seats: Mapping[int, list[tuple[State, PodRecord]]]
    used: Mapping[State, Ints]
    closed: Bools
    pending: tuple[PodRecord, ...]
    evicted: frozenset[str]

    @property
    def free(self) -> Ints:
        """Return the free capacity, shape (resources, nodes); victims of the last cycle still use theirs."""
        taken = self.used[State.RUNNING] + self.used[State.VICTIM] + self.used[State.PLACED]
        return np.maximum(self.nodes.allocatable - taken, 0)


def locate_pods(snapshot: ClusterSnapshot, answer: Answer, profile: Profile) -> FinalPlacement:
    """Return all pods by node."""
    nodes, pods = snapshot.nodes, {pod.key: pod for pod in snapshot.pods}
    # Victims of the last cycle are still on their nodes, and only its nominations are used.
    *earlier, last = [Effects(nodes, cycle) for cycle in answer.cycles()] or [Effects(nodes)]
    evicted = frozenset(pod for each in earlier for pod in each.victims)
    placed = {pod: node for each in (*earlier, last) for pod, node in each.placed.items()}
    seats: dict[int, list[tuple[State, PodRecord]]] = {}
    for pod in snapshot.pods:
        if pod.key in evicted:
            continue
        state, place = State.RUNNING, pod.node
        if pod.key in placed:
            state, place = State.PLACED, placed[pod.key]
        elif pod.key in last.nominated:
            state, place = State.NOMINATED, last.nominated[pod.key]
        if place >= 0:
            seats.setdefault(place, []).append((State.VICTIM if pod.key in last.victims else state, pod))
    pending = tuple(pods[key] for key, _ in answer.pending if key in pods)
    waited = {pods[key].shape for key in placed if key in pods} | {pod.shape for pod in pending}
    return FinalPlacement(nodes, pods, seats, _used(nodes, seats), _closed(nodes, profile, waited), pending, evicted)


def _used(nodes: NodeTable, seats: Mapping[int, list[tuple[State, PodRecord]]]) -> dict[State, Ints]:
    counts = Counter((state, pod.shape, node) for node, taken in seats.items() for state, pod in taken)
    used: dict[State, Ints] = {state: np.zeros_like(nodes.allocatable) for state in State}
    for (state, shape, node), count in counts.items():
        for row, amount in shape.requests:
            used[state][row, node] += amount * count
    return used


def _closed(nodes: NodeTable, profile: Profile, waited: Iterable[PodShape]) -> Bools:
    shapes = sorted(waited, key=lambda shape: shape.serial)[:_SHAPES]
    if not shapes:
        return nodes.unschedulable
    closed: Bools = np.ones(len(nodes), dtype=bool)
    for shape in shapes:
        mask = profile.compile(shape).mask
        if mask is None:
            return np.zeros(len(nodes), dtype=bool)
        closed &= ~mask
    return closed


def resources(final: FinalPlacement, placed: Iterable[PodRecord]) -> tuple[int, ...]:
    """Return the rows of the resources to show, the scarcest for pending pods first; if none is pending, for the pods *placed*.

    Requested resources are first, then cpu, memory and all devices.  Scarcity is demand divided by free capacity.
    """
    nodes = final.nodes
    demand: Ints = np.zeros(len(nodes.resources), dtype=np.int64)
    for pod in final.pending or tuple(placed):
        for row, amount in pod.shape.requests:
            demand[row] += amount
    free, whole = final.free.sum(axis=1), nodes.allocatable.sum(axis=1)
    scarcity = {row: float(demand[row]) / max(1.0, float(free[row])) for row in range(len(nodes.resources))}
    taken = {row: 1 - float(free[row]) / max(1.0, float(whole[row])) for row in range(len(nodes.resources))}
    unusual = {EPHEMERAL, PODS, *nodes.limit_rows, *nodes.volume_rows, *nodes.counted, *(nodes.row[name] for name in nodes.backed)}
    usual = {row for row in scarcity if row in {CPU, MEMORY} or (row not in unusual and whole[row])}
    requested = {row for row in scarcity if demand[row] and (row not in unusual - {EPHEMERAL} or scarcity[row] >= 1)}
    # Without any demand, the most used resource is first.
    return tuple(sorted(usual | requested, key=lambda row: (row not in requested, -scarcity[row], -taken[row], row)))
