"""VolumeBinding, by the pod's shape: bound claims, claims whose volumes can be provisioned, and claims that exclude all nodes.

Claims whose volumes depend on the volumes of other pods are in ``volume_matching``.
"""

from __future__ import annotations

import numpy as np

from kubeapi.selectors import NodeSelector
from scheduler_core.model import selectors
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Bools, Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.model.storage import ClaimOptions
from scheduler_core.model.volumes import BIND_CONFLICT, ClaimState, VolumeNeed
from scheduler_core.plugins.base import ClusterEvent, Filters, StaticPlugin, StaticScore
from scheduler_core.plugins.volume_picks import NOT_ENOUGH_SPACE

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
_PRE_FILTER = (
    # VolumeRestrictions is called first and needs every claim.
    {ClaimState.MISSING: 'persistentvolumeclaim "{claim}" not found'},
    {
        ClaimState.LOST: 'persistentvolumeclaim "{claim}" bound to non-existent persistentvolume "{volume}"',
        ClaimState.DELETING: 'persistentvolumeclaim "{claim}" is being deleted',
        ClaimState.NOT_CREATED: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "{claim}"',
        ClaimState.NOT_OWNED: "PVC {claim} was not created for pod {pod} (pod is not owner)",
    },
    dict.fromkeys((ClaimState.UNBOUND, ClaimState.NO_CLASS, ClaimState.BINDING), UNBOUND),
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
        masks = [self._reachable(need) for need in shape.volumes if need.affinity or need.migrated]
        if masks:
            filters.append((NODE_CONFLICT, np.logical_and.reduce(masks)))
        return [*filters, *self._unbound_filters(shape)]

    def _reachable(self, need: VolumeNeed) -> Bools:
        """Return the nodes that match the node affinity of a bound volume; shape (nodes,)."""
        if need.migrated is None:
            return self._matching(need.affinity)
        has_driver, names = self.nodes.attach.has_driver, self.nodes.names
        migrated: Bools = np.fromiter((has_driver(name, need.migrated.plugin) for name in names), dtype=bool, count=len(names))
        return np.where(migrated, self._matching(need.migrated.affinity), self._matching(need.affinity))

    def _matching(self, affinity: NodeSelector | None) -> Bools:
        return np.ones(len(self.nodes), dtype=bool) if affinity is None else selectors.node_mask(affinity, self.nodes, named=False)

    def score(self, shape: PodShape) -> StaticScore | None:
        """Return the free percentage of the volumes, or else of the storage capacity; None if all nodes have the same."""
        if shape.picks_volumes or not (claims := self._claims(shape)):
            return None
        raw = _free_percentages(claims, self._sizes(claims), len(self.nodes))
        return StaticScore(raw, self.weight, fixed=True) if len(raw) and (raw != raw[0]).any() else None

    def _claims(self, shape: PodShape) -> _Claims:
        """Return the claims that wait for the pod, in the order in which they are tried, except those that depend on other pods."""
        if (storage := self.nodes.storage) is None:
            return []
        requests = [need.request for need in shape.volumes if need.request is not None]
        alone = [each for each in requests if not storage.one_by_one([each])]
        return [(each, storage.options(each)) for each in sorted(alone, key=lambda each: (not each.selected_node, each.size or 0))]

    def _sizes(self, claims: _Claims) -> list[Ints | None]:
        """Return the sizes of the volumes that each claim finds on the nodes, -1 without a volume; None if it finds none anywhere."""
        return [
            _reserved_sizes(options) if self.nodes.storage is None or options.reachable is not None else self.nodes.storage.sizes(request)
            for request, options in claims
        ]

    def _unbound_filters(self, shape: PodShape) -> Filters:
        """Return the filters of the claims that wait for the pod; a node has the reason of the first claim that excludes it."""
        conflict: Bools = np.zeros(len(self.nodes), dtype=bool)
        lacking = conflict.copy()
        claims = self._claims(shape)
        for _, options in claims:
            if options.selected != -1:
                conflict |= self.nodes.everything != options.selected
        for sizes, (_, options) in zip(self._sizes(claims), claims, strict=True):
            refused = ~options.provisioned & ~(conflict | lacking)
            if sizes is not None:
                refused &= sizes < 0
            lacking |= refused & options.lacking
            conflict |= refused & ~options.lacking
        return [(reason, ~mask) for reason, mask in ((BIND_CONFLICT, conflict), (NOT_ENOUGH_SPACE, lacking)) if mask.any()]


def _reserved_sizes(options: ClaimOptions) -> Ints | None:
    return None if options.reachable is None else np.where(options.reachable, options.reserved_size, -1)


def _free_percentages(claims: _Claims, sizes: list[Ints | None], nodes: int) -> Ints:
    """Return the mean of the free percentages over the classes; only existing volumes count on a node that has any."""
    existing: Bools = np.logical_or.reduce([np.zeros(nodes, dtype=bool), *(each >= 0 for each in sizes if each is not None)])
    requested: dict[str, Ints] = {}
    capacity: dict[str, Ints] = {}
    for volumes, (request, options) in zip(sizes, claims, strict=True):
        added = requested.setdefault(request.storage_class, np.zeros(nodes, dtype=np.int64))
        figure = capacity.setdefault(request.storage_class, np.full(nodes, -1, dtype=np.int64))
        if volumes is not None:
            figure[volumes >= 0] = np.maximum(figure[volumes >= 0], 0) + volumes[volumes >= 0]
            added[volumes >= 0] += request.size or 0
        counted = ~existing & (options.capacity >= 0)
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
