"""Small cluster for selecting victims: nodes, pods and groups, and a simple placer."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kubeapi.groups import CompositePodGroup, CompositePodGroupSpec, Group, PodGroup, PodGroupSpec
from kubeapi.meta import Empty, ObjectMeta, replaced
from kubeapi.selectors import LabelSelector
from kubeapi.workloads import DisruptionMode
from scheduler_core.causes.attempts import Feasibility
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import CPU, MEMORY, PODS, NodeTable
from scheduler_core.model.pods import PodRecord, PodShape, Port
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Topology
from scheduler_core.plugins.node_ports import conflict
from scheduler_core.preemption.units.preemption_units import Units

CASES = json.loads((Path(__file__).parents[2] / "cases" / "preemption.json").read_text(encoding="utf-8"))

_MODES = {"all": DisruptionMode(all=Empty()), "single": DisruptionMode(single=Empty()), "": None}
_shapes: dict[tuple[int, int, tuple[Port, ...]], PodShape] = {}


def cases(kind: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["kind"] == kind]


def shape(cpu: int, memory: int = 0, ports: tuple[Port, ...] = ()) -> PodShape:
    key = (cpu, memory, ports)
    if key not in _shapes:
        amounts = [(row, amount) for row, amount in ((CPU, cpu), (MEMORY, memory), (PODS, 1)) if amount]
        _shapes[key] = PodShape(len(_shapes), tuple(amounts), (cpu or 100, memory or 200_000_000), ports=ports)
    return _shapes[key]


def pod(
    name: str,
    node: int = -1,
    priority: int = 0,
    cpu: int = 1000,
    *,
    memory: int = 0,
    ports: tuple[Port, ...] = (),
    group: str = "",
    started: str = "",
    labels: Mapping[str, str] | None = None,
    **fields: Any,
) -> PodRecord:
    namespace = fields.pop("namespace", "default")
    record = PodRecord(
        key=f"{namespace}/{name}",
        namespace=namespace,
        shape=shape(cpu, memory, ports),
        labels=labels or {},
        priority=priority,
        node=node,
        group=group,
        scheduler="default-scheduler",
        preempts=True,
        created="",
        started=started,
        terminating=False,
        gates=(),
        nominated=-1,
    )
    return replaced(record, **fields)


def leaf(name: str, mode: str = "", parent: str | None = None, namespace: str = "default") -> PodGroup:
    spec = PodGroupSpec(disruption_mode=_MODES[mode], parent_composite_pod_group_name=parent)
    return PodGroup(ObjectMeta(name=name, namespace=namespace), spec)


def composite(name: str, mode: str = "", parent: str | None = None, namespace: str = "default") -> CompositePodGroup:
    spec = CompositePodGroupSpec(disruption_mode=_MODES[mode], parent_composite_pod_group_name=parent)
    return CompositePodGroup(ObjectMeta(name=name, namespace=namespace), spec)


def units_of(pods: Iterable[PodRecord], groups: Iterable[Group] = (), priorities: Mapping[str, int] | None = None) -> Units:
    """Return the units; *priorities* are by name of group, 0 if absent."""
    groups = tuple(groups)
    result = {(group.kind, "default", group.metadata.name): (priorities or {}).get(group.metadata.name, 0) for group in groups}
    return Units(pods, groups, result)


def budget(
    name: str, allowed: int, labels: Mapping[str, str] | None = None, *, disrupted: Iterable[str] = (), **fields: Any
) -> DisruptionBudget:
    selector = None if labels is None else LabelSelector(match_labels=dict(labels))
    plain = DisruptionBudget("default", name, selector, allowed, frozenset(disrupted))
    return replaced(plain, **fields)


def node_table(cpus: Sequence[int], pods: int = 110, memory: int = 0) -> NodeTable:
    allocatable = np.zeros((4, len(cpus)), dtype=np.int64)
    allocatable[CPU] = cpus
    allocatable[MEMORY] = memory
    allocatable[PODS] = pods
    names = [f"node-{index:02}" for index in range(len(cpus))]
    resources = ("cpu", "memory", "ephemeral-storage", "pods")
    return NodeTable(names, [{}] * len(cpus), [()] * len(cpus), [False] * len(cpus), resources, allocatable)


def ledger_of(nodes: NodeTable, pods: Iterable[PodRecord]) -> Ledger:
    ledger = Ledger(Topology(nodes))
    ledger.bind(each for each in pods if each.node >= 0)
    return ledger


def root(*waiting: PodRecord, priority: int = 100, minimum: int = 0, preempts: bool = True) -> Entity:
    """Return a gang of all of *waiting*, or with *minimum* fewer."""
    name = Name("PodGroup", "default", "preemptor")
    return Entity(name, minimum or len(waiting), True, "", priority, preempts, "", (), waiting)


@dataclasses.dataclass(frozen=True)
class Outcome:
    status: Status
    reason: Feasibility | None
    assigned: tuple[tuple[PodRecord, int], ...]


class FirstFit:
    """Placer that puts the pods of a leaf one by one on the first node with capacity, and records removed pods.

    A pod with the label ``apart`` does not share a node with a pod whose label ``app`` has that value; one with the label
    ``alone`` does not share the cluster with it.
    """

    def __init__(self, ledger: Ledger, pods: Iterable[PodRecord] = ()) -> None:
        self.ledger = ledger
        self.running = {each.key: each for each in pods if each.node >= 0}
        self.away: set[str] = set()
        self.asked = 0

    def place(self, entity: Entity) -> Outcome:
        results: list[tuple[PodRecord, int]] = []
        for each in entity.waiting:
            node = next((node for node in self.ledger.topology.nodes.everything.tolist() if self._fits(each, node, results)), -1)
            if node >= 0:
                results.append((each, node))
        if len(results) < entity.minimum:
            return Outcome(Status.UNSCHEDULABLE, Feasibility(Status.UNSCHEDULABLE, entity.minimum, len(results), 0, composite=False), ())
        return Outcome(Status.SUCCESS, None, tuple(results))

    def may_affect(self, pods: Sequence[PodRecord], proposed: Sequence[tuple[PodRecord, int]]) -> bool:
        apps = {each.labels.get(label) for each, _ in proposed for label in ("apart", "alone")} - {None}
        return any(each.labels.get("app") in apps for each in pods)

    def move(self, pods: Sequence[PodRecord], *, away: bool) -> None:
        keys = {each.key for each in pods}
        assert not (keys & self.away if away else keys - self.away)
        self.away = self.away | keys if away else self.away - keys

    def passes_filters(self, proposed: Sequence[tuple[PodRecord, int]]) -> bool:
        self.asked += 1
        here = {(each.node, each.labels.get("app")) for key, each in self.running.items() if key not in self.away}
        apps = {app for _, app in here}
        return not any((node, each.labels.get("apart", "-")) in here or each.labels.get("alone", "-") in apps for each, node in proposed)

    def _fits(self, candidate: PodRecord, node: int, found: Sequence[tuple[PodRecord, int]]) -> bool:
        there = [each for each, where in found if where == node]
        if conflict(candidate.shape.ports, [*self.ledger.ports.get(node, ()), *itertools.chain(*(each.shape.ports for each in there))]):
            return False
        if not self.passes_filters([(candidate, node)]):
            return False
        table = self.ledger.topology.nodes
        for row, amount in candidate.shape.requests:
            used = self.ledger.used[row, node] + self.ledger.held[row, node] + sum(dict(each.shape.requests).get(row, 0) for each in there)
            if used + amount > table.allocatable[row, node]:
                return False
        return True


def names(pods: Iterable[PodRecord]) -> list[str]:
    return [each.name for each in pods]
