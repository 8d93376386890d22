"""Steps applied to a snapshot: the same snapshot as loading the changed objects would make, but for the problems told."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scheduler_core.decision import Step
from scheduler_core.intake.gather import Found, gather
from scheduler_core.intake.groups_in import completed, group_priorities, read_kind
from scheduler_core.intake.nodes_in import node_table, read_nodes
from scheduler_core.intake.pods_in import Records, read_pods
from scheduler_core.intake.priority import Priorities
from scheduler_core.nodes import NodeTable
from scheduler_core.pods import PodRecord
from scheduler_core.snapshot import ClusterSnapshot, Problem
from validators.lookup import KnownObjects
from validators.model.cluster import Node, PriorityClass
from validators.model.group import CompositePodGroup, Group, PodGroup
from validators.model.objects import Object, namespace_of
from validators.model.workload import Workload

_KNOWN = ("PodGroup", "CompositePodGroup", "Workload", "PriorityClass", "Node")


def applied(snapshot: ClusterSnapshot, steps: Sequence[Step]) -> ClusterSnapshot:
    """*snapshot* once *steps* are applied: nodes, pods, groups and Workloads replaced or added, pods deleted."""
    found, _ = gather([step.apply for step in steps if step.apply is not None])
    gone = {f"{step.delete['namespace']}/{step.delete['name']}" for step in steps if step.delete is not None}
    if gone:
        snapshot = dataclasses.replace(snapshot, pods=tuple(pod for pod in snapshot.pods if pod.key not in gone))
    if found["Node"]:
        snapshot = _with_nodes(snapshot, found["Node"])
    if any(found[kind] for kind in ("PodGroup", "CompositePodGroup", "Workload")):
        snapshot = _with_groups(snapshot, found)
    return _with_pods(snapshot, found["Pod"]) if found["Pod"] else snapshot


def without(snapshot: ClusterSnapshot, groups: Iterable[tuple[str, str, str]], pods: Iterable[str]) -> ClusterSnapshot:
    """*snapshot* without some groups, by kind, namespace and name, and some pods, by ``namespace/name``."""
    fewer, leaving = set(groups), set(pods)
    kept = tuple(each for each in snapshot.groups if _name(each) not in fewer)
    changed = dataclasses.replace(snapshot, pods=tuple(pod for pod in snapshot.pods if pod.key not in leaving))
    return changed if not fewer else dataclasses.replace(changed, groups=kept, known=_known(snapshot, kept, {}))


def _with_groups(snapshot: ClusterSnapshot, found: Mapping[str, list[Found]]) -> ClusterSnapshot:
    problems: list[Problem] = []
    priorities = _priorities(snapshot)
    leaves = read_kind(found["PodGroup"], PodGroup, problems).good
    composites = read_kind(found["CompositePodGroup"], CompositePodGroup, problems).good
    workloads = read_kind(found["Workload"], Workload, problems).good
    both: tuple[Group, ...] = (*leaves, *composites)
    changed = {_name(group): group for group in both}
    groups = completed([*(group for group in snapshot.groups if _name(group) not in changed), *changed.values()], priorities, problems)
    known = _known(snapshot, groups, {_name(workload): workload for workload in workloads})
    return dataclasses.replace(snapshot, groups=groups, priorities=group_priorities(groups, priorities), known=known)


def _known(snapshot: ClusterSnapshot, groups: Iterable[Group], changed: Mapping[tuple[str, str, str], Object]) -> KnownObjects:
    """What the rules know, groups and whatever else is *changed* first: of two of one name the first counts."""
    others = [each for kind in _KNOWN for each in snapshot.known.everything(kind) or ()]
    rest = [each for each in others if not isinstance(each, (PodGroup, CompositePodGroup)) and _name(each) not in changed]
    return KnownObjects((*groups, *changed.values(), *rest), complete=False)


def _with_pods(snapshot: ClusterSnapshot, found: list[Found]) -> ClusterSnapshot:
    problems: list[Problem] = []
    before = {pod.key: pod for pod in snapshot.pods}
    records = Records(snapshot.nodes, _priorities(snapshot), problems)
    serials = 1 + max((pod.shape.serial for pod in snapshot.pods), default=0)
    shapes: dict[int, PodRecord] = {}
    for draft in read_pods(found, snapshot.nodes.index, problems):
        record = records.record(draft)
        first = shapes.setdefault(id(record.shape), record)
        if first is record:
            shape = dataclasses.replace(record.shape, serial=serials + record.shape.serial)
            shapes[id(record.shape)] = first = dataclasses.replace(record, shape=shape)
        known = before.get(record.key)
        # A pod of v1alpha1 names a Workload, and its group was made for it.
        before[record.key] = dataclasses.replace(record, shape=first.shape, group=known.group if known else record.group)
    return dataclasses.replace(snapshot, pods=tuple(before[key] for key in sorted(before)))


def _with_nodes(snapshot: ClusterSnapshot, found: list[Found]) -> ClusterSnapshot:
    problems: list[Problem] = []
    read = read_nodes(found, problems)
    more = node_table(read, snapshot.nodes.resources, problems)
    table, moved = _joined(snapshot.nodes, more)
    pods = tuple(_renumbered(pod, moved) for pod in snapshot.pods)
    nodes: dict[tuple[str, str, str], Object] = {("Node", "", name): Node(each.node.metadata) for name, each in read.items()}
    return dataclasses.replace(snapshot, nodes=table, pods=pods, known=_known(snapshot, snapshot.groups, nodes))


def _renumbered(pod: PodRecord, moved: Sequence[int]) -> PodRecord:
    node = moved[pod.node] if pod.node >= 0 else -1
    nominated = moved[pod.nominated] if pod.nominated >= 0 else -1
    if (node, nominated) == (pod.node, pod.nominated):
        return pod
    # Field by field: there are many pods, and replacing by name takes four times as long.
    who, what = (pod.key, pod.namespace, pod.name, pod.shape, pod.labels, pod.priority), (pod.group, pod.scheduler, pod.preempts)
    return PodRecord(*who, node, *what, pod.created, pod.started, pod.terminating, pod.gates, nominated)


def _joined(nodes: NodeTable, more: NodeTable) -> tuple[NodeTable, list[int]]:
    """*nodes* with *more*, which count where both have one of a name; and where each of *nodes* is now."""
    new = set(more.names)
    kept = [index for index, name in enumerate(nodes.names) if name not in new]
    places = sorted(
        [*((nodes.names[index], False, index) for index in kept), *((name, True, index) for index, name in enumerate(more.names))]
    )
    rows = np.array([more.row[name] for name in nodes.resources], dtype=np.int64)
    both = np.concatenate((nodes.allocatable, more.allocatable[rows]), axis=1)
    order = [index + len(nodes) if fresh else index for _, fresh, index in places]
    tables = [(more if fresh else nodes, index) for _, fresh, index in places]
    table = NodeTable(
        [name for name, _, _ in places],
        [each.labels[index] for each, index in tables],
        [each.taints[index] for each, index in tables],
        [bool(each.unschedulable[index]) for each, index in tables],
        nodes.resources,
        both[:, order],
    )
    return table, [table.index[name] for name in nodes.names]


def _priorities(snapshot: ClusterSnapshot) -> Priorities:
    return Priorities(each for each in snapshot.known.everything("PriorityClass") or () if isinstance(each, PriorityClass))


def _name(named: Object) -> tuple[str, str, str]:
    return named.kind, namespace_of(named), named.metadata.name
