"""Options of claims that wait for their first consumer, computed for the nodes of a table."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from scheduler_core.loading.free_volumes import FreeVolumes
from scheduler_core.loading.node_label_index import NodeLabelIndex
from scheduler_core.loading.storage_capacity import ProvisioningOptions
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.model.storage import ClaimOptions, Storage
from scheduler_core.model.volumes import VolumeObjects


def report_storage(table: NodeTable, volumes: VolumeObjects, free: FreeVolumes | None = None) -> FreeVolumes:
    """Set the storage of *table*: the options of claims that wait for their first consumer; return their free volumes.

    *free* are the free volumes of *volumes* on nodes with the same names and labels, if known.
    """
    options = _Options(table, volumes, free)
    table.report_storage(Storage(options))
    return options.free


class _Options:
    """Options on the nodes of a table."""

    def __init__(self, nodes: NodeTable, objects: VolumeObjects, free: FreeVolumes | None) -> None:
        self._nodes = nodes
        self._objects = objects
        self._index = NodeLabelIndex(nodes)
        self._known = free
        self._provisioning = ProvisioningOptions(nodes, objects, self._index)

    @functools.cached_property
    def free(self) -> FreeVolumes:
        """Return the volumes that claims can get."""
        return self._known or FreeVolumes(self._objects, self._index.places, len(self._nodes))

    def key(self, volume: int) -> int:
        """Return the key of the volumes that serve the same claims as *volume*."""
        return self.free.key(volume)

    def options(self, request: ClaimRequest) -> ClaimOptions:
        """Return the options of *request*."""
        provisioning = self._provisioning.options(request)
        if request.selected_node:
            return dataclasses.replace(provisioning, selected=self._nodes.index.get(request.selected_node, -2))
        # A queueing hint of the sidecar can name a volume that has been deleted since.
        if (index := self.free.numbers.get(request.reserved)) is not None:
            size = self.free.volumes[index].offer.size
            return dataclasses.replace(provisioning, reserved=index, reserved_size=size, reachable=self._reachable(index))
        return dataclasses.replace(provisioning, everywhere=self.free.everywhere(request), on_node=self.free.on_node(request))

    def _reachable(self, volume: int) -> Bools:
        """Return the nodes that match the node affinity of a volume; shape (nodes,)."""
        reachable: Bools = np.zeros(len(self._nodes), dtype=bool)
        if (places := self.free.places.get(volume)) is None:
            return ~reachable
        reachable[list(places)] = True
        return reachable
