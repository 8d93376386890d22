"""Storage capacity: where the CSIStorageCapacity objects of a class have enough for a volume that is to be provisioned."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from scheduler_core.loading.node_label_index import NodeLabelIndex
from scheduler_core.model.delayed_claims import ClaimRequest, Expressions, Provisioner, StorageCapacity
from scheduler_core.model.nodes import Bools, Ints, NodeTable
from scheduler_core.model.storage import ClaimOptions, Segments
from scheduler_core.model.volumes import ClaimName, VolumeObjects


class ProvisioningOptions:
    """Nodes of a table on which volumes can be provisioned, by storage class and size."""

    def __init__(self, nodes: NodeTable, objects: VolumeObjects, index: NodeLabelIndex) -> None:
        self._nodes = nodes
        self._objects = objects
        self._index = index
        self._nothing: Bools = np.zeros(len(nodes), dtype=bool)
        self._by_size: dict[tuple[str, int | None, Decimal], ClaimOptions] = {}
        self._masks: dict[tuple[Expressions, ...], Bools] = {}

    def options(self, request: ClaimRequest) -> ClaimOptions:
        """Return where a volume for *request* can be provisioned, where only capacity is missing, and the capacities."""
        key = request.storage_class, request.size, request.rounding
        if (options := self._by_size.get(key)) is None:
            options = self._by_size[key] = self._provisioning(request)
        return options

    @functools.cached_property
    def _capacities(self) -> dict[str, list[tuple[ClaimName, StorageCapacity]]]:
        """Return the storage capacities of each class, by name."""
        capacities: dict[str, list[tuple[ClaimName, StorageCapacity]]] = {}
        for name, each in sorted(self._objects.capacities.items()):
            capacities.setdefault(each.storage_class, []).append((name, each))
        return capacities

    def _provisioning(self, request: ClaimRequest) -> ClaimOptions:
        provisioner = self._objects.provisioners.get(request.storage_class, Provisioner())
        figures: Ints = np.full(len(self._nodes), -1, dtype=np.int64)
        if not provisioner.provisions:
            return ClaimOptions(self._nothing, self._nothing, figures, figures, figures)
        allowed = self._allowed(provisioner)
        if request.size is None or provisioner.name not in self._objects.measured:
            return ClaimOptions(allowed, self._nothing, figures, figures, figures, provisions=True)
        enough, largest, largest_index = self._nothing.copy(), figures.copy(), figures.copy()
        capacities = self._capacities.get(request.storage_class, ())
        for number, (_, each) in enumerate(capacities):
            if each.nodes is None:
                continue
            there = self._index.matching(each.nodes)
            more = there & (largest < each.limit)
            largest[more], largest_index[more] = each.limit, number
            if each.suffices(request, exact=self._nodes.behavior.compares_exact_capacity):
                # A scheduler takes any object that is large enough; the first by name is counted.
                figures[there & ~enough] = -1 if each.capacity is None else each.capacity
                enough |= there
        named = tuple((name, each.nodes) for name, each in capacities)
        segments = self._segments([each for _, each in capacities])
        allowed, lacking = allowed & enough, allowed & ~enough
        return ClaimOptions(allowed, lacking, figures, largest, largest_index, named, provisions=True, segments=segments)

    def _segments(self, capacities: Sequence[StorageCapacity]) -> Segments | None:
        of_node, found = np.full(len(self._nodes), -1, dtype=np.int64), np.zeros(len(self._nodes), dtype=np.int64)
        for number, each in enumerate(capacities):
            there = self._nothing if each.nodes is None else self._index.matching(each.nodes)
            found += there
            if each.capacity is not None:
                of_node[there] = number
        of_node[found != 1] = -1
        return Segments(of_node, tuple(each.capacity or 0 for each in capacities)) if (of_node >= 0).any() else None

    def _allowed(self, provisioner: Provisioner) -> Bools:
        if not provisioner.topologies:
            return ~self._nothing
        if (mask := self._masks.get(provisioner.topologies)) is None:
            mask = self._nothing.copy()
            for term in provisioner.topologies:
                if term:
                    mask |= self._index.matching(term)
            self._masks[provisioner.topologies] = mask
        return mask
