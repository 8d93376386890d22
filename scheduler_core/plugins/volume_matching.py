"""VolumeBinding for claims whose volumes depend on the volumes of other pods: free volumes that differ, and claims of several pods."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping

import numpy as np

from scheduler_core.model.devices import Allocation
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.volumes import BIND_CONFLICT, ClaimName
from scheduler_core.plugins.base import ClusterEvent, Filters
from scheduler_core.plugins.claim_allocation import ClaimAllocation
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.volume_picks import NOT_ENOUGH_SPACE, PROVISIONED, Picks, VolumePicks

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
