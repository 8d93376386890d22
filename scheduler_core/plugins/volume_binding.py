"""VolumeBinding: by the pod's shape, and for claims whose volumes depend on the volumes of other pods.

The static plugin is about bound claims, claims whose volumes can be provisioned, and claims that exclude all nodes.  The stateful plugin is
about free volumes that differ, and claims of several pods: ``assumed_volumes`` finds their volumes, pod by pod.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping

import numpy as np

from kubeapi.selectors import NodeSelector
from scheduler_core.model import selectors
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.devices import Allocation
from scheduler_core.model.nodes import Bools, Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.storage import ClaimOptions
from scheduler_core.model.volumes import BIND_CONFLICT, ClaimName, ClaimState, VolumeNeed
from scheduler_core.plugins.assumed_volumes import NOT_ENOUGH_SPACE, PROVISIONED, Picks, VolumePicks
from scheduler_core.plugins.base import ClusterEvent, Filters, StaticPlugin, StaticScore
from scheduler_core.plugins.claim_allocation import ClaimAllocation
from scheduler_core.plugins.pod_counts import PodCounts

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


_REASONS = (BIND_CONFLICT, NOT_ENOUGH_SPACE)
_FITS, _UNKNOWN = -1, -2


class VolumeMatching(ClaimAllocation):
    """Static matching of free volumes, pod by pod.  A volume that a pod has taken is not free again when the pod is evicted."""

    name = "VolumeBinding"
    weight = 1
    events = frozenset({ClusterEvent.NODE, ClusterEvent.VOLUME})
    about_pods = False

    def __init__(self, counts: PodCounts) -> None:
        super().__init__(counts)
        storage = counts.nodes.storage
        self._storage = storage
        self._of_pod: dict[str, Picks] = {}
        self._found: dict[int, tuple[Ints, Ints]] = {}

    @functools.cached_property
    def _picks(self) -> VolumePicks | None:
        return None if self._storage is None else VolumePicks(self._storage, sparing=self.sparing)

    @classmethod
    def used_by(cls, shape: PodShape) -> bool:
        """Return whether the pods of *shape* take volumes that differ."""
        return shape.picks_volumes

    def touches(self, pod: PodRecord) -> bool:
        """Return whether the volumes of *pod* depend on those of other pods."""
        return pod.shape.picks_volumes

    def filters(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Filters:  # noqa: ARG002 - volumes are counted everywhere
        """Return the filters for *pod*; masks have the shape of *nodes*."""
        if self._picks is None or not self.touches(pod):
            return []
        codes, _ = self._on(self._picks, pod, nodes)
        filters: Filters = []
        for number, reason in enumerate(_REASONS):
            if (codes == number).any():
                filters.append((reason, codes != number))
        return filters

    def score(self, pod: PodRecord, nodes: Nodes, within: Nodes | None = None) -> Ints:  # noqa: ARG002 - as in ``filters``
        """Return the free percentage of the volumes or of the storage capacity."""
        if self._picks is None or not self.touches(pod):
            return np.zeros(len(nodes), dtype=np.int64)
        return self._on(self._picks, pod, nodes)[1]

    def counted(self, pod: PodRecord) -> bool:
        """Return whether the volumes of *pod* are counted by node."""
        return pod.shape.counts_volumes

    def binds(self, pod: PodRecord, other: PodRecord) -> bool:
        """Return whether the volumes of *pod* can be missing for *other*; an eviction frees no volume."""
        return pod.node < 0 and self.touches(pod) and self.touches(other)

    @property
    def keeps_state(self) -> bool:
        """Return whether claims that wait for their first consumer are known."""
        return self._storage is not None

    def add_pod(self, pod: PodRecord, node: int) -> None:
        """Take the volumes of *pod* on *node*."""
        if self._picks is not None and pod.shape.picks_volumes and pod.key not in self._of_pod:
            self._of_pod[pod.key] = picks = self._picks.assign(pod, node)
            self._forget(picks)

    def remove_pod(self, pod: PodRecord, node: int) -> None:  # noqa: ARG002 - it is known
        """Give back the volumes of *pod*, unless it is evicted."""
        if self._picks is not None and pod.shape.picks_volumes and pod.node < 0 and pod.key in self._of_pod:
            picks = self._of_pod.pop(pod.key)
            self._picks.release(picks)
            self._forget(picks)

    def selected_node(self, claim: str) -> int:
        """Return the node that is selected for *claim*, which several pods use; -1 if none is."""
        return -1 if self._picks is None else self._picks.selected_node(claim)

    def volume(self, claim: str) -> int:
        """Return the volume that *claim*, which several pods use, has taken; -1 if none is."""
        return -1 if self._picks is None else self._picks.shared_volume(claim)

    @property
    def taken(self) -> Collection[int]:
        """Return the volumes that pods have taken."""
        return () if self._picks is None else self._picks.taken

    def plan_claims(self, volumes: Mapping[ClaimName, int], devices: Mapping[str, Allocation]) -> None:  # noqa: ARG002 - for DynamicResources
        """Let claims take their volume in *volumes* when their pods are added."""
        if self._picks is not None:
            self._picks.planned = volumes

    def picked(self, pod: PodRecord) -> Picks:
        """Return the volumes of *pod*, which is added."""
        return self._of_pod.get(pod.key, ())

    def free_volumes(self, pod: PodRecord) -> None:
        """Free the existing volumes of *pod*; the node for volumes to be provisioned stays selected."""
        if self._picks is not None and pod.key in self._of_pod:
            picks = self._of_pod[pod.key]
            self._of_pod[pod.key] = tuple(each for each in picks if each.volume == PROVISIONED)
            self._picks.release(tuple(each for each in picks if each.volume != PROVISIONED))
            self._forget(picks)

    def _on(self, picks: VolumePicks, pod: PodRecord, nodes: Nodes) -> tuple[Ints, Ints]:
        """Return the index of the reason that excludes each of *nodes*, _FITS if none does, and its score; cached by shape and node."""
        size = len(self.counts.nodes)
        known = self._found.setdefault(pod.shape.serial, (np.full(size, _UNKNOWN, dtype=np.int64), np.zeros(size, dtype=np.int64)))
        codes, scores = known
        for node in nodes[codes[nodes] == _UNKNOWN].tolist():
            here = picks.find(pod, node)
            if isinstance(here, str):
                codes[node] = _REASONS.index(here)
            else:
                codes[node], scores[node] = _FITS, picks.score(here, node)
        return codes[nodes], scores[nodes]

    def _forget(self, picks: Picks) -> None:
        """Drop results that depend on the volumes of *picks*."""
        if self._picks is None:
            return
        for pick in picks:
            nodes = self._picks.storage.nodes_of(pick.volume) if not pick.request.shared else None
            if nodes is None:
                self._found.clear()
                return
            for codes, _ in self._found.values() if nodes else ():
                codes[list(nodes)] = _UNKNOWN
