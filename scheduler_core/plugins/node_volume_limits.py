"""NodeVolumeLimits: filters by the CSI drivers of a node and the number of volumes that it can attach.

A volume that only one pod uses is one unit of a row of the node table (model.attach_limits), which NodeResources compares.  Here are the
CSI drivers that a node must have, and the volumes that pods share.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model.attach_limits import row_name
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.base import ClusterEvent, Filters, StatefulPlugin, StaticPlugin

MAX_VOLUMES = "node(s) exceed max volume count"
NOT_INSTALLED = "{} CSI driver is not installed on the node"


class NodeVolumeLimits(StaticPlugin):
    """CSI drivers that a node must have: those whose CSIDriver has ``preventPodSchedulingIfMissing``."""

    name = "NodeVolumeLimits"
    events = frozenset({ClusterEvent.NODE, ClusterEvent.VOLUME})

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter for each of these drivers."""
        drivers = sorted({need.driver for need in shape.volumes} - {""})
        return [(NOT_INSTALLED.format(driver), self._with(driver)) for driver in drivers]

    def _with(self, driver: str) -> Bools:
        has_driver = self.nodes.attach.has_driver
        mask: Bools = np.fromiter((has_driver(name, driver) for name in self.nodes.names), dtype=bool, count=len(self.nodes))
        return mask


class SharedVolumeLimits(StatefulPlugin):
    """Limits of drivers with a volume that several pods use, or that is attached to a node before its pod is placed."""

    name = "NodeVolumeLimits"
    events = frozenset({ClusterEvent.NODE, ClusterEvent.VOLUME, ClusterEvent.POD})
    searched = True

    @classmethod
    def used_by(cls, shape: PodShape) -> bool:
        """Return whether *shape* has such a volume."""
        return shape.named_volumes

    def touches(self, pod: PodRecord) -> bool:
        """Return whether *pod* has a volume of a driver of which a known pod shares a volume."""
        sharing = self.counts.volumes.sharing
        return bool(pod.named_volumes.shared) or (bool(sharing) and any(sharing[driver] for driver in self._drivers(pod)))

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:  # noqa: ARG002 - a limit is about one node
        """Return one filter if *pod* has a volume of a driver with a limit."""
        volumes, table = self.counts.volumes, self.counts.nodes
        requests = dict(pod.shape.requests)
        passing: Bools = np.ones(len(nodes), dtype=bool)
        drivers = self._drivers(pod)
        for driver in drivers:
            row = table.row[row_name(driver)]
            shared = {volume for volume in pod.named_volumes.shared if volume[0] == driver}
            added: Ints = np.full(len(table), requests.get(row, 0) + len(shared), dtype=np.int64)
            for node, present in volumes.present(shared).items():
                added[node] -= present
            fits = (added == 0) | (volumes.attached(row) + added <= table.allocatable[row])
            passing &= fits[nodes]
        return [(MAX_VOLUMES, passing)] if drivers else []

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """Return whether both pods have volumes of a driver of which a pod shares a volume."""
        common = self._drivers(pod) & self._drivers(other)
        return any(self.counts.volumes.sharing[driver] for driver in common)

    def _drivers(self, pod: PodRecord) -> set[str]:
        """Return the drivers with a limit of the volumes of *pod*."""
        rows = self.counts.nodes.limit_rows
        return {rows[row] for row, _ in pod.shape.requests if row in rows} | {driver for driver, _ in pod.named_volumes.shared}
