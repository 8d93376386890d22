"""VolumeBinding, by the pod's shape: bound claims, claims whose volumes can be provisioned, and claims that exclude all nodes.

Claims whose volumes depend on the volumes of other pods are in ``volume_matching``.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model import selectors
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.storage import ClaimOptions
from scheduler_core.model.volumes import ClaimState
from scheduler_core.plugins.base import ClusterEvent, Filters, StaticPlugin, StaticScore
from scheduler_core.plugins.volume_picks import BIND_CONFLICT, NOT_ENOUGH_SPACE

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_PRE_FILTER = (
    # VolumeRestrictions is called first and needs every claim.
    {ClaimState.MISSING: 'persistentvolumeclaim "{claim}" not found'},
    {
        ClaimState.LOST: 'persistentvolumeclaim "{claim}" bound to non-existent persistentvolume "{volume}"',
        ClaimState.DELETING: 'persistentvolumeclaim "{claim}" is being deleted',
        ClaimState.NOT_CREATED: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "{claim}"',
        ClaimState.NOT_OWNED: "PVC {claim} was not created for pod {pod} (pod is not owner)",
    },
    {ClaimState.UNBOUND: "pod has unbound immediate PersistentVolumeClaims"},
)
"""Reasons by state, in kube-scheduler's order; of the claims with a state in one entry, the first of the pod gives the reason."""


_Claims = list[tuple[ClaimRequest, ClaimOptions]]


class VolumeBinding(StaticPlugin):
    """State of the claims, node affinity of the bound volumes, and provisioning (with StorageCapacityScoring)."""

    name = "VolumeBinding"
    weight = 1
    events = frozenset({ClusterEvent.NODE, ClusterEvent.VOLUME})

    def pre_filter(self, shape: PodShape) -> str:
        """Return the reason why a claim excludes all nodes; empty if none does."""
        for texts in _PRE_FILTER:
            for need in shape.volumes:
                if need.state in texts:
                    return texts[need.state].format(claim=need.claim, volume=need.volume, pod=need.pod)
        return ""

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter if a bound claim has no volume, one if a volume has node affinity, and those of claims without a volume."""
        filters: Filters = []
        if any(need.state is ClaimState.VOLUME_MISSING for need in shape.volumes):
            filters.append((NO_VOLUME, np.zeros(len(self.nodes), dtype=bool)))
        masks = [selectors.node_mask(need.affinity, self.nodes, named=False) for need in shape.volumes if need.affinity is not None]
        if masks:
            filters.append((NODE_CONFLICT, np.logical_and.reduce(masks)))
        return [*filters, *self._unbound_filters(shape)]

    def score(self, shape: PodShape) -> StaticScore | None:
        """Return the free percentage of the volumes, or else of the storage capacity; None if all nodes have the same."""
        if not (claims := self._claims(shape)):
            return None
        raw = _free_percentages(claims, len(self.nodes))
        return StaticScore(raw, self.weight, fixed=True) if len(raw) and (raw != raw[0]).any() else None

    def _claims(self, shape: PodShape) -> _Claims:
        """Return the claims that wait for the pod, in the order in which they are tried; none if they depend on other pods."""
        storage = self.nodes.storage
        if storage is None or shape.picks_volumes:
            return []
        claims = [(need.request, storage.options(need.request)) for need in shape.volumes if need.request is not None]
        return sorted(claims, key=lambda each: (not each[0].selected_node, each[0].size or 0))

    def _unbound_filters(self, shape: PodShape) -> Filters:
        """Return the filters of the claims that wait for the pod; a node has the reason of the first claim that excludes it."""
        conflict: Bools = np.zeros(len(self.nodes), dtype=bool)
        lacking = conflict.copy()
        claims = self._claims(shape)
        for _, options in claims:
            if options.selected != -1:
                conflict |= self.nodes.everything != options.selected
        for _, options in claims:
            refused = ~options.provisioned & ~(conflict | lacking)
            if options.reachable is not None:
                refused &= ~options.reachable
            lacking |= refused & options.lacking
            conflict |= refused & ~options.lacking
        return [(reason, ~mask) for reason, mask in ((BIND_CONFLICT, conflict), (NOT_ENOUGH_SPACE, lacking)) if mask.any()]


def _free_percentages(claims: _Claims, nodes: int) -> Ints:
    """Return the mean of the free percentages over the classes; only reserved volumes count on a node that has any."""
    reserved = np.logical_or.reduce(
        [options.reachable for _, options in claims if options.reachable is not None] or [np.zeros(nodes, bool)]
    )
    requested: dict[str, Ints] = {}
    capacity: dict[str, Ints] = {}
    for request, options in claims:
        added = requested.setdefault(request.storage_class, np.zeros(nodes, dtype=np.int64))
        figure = capacity.setdefault(request.storage_class, np.full(nodes, -1, dtype=np.int64))
        if options.reachable is not None:
            figure[options.reachable] = np.maximum(figure[options.reachable], 0) + options.reserved_size
            added[options.reachable] += request.size or 0
        counted = ~reserved & (options.capacity >= 0)
        figure[counted] = options.capacity[counted]
        added[counted] += request.size or 0
    total: Ints = np.zeros(nodes, dtype=np.int64)
    classes: Ints = np.zeros(nodes, dtype=np.int64)
    for name, figure in capacity.items():
        fits = (figure > 0) & (requested[name] <= figure)
        total[fits] += 100 - requested[name][fits] * 100 // figure[fits]
        classes += figure >= 0
    # Half of a percent is rounded up.
    return (2 * total + classes) // np.maximum(2 * classes, 1)
