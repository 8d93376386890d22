"""VolumeBinding: filters by the persistent volume claims of a pod that are bound; other claims exclude all nodes."""

from __future__ import annotations

import numpy as np

from scheduler_core.model import selectors
from scheduler_core.model.pods import PodShape
from scheduler_core.model.volumes import ClaimState
from scheduler_core.plugins.base import ClusterEvent, Filters, StaticPlugin

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_PRE_FILTER = (
    # VolumeRestrictions is called first and needs every claim.
    {ClaimState.MISSING: 'persistentvolumeclaim "{claim}" not found'},
    {
        ClaimState.LOST: 'persistentvolumeclaim "{claim}" bound to non-existent persistentvolume "{volume}"',
        ClaimState.DELETING: 'persistentvolumeclaim "{claim}" is being deleted',
    },
    {ClaimState.UNBOUND: "pod has unbound immediate PersistentVolumeClaims"},
)
"""Reasons by state, in kube-scheduler's order; of the claims with a state in one entry, the first of the pod gives the reason."""


class VolumeBinding(StaticPlugin):
    """State of the claims, and node affinity of the bound volumes."""

    name = "VolumeBinding"
    events = frozenset({ClusterEvent.NODE, ClusterEvent.VOLUME})

    def pre_filter(self, shape: PodShape) -> str:
        """Return the reason why a claim excludes all nodes; empty if none does."""
        for texts in _PRE_FILTER:
            for need in shape.volumes:
                if need.state in texts:
                    return texts[need.state].format(claim=need.claim, volume=need.volume)
        return ""

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter if a bound claim has no volume, and one if a volume has node affinity."""
        filters: Filters = []
        if any(need.state is ClaimState.VOLUME_MISSING for need in shape.volumes):
            filters.append((NO_VOLUME, np.zeros(len(self.nodes), dtype=bool)))
        masks = [selectors.node_mask(need.affinity, self.nodes, named=False) for need in shape.volumes if need.affinity is not None]
        if masks:
            filters.append((NODE_CONFLICT, np.logical_and.reduce(masks)))
        return filters
