"""Volumes of assigned pods by node, for the plugins that compare volumes by name."""

from __future__ import annotations

from collections import Counter

import numpy as np

from scheduler_core.model.nodes import Ints, NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.volume_users import VolumeKey


class VolumeCounts:
    """Volumes that count against limits of the nodes.

    Attributes:
        sharing: number of known pods that share a volume, by CSI driver.

    """

    def __init__(self, nodes: NodeTable) -> None:
        self.sharing: Counter[str] = Counter()
        self._nodes = nodes
        self._own: dict[int, Counter[int]] = {row: Counter() for row in nodes.limit_rows}
        self._shared: dict[int, Counter[VolumeKey]] = {}

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
        if pod.named_volumes.shared:
            shared = self._shared.setdefault(node, Counter())
            for volume in pod.named_volumes.shared:
                shared[volume] += amount
                if not shared[volume]:
                    del shared[volume]

    def attached(self, row: int) -> Ints:
        """Return the volumes of the driver of *row* on each node that have no VolumeAttachment; shape (all nodes,)."""
        driver, table, own = self._nodes.limit_rows[row], self._nodes, self._own[row]
        counts: Ints = np.zeros(len(table), dtype=np.int64)
        counts[list(own.keys())] = list(own.values())
        for node, shared in self._shared.items():
            with_attachment = table.attach.attached(table.names[node])
            counts[node] += sum(volume[0] == driver and volume not in with_attachment for volume in shared)
        return counts

    def present(self, volumes: set[VolumeKey]) -> dict[int, int]:
        """Return how many of the shared *volumes* a pod on the node uses already, by node."""
        found = ((node, len(volumes & shared.keys())) for node, shared in self._shared.items())
        return {node: count for node, count in found if count}
