"""Kinds that are watched only once an object of another kind can need them.

Most clusters have many objects of these kinds that placement never reads.  A kind that was needed once stays watched.
"""

from __future__ import annotations

from scheduler_core.loading.drafts import Draft
from scheduler_core.loading.gather import VOLUME_KINDS
from scheduler_core.model.pod_meta import CONTROLLERS
from scheduler_core.model.volumes import VolumeObjects

_BY_PODS = (*VOLUME_KINDS, "CSINode", "CSIDriver")
"""Kinds that the first pending pod with a claim or an inline disk needs."""
ON_DEMAND = frozenset({*_BY_PODS, "CSIStorageCapacity", "VolumeAttachment", *CONTROLLERS})
"""Kinds that are not watched from the start."""


class NeededKinds:
    """Kinds of ``ON_DEMAND`` that are needed."""

    def __init__(self) -> None:
        self._needed: set[str] = set()

    def add_pod(self, draft: Draft) -> None:
        """Add the kinds that a pod needs; a pod with a node needs none."""
        if draft.node:
            return
        if draft.claims or draft.disks:
            self._needed.update(_BY_PODS)
        if draft.controller[0]:
            self._needed.add(draft.controller[0])

    def needed(self, volumes: VolumeObjects) -> frozenset[str]:
        """Return the kinds that are needed, given the present *volumes*."""
        if "CSIDriver" in self._needed and volumes.measured:
            self._needed.add("CSIStorageCapacity")
        if "CSINode" in self._needed and volumes.attach is not None and volumes.attach.rows():
            self._needed.add("VolumeAttachment")
        return frozenset(self._needed)
