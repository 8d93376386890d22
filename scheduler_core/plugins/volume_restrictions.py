"""VolumeRestrictions: two pods cannot use one ReadWriteOncePod claim, and two pods on a node cannot use one inline disk.

Inline disks are those of gcePersistentDisk, awsElasticBlockStore, iscsi and rbd; pods that only read a disk can share it, except an EBS
volume.  Only claims and disks that several pods name are compared (model.volume_users).
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Bools, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.plugins.base import ClusterEvent, Filters, StatefulPlugin

IN_USE = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
DISK_CONFLICT = "node(s) had no available disk"


class VolumeRestrictions(StatefulPlugin):
    """Claims and disks of the counted pods that an incoming pod uses too."""

    name = "VolumeRestrictions"
    events = frozenset({ClusterEvent.NODE, ClusterEvent.VOLUME, ClusterEvent.POD})
    searched = True

    @classmethod
    def used_by(cls, shape: PodShape) -> bool:
        """Return whether pods of *shape* name a volume that another pod names too."""
        return shape.named_volumes

    def touches(self, pod: PodRecord) -> bool:
        """Return whether *pod* names a claim or a disk that another pod names too."""
        return bool(pod.named_volumes.claims or pod.named_volumes.disks)

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:  # noqa: ARG002 - it counts all nodes
        """Return the filters that apply to *pod*, in kube-scheduler's order."""
        filters: Filters = []
        named, volumes = pod.named_volumes, self.counts.volumes
        if named.disks:
            blocked = np.array(sorted(volumes.nodes_in_conflict(named.disks)), dtype=np.int64)
            passing: Bools = ~np.isin(nodes, blocked)
            filters.append((DISK_CONFLICT, passing))
        if named.claims:
            filters.append((IN_USE, np.full(len(nodes), not volumes.in_use(pod), dtype=bool)))
        return filters

    def skips(self, pod: PodRecord) -> bool:
        """Return whether *pod* has no inline disk, and no pod uses its claims."""
        return not pod.named_volumes.disks and not self.counts.volumes.in_use(pod)

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """Return whether the two pods name the same claim or disk."""
        one, two = pod.named_volumes, other.named_volumes
        if pod.namespace == other.namespace and not set(one.claims).isdisjoint(two.claims):
            return True
        return any(disk.conflicts(other) for disk in one.disks for other in two.disks)
