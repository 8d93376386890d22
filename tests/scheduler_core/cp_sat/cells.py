"""Equivalence classes of pods and of nodes with respect to one tree of groups."""

from __future__ import annotations

import dataclasses
import json

from tests.scheduler_core.oracle.algorithm import queued
from tests.scheduler_core.oracle.fit import clash, host_ports, misfits
from tests.scheduler_core.oracle.model import Cluster, Group, Node, Pod

FILTERED = ("nodeSelector", "affinity", "tolerations")
"""Fields of a pod's spec by which nodes are filtered, in addition to requests and ports."""

Amounts = dict[str, int]


@dataclasses.dataclass(frozen=True)
class Cell:
    """Nodes with equal values of all keys that a tree names."""

    values: dict[str, str | None]
    """Label values, by key."""
    nodes: list[Node]


@dataclasses.dataclass(frozen=True)
class Shape:
    """Pods that are equal for every node.

    Attributes:
        pod: one of the pods.
        amounts: resources that each takes of a node, including one pod slot.

    """

    pod: Pod
    amounts: Amounts

    def clashes(self, other: Pod) -> bool:
        """Return true if both request a host port that only one can have."""
        return any(clash(mine, theirs) for mine in host_ports(self.pod) for theirs in host_ports(other))


def amounts_of(pod: Pod) -> Amounts:
    """Return the resources that *pod* takes of a node."""
    return {**{name: amount for name, amount in pod.requests.items() if amount > 0}, "pods": 1}


def cells(cluster: Cluster, root: Group) -> list[Cell]:
    """Return the nodes of *cluster*, grouped into cells of *root*."""
    keys = sorted({group.topology for group in root.walk() if group.topology})
    result: dict[tuple[str | None, ...], list[Node]] = {}
    for node in cluster.nodes.values():
        result.setdefault(tuple(node.labels.get(key) for key in keys), []).append(node)
    return [Cell(dict(zip(keys, values, strict=True)), nodes) for values, nodes in result.items()]


def shapes(cluster: Cluster, root: Group) -> dict[str, list[Shape]]:
    """Return the shape of each waiting pod, by name of its leaf, in the order of ``queued``; equal shapes are one object."""
    created: dict[str, Shape] = {}
    return {
        leaf.name: [created.setdefault(_signature(pod), Shape(pod, amounts_of(pod))) for pod in queued(leaf, cluster)]
        for leaf in root.leaves()
    }


def most(shape: Shape, node: Node, staying: list[Pod]) -> int:
    """Return the number of pods of *shape* that fit on *node* in addition to *staying*."""
    if misfits(shape.pod, node, staying):
        return 0
    used = [amounts_of(pod) for pod in staying]
    capacity = min(
        (node.allocatable.get(name, 0) - sum(each.get(name, 0) for each in used)) // amount for name, amount in shape.amounts.items()
    )
    return min(1, capacity) if host_ports(shape.pod) else capacity


def _signature(pod: Pod) -> str:
    filtered = {name: pod.spec.get(name) for name in FILTERED}
    return json.dumps([filtered, amounts_of(pod), host_ports(pod)], sort_keys=True)
