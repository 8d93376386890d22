"""Volumes of assigned pods by node, for the plugins that compare volumes by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from scheduler_core.model.nodes import Ints, NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.volume_users import Disk, VolumeKey

T = TypeVar("T")


class VolumeCounts:
    """Volumes that count against limits of the nodes, ReadWriteOncePod claims and inline disks.

    Attributes:
        sharing: number of known pods that share a volume, by CSI driver.
        shared: volumes of counted pods that other pods share, with the number of these pods, by node.
        disks: the same of inline disks.

    """

    def __init__(self, nodes: NodeTable) -> None:
        self.sharing: Counter[str] = Counter()
        self._nodes = nodes
        self._own: dict[int, Counter[int]] = {row: Counter() for row in nodes.limit_rows}
        self.shared: dict[int, Counter[VolumeKey]] = {}
        self._claims: Counter[tuple[str, str]] = Counter()
        self.disks: dict[int, Counter[Disk]] = {}

    @property
    def limited(self) -> bool:
        """Return whether requests of pods count against limits of volumes."""
        return bool(self._own)

    def know(self, pod: PodRecord, amount: int) -> None:
        """Record that *pod* is known, or with *amount* -1 that it is not known any more."""
        for driver, _ in pod.named_volumes.shared:
            self.sharing[driver] += amount

    def count(self, pod: PodRecord, node: int, amount: int) -> None:
        """Count the volumes of *pod* on *node*, or (*amount* -1) stop counting them there."""
        if self._own:
            for row, requested in pod.shape.requests:
                if row in self._own:
                    self._own[row][node] += amount * requested
        if named := pod.named_volumes:
            _add(self.shared, node, named.shared, amount)
            _add(self.disks, node, named.disks, amount)
            for claim in named.claims:
                self._claims[pod.namespace, claim] += amount

    def in_use(self, pod: PodRecord) -> bool:
        """Return whether a counted pod uses a ReadWriteOncePod claim of *pod*."""
        return any(self.users(pod.namespace, claim) for claim in pod.named_volumes.claims)

    def users(self, namespace: str, claim: str) -> int:
        """Return how many counted pods use a ReadWriteOncePod claim."""
        return self._claims[namespace, claim]

    def nodes_in_conflict(self, disks: Iterable[Disk]) -> list[int]:
        """Return the nodes with a pod that uses a disk in conflict with one of *disks*."""
        return [node for node, there in self.disks.items() if any(disk.conflicts(other) for disk in disks for other in there)]

    def attached(self, row: int) -> Ints:
        """Return the volumes of the driver of *row* on each node that have no VolumeAttachment; shape (all nodes,)."""
        driver, table, own = self._nodes.limit_rows[row], self._nodes, self._own[row]
        counts: Ints = np.zeros(len(table), dtype=np.int64)
        counts[list(own.keys())] = list(own.values())
        for node, shared in self.shared.items():
            with_attachment = table.attach.attached(table.names[node])
            counts[node] += sum(volume[0] == driver and volume not in with_attachment for volume in shared)
        return counts

    def present(self, volumes: set[VolumeKey]) -> dict[int, int]:
        """Return how many of the shared *volumes* a pod on the node uses already, by node."""
        found = ((node, len(volumes & shared.keys())) for node, shared in self.shared.items())
        return {node: count for node, count in found if count}


def _add(counts: dict[int, Counter[T]], node: int, each_of: Iterable[T], amount: int) -> None:
    for each in each_of:
        there = counts.setdefault(node, Counter())
        there[each] += amount
        if not there[each]:
            del there[each]
