"""Roots whose pods share a claim for which a volume must be provisioned: all these pods run on the node for which this is done.

With the node given, the claim depends on no other pod.  So the search tries the nodes one after the other.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Bools
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.volume_matching import VolumeMatching

_FIRST_SERIAL = 2**40
"""Above the serials of all shapes of pods."""


class SharedClaims:
    """Variants of roots in which the node of a shared claim is given."""

    def __init__(self, state: PlacementState) -> None:
        self._state = state
        self._shapes: dict[tuple[int, int], PodShape] = {}
        self._serials = itertools.count(_FIRST_SERIAL)

    def nodes(self, entity: Entity) -> list[int] | None:
        """Return the nodes that the only shared claim of *entity* can have; None if this is not its only tie between pods."""
        requests = {request for leaf in entity.leaves() for pod in leaf.waiting for request in _requests(pod.shape)}
        shared = {request.shared for request in requests} - {""}
        storage = self._state.nodes.storage
        if (
            storage is None
            or not len(self._state.nodes)
            or len(shared) != 1
            or any(each.shared and storage.options(each).matches for each in requests)
        ):
            return None
        options = storage.options(next(each for each in requests if each.shared))
        if options.reserved >= 0:
            return None
        able = options.provisioned & self._large_enough(entity)
        for selected in (options.selected, self._selected(*shared)):
            if selected != -1:
                able = able & (self._state.nodes.everything == selected)
        return np.flatnonzero(able).tolist()

    def pinned(self, entity: Entity, node: int) -> Entity:
        """Return *entity* with *node* as the node of its shared claim."""
        waiting = tuple(self._pinned_pod(pod, node) for pod in entity.waiting)
        children = tuple(self.pinned(child, node) for child in entity.children)
        return dataclasses.replace(entity, waiting=waiting, children=children)

    def _large_enough(self, entity: Entity) -> Bools:
        """Return the nodes with enough free resources for the pods with the claim that *entity* cannot do without; shape (nodes,)."""
        users = [pod.shape for pod in entity.waiting if any(request.shared for request in _requests(pod.shape))]
        needed = entity.minimum - len(entity.running) - (len(entity.waiting) - len(users))
        ledger, nodes = self._state.ledger, self._state.nodes
        able: Bools = np.ones(len(nodes), dtype=bool)
        if entity.children or needed < 1:
            return able
        for row in {row for shape in users for row, _ in shape.requests}:
            amounts = sorted(dict(shape.requests).get(row, 0) for shape in users)[:needed]
            able &= nodes.allocatable[row] - ledger.used[row] - ledger.held[row] >= sum(amounts)
        return able

    def _selected(self, claim: str) -> int:
        """Return the node that an earlier root has selected for *claim*; -1 if none has."""
        plugins = (each for each in self._state.stateful.plugins if isinstance(each, VolumeMatching))
        return next((each.selected_node(claim) for each in plugins), -1)

    def _pinned_pod(self, pod: PodRecord, node: int) -> PodRecord:
        if not any(request.shared for request in _requests(pod.shape)):
            return pod
        key = pod.shape.serial, node
        if (shape := self._shapes.get(key)) is None:
            shape = self._shapes[key] = self._pinned_shape(pod.shape, self._state.nodes.names[node])
        return dataclasses.replace(pod, shape=shape)

    def _pinned_shape(self, shape: PodShape, node: str) -> PodShape:
        storage = self._state.nodes.storage
        if storage is None:
            return shape
        volumes = tuple(
            dataclasses.replace(need, request=dataclasses.replace(need.request, shared="", selected_node=node))
            if need.request is not None and need.request.shared
            else need
            for need in shape.volumes
        )
        requests = [need.request for need in volumes if need.request is not None]
        return dataclasses.replace(
            shape,
            serial=next(self._serials),
            volumes=volumes,
            picks_volumes=storage.one_by_one(requests),
            counts_volumes=storage.counted(requests),
        )


def _requests(shape: PodShape) -> list[ClaimRequest]:
    return [need.request for need in shape.volumes if need.request is not None]
