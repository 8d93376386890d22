"""Variants of shapes for pods with volumes that other pods use too: equal shapes then have equal constraints.

Pods whose volumes requests count need no variants.  A shape does not name the volumes of a pod, so that equal pods share it.
Here pods with different names of such volumes get different shapes.
"""

from __future__ import annotations

import dataclasses
import itertools

from kubeapi.meta import replaced
from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.volume_users import NamedVolumes
from scheduler_core.placement.placement_request import PlacementRequest

_FIRST_SERIAL = 2**40
"""Above the serials of all shapes of pods."""


def counted(request: PlacementRequest) -> bool:
    """Return whether the pods depend on other pods only by volumes that requests count."""
    return request.counted and all(map(counted, request.children))


class NamedPods:
    """Shapes by the volumes that they name; each is created once."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[int, str, NamedVolumes], PodShape] = {}
        self._serials = itertools.count(_FIRST_SERIAL)

    def distinguished(self, entity: Entity) -> Entity:
        """Return *entity* with pods whose shapes name their volumes."""
        if not any(pod.named_volumes for leaf in entity.leaves() for pod in leaf.waiting):
            return entity
        waiting = tuple(self._named(pod) if pod.named_volumes else pod for pod in entity.waiting)
        return dataclasses.replace(entity, waiting=waiting, children=tuple(map(self.distinguished, entity.children)))

    def _named(self, pod: PodRecord) -> PodRecord:
        key = pod.shape.serial, pod.namespace, pod.named_volumes
        if (shape := self._shapes.get(key)) is None:
            shape = self._shapes[key] = dataclasses.replace(pod.shape, serial=next(self._serials), variant_of=pod.shape)
        return replaced(pod, shape=shape)
