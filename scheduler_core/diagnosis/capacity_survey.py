"""Survey of the capacity of nodes: used, free and unusable amounts, and the groups whose pods run there.

Free capacity is unusable if no new pod can use it: the node is cordoned, Kubernetes has tainted it (not ready, under pressure), or its
cpu, memory or pod slots are used up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from kubeapi.base_structs import Record
from kubeapi.nodes import Taint
from scheduler_core.causes.node_states import UnusableCapacity
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import CPU, EPHEMERAL, MEMORY, PODS, Bools, Ints, NodeTable
from scheduler_core.model.snapshot import ClusterSnapshot

_OF_KUBERNETES = "node.kubernetes.io"
"""Prefix of the taints that Kubernetes sets by the conditions of a node."""
_HARD = frozenset({"NoSchedule", "NoExecute"})
_EXHAUSTIBLE = (CPU, MEMORY, PODS)
"""Resources without which a node takes no more pods, whatever else is free."""
WITHOUT_GROUP = Name("", "", "")
"""Key of the pods without a group."""


class SurveyedAmount(Record, frozen=True):
    """Amounts of one resource: in millicores, bytes or units.  Used, free and unusable are the capacity, unless more is used."""

    resource: str
    capacity: int
    used: int
    free: int
    unusable: int


class CapacitySurvey:
    """Capacity of the nodes of a snapshot.

    Attributes:
        rows: resources that some node has, by their rows: cpu, memory, devices by name, ephemeral storage, pod slots.
        closed: shape (nodes,): True if the free capacity of the node is unusable.

    """

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._nodes = nodes = snapshot.nodes
        self._used: Ints = np.zeros_like(nodes.allocatable)
        self._groups: dict[int, Counter[Name]] = {}
        running = Counter((pod.shape, pod.node) for pod in snapshot.pods if pod.node >= 0)
        for (shape, node), count in running.items():
            for row, amount in shape.requests:
                self._used[row, node] += amount * count
        for pod in snapshot.pods:
            if pod.node >= 0:
                group = Name("PodGroup", pod.namespace, pod.group) if pod.group else WITHOUT_GROUP
                self._groups.setdefault(pod.node, Counter())[group] += 1
        self._free: Ints = np.maximum(nodes.allocatable - self._used, 0)
        self._full: Bools = (self._free[list(_EXHAUSTIBLE)] == 0).any(axis=0)
        tainted = np.array([any(map(_is_closing, taints)) for taints in nodes.taints], dtype=bool)
        self.closed: Bools = nodes.unschedulable | tainted | self._full
        self.rows = tuple(_rows(nodes))

    @property
    def resources(self) -> tuple[str, ...]:
        """Return the names of the resources, in the order of ``rows``."""
        return tuple(self._nodes.resources[row] for row in self.rows)

    def amounts(self, nodes: Sequence[int]) -> tuple[SurveyedAmount, ...]:
        """Return the sums over *nodes*, in the order of ``rows``."""
        chosen = np.array(nodes, dtype=np.int64)
        rows = list(self.rows)
        capacity, used, free = (each[rows][:, chosen] for each in (self._nodes.allocatable, self._used, self._free))
        unusable = free[:, self.closed[chosen]].sum(axis=1).tolist()
        sums = zip(
            self.resources, capacity.sum(axis=1).tolist(), used.sum(axis=1).tolist(), free.sum(axis=1).tolist(), unusable, strict=True
        )
        return tuple(SurveyedAmount(name, whole, taken, left - shut, shut) for name, whole, taken, left, shut in sums)

    def groups(self, nodes: Sequence[int]) -> Counter[Name]:
        """Return the number of running pods of each group on *nodes*."""
        total: Counter[Name] = Counter()
        for node in nodes:
            total.update(self._groups.get(node, ()))
        return total

    def unusable(self, node: int) -> UnusableCapacity | None:
        """Return why the free capacity of *node* is unusable; None if it is usable."""
        if not self.closed[node]:
            return None
        taints = tuple(each.key for each in self._nodes.taints[node] if _is_closing(each))
        exhausted = tuple(self._nodes.resources[row] for row in _EXHAUSTIBLE if self._free[row, node] == 0)
        return UnusableCapacity(bool(self._nodes.unschedulable[node]), taints, exhausted)


def _is_closing(taint: Taint) -> bool:
    return taint.effect in _HARD and taint.key.partition("/")[0] == _OF_KUBERNETES


def _rows(nodes: NodeTable) -> Iterator[int]:
    """Yield the rows of resources that some node has; not those that count volumes, or stand for devices."""
    hidden = {*nodes.limit_rows, *nodes.volume_rows, *(nodes.row[name] for name in nodes.backed)}
    devices = sorted((row for row in range(PODS + 1, len(nodes.resources)) if row not in hidden), key=nodes.resources.__getitem__)
    for row in (CPU, MEMORY, *devices, EPHEMERAL, PODS):
        if nodes.allocatable[row].any():
            yield row
