"""Options of claims that wait for their first consumer, computed for the nodes of a table."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from scheduler_core.loading.free_volumes import FreeVolumes
from scheduler_core.model import selectors
from scheduler_core.model.delayed_claims import ClaimRequest, Expressions, Provisioner, StorageCapacity
from scheduler_core.model.nodes import Bools, Ints, NodeTable
from scheduler_core.model.storage import ClaimOptions, Segments, Storage
from scheduler_core.model.volumes import ClaimName, VolumeObjects
from scheduler_core.model.wire import LabelSelector, NodeSelector, NodeSelectorTerm


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
        self._index = _LabelIndex(nodes)
        self._known = free
        self._nothing: Bools = np.zeros(len(nodes), dtype=bool)
        self._by_size: dict[tuple[str, int | None], ClaimOptions] = {}
        self._masks: dict[tuple[Expressions, ...], Bools] = {}

    @functools.cached_property
    def free(self) -> FreeVolumes:
        """Return the volumes that claims can get."""
        return self._known or FreeVolumes(self._objects, self._index.places, len(self._nodes))

    def key(self, volume: int) -> int:
        """Return the key of the volumes that serve the same claims as *volume*."""
        return self.free.key(volume)

    def options(self, request: ClaimRequest) -> ClaimOptions:
        """Return the options of *request*."""
        key = request.storage_class, request.size
        if (provisioning := self._by_size.get(key)) is None:
            provisioning = self._by_size[key] = self._provisioning(request)
        if request.selected_node:
            return dataclasses.replace(provisioning, selected=self._nodes.index.get(request.selected_node, -2))
        # A queueing hint of the sidecar can name a volume that has been deleted since.
        if (index := self.free.numbers.get(request.reserved)) is not None:
            size = self.free.volumes[index].offer.size
            return dataclasses.replace(provisioning, reserved=index, reserved_size=size, reachable=self._reachable(index))
        return dataclasses.replace(provisioning, everywhere=self.free.everywhere(request), on_node=self.free.on_node(request))

    @functools.cached_property
    def _capacities(self) -> dict[str, list[tuple[ClaimName, StorageCapacity]]]:
        """Return the storage capacities of each class, by name."""
        capacities: dict[str, list[tuple[ClaimName, StorageCapacity]]] = {}
        for name, each in sorted(self._objects.capacities.items()):
            capacities.setdefault(each.storage_class, []).append((name, each))
        return capacities

    def _reachable(self, volume: int) -> Bools:
        """Return the nodes that match the node affinity of a volume; shape (nodes,)."""
        reachable = self._nothing.copy()
        if (places := self.free.places.get(volume)) is None:
            return ~reachable
        reachable[list(places)] = True
        return reachable

    def _provisioning(self, request: ClaimRequest) -> ClaimOptions:
        """Return where a volume can be provisioned, where only capacity is missing, and the capacities."""
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
            if each.limit >= request.size:
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


class _LabelIndex:
    """Nodes by label, so that selectors of many objects, each for few nodes, are evaluated fast."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._by_value: dict[str, dict[str, Ints]] = {}

    def matching(self, expressions: Expressions) -> Bools:
        """Return the nodes that match all *expressions*; shape (nodes,)."""
        clauses = selectors.compiled(LabelSelector(match_expressions=expressions))
        mask: Bools = np.zeros(len(self._nodes), dtype=bool)
        if clauses is None:
            return mask
        if (first := next((each for each in clauses if each.operator == "In"), None)) is None:
            return selectors.clauses_mask(clauses, self._nodes)
        for value in first.values:
            for node in self._having(first.key, value).tolist():
                mask[node] = selectors.admits(clauses, self._nodes.labels[node])
        return mask

    def _matching_terms(self, selector: NodeSelector) -> Bools:
        """Return the nodes that match the node affinity of a volume; shape (nodes,)."""
        terms = selector.node_selector_terms or ()
        if any(each.match_fields or not _is_set_based(each) for each in terms):
            return selectors.node_mask(selector, self._nodes, named=False)
        mask: Bools = np.zeros(len(self._nodes), dtype=bool)
        for each in terms:
            if each.match_expressions:
                mask |= self.matching(each.match_expressions)
        return mask

    def places(self, selector: NodeSelector) -> tuple[int, ...]:
        """Return the nodes that match the node affinity of a volume, ascending."""
        terms = selector.node_selector_terms or ()
        if len(terms) == 1 and not terms[0].match_fields and len(terms[0].match_expressions or ()) == 1:
            (only,) = terms[0].match_expressions or ()
            if only.operator == "In" and len(only.values or ()) == 1:
                # Volumes of one node: the usual case.
                return tuple(self._having(only.key, (only.values or ("",))[0]).tolist())
        return tuple(self._matching_terms(selector).nonzero()[0].tolist())

    def _having(self, key: str, value: str) -> Ints:
        if (by_value := self._by_value.get(key)) is None:
            column = self._nodes.label_column(key)
            order = np.argsort(column.ids, kind="stable")
            bounds = np.searchsorted(column.ids[order], np.arange(len(column.values) + 1))
            by_value = self._by_value[key] = {each: order[bounds[number] : bounds[number + 1]] for number, each in enumerate(column.values)}
        return by_value.get(value, _NO_NODES)


_NO_NODES: Ints = np.zeros(0, dtype=np.int64)


def _is_set_based(term: NodeSelectorTerm) -> bool:
    return all(each.operator in ("In", "NotIn", "Exists", "DoesNotExist") for each in term.match_expressions or ())
