"""Nodes with some pods that have volumes or devices: free amounts, and pods that can be added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.exact.packing.packing import EqualPods
from scheduler_core.exact.volumes.constraints import VolumeConstraints, VolumeDemand
from scheduler_core.exact.volumes.storage_sums import StorageDemand
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.volume_users import Disk, VolumeKey

_NO_VOLUMES, _NO_STORAGE = VolumeDemand(), StorageDemand()
Counts = tuple[int, ...]
"""Number of pods of each demand."""


class CoupledPods(Record, frozen=True):
    """Equal pods whose volumes or devices depend on those of other pods.

    Attributes:
        demand: volumes that one of them demands.
        storage: storage that one of them demands.
        records: the pods, if they demand devices.

    """

    pods: EqualPods
    demand: VolumeDemand = _NO_VOLUMES
    storage: StorageDemand = _NO_STORAGE
    records: Sequence[PodRecord] = ()


class PackingInput(Record, frozen=True):
    """Nodes, and the pods that are placed on them one by one.

    Attributes:
        volumes: what is known of volumes; None if pods compete for none.
        free: free amounts; shape (rows, nodes).
        coupled: the pods, by demand.
        nodes: indices of the node table.
        limit_rows: the row of *free* for a row of a limit in the node table.

    """

    volumes: VolumeConstraints | None
    free: Ints
    coupled: Sequence[CoupledPods]
    nodes: Sequence[int]
    limit_rows: Mapping[int, int]


class FilledNode(Record, frozen=True):
    """Node with some pods.

    Attributes:
        free: free amounts by row.
        slots: for each demand, an upper bound of the pods that can be added.

    """

    free: tuple[int, ...]
    slots: Counts


class FilledNodes:
    """Nodes of *given* with numbers of its pods."""

    def __init__(self, given: PackingInput) -> None:
        self._given = given
        self._demands = [each.demand for each in given.coupled]
        self._amounts: list[tuple[int, ...]] = [tuple(each.pods.amounts.tolist()) for each in given.coupled]
        self._slots: list[list[int]] = np.array([each.pods.slots for each in given.coupled]).T.tolist()
        self._filled: dict[tuple[int, Counts], FilledNode] = {}

    def at(self, node: int, kind: int, counts: Counts) -> FilledNode:
        """Return *node* with *counts* pods; nodes of one *kind* are equal."""
        key = kind, counts
        if (filled := self._filled.get(key)) is None:
            filled = self._filled[key] = self._fill(node, counts)
        return filled

    def _fill(self, node: int, counts: Counts) -> FilledNode:
        free: list[int] = self._given.free[:, node].tolist()
        for count, amounts in zip(counts, self._amounts, strict=True):
            if count:
                free = [available - count * need for available, need in zip(free, amounts, strict=True)]
        there = [demand for demand, count in zip(self._demands, counts, strict=True) if count]
        attached = {volume for each in there for volume in each.attached}
        for row in self._units(node, attached):
            free[row] -= 1
        disks = [disk for each in there for disk in each.disks]
        return FilledNode(tuple(free), tuple(self._capacity(node, number, counts, free, attached, disks) for number in range(len(counts))))

    def _capacity(
        self, node: int, number: int, counts: Counts, free: Sequence[int], attached: set[tuple[int, VolumeKey]], disks: Sequence[Disk]
    ) -> int:
        """Return an upper bound of the pods of demand *number* that can be added."""
        demand, most = self._demands[number], self._slots[node][number] - counts[number]
        if most <= 0 or any(disk.conflicts(each) for disk in demand.disks for each in disks):
            return 0
        amounts, rest = self._amounts[number], list(free)
        for row in self._units(node, {*demand.attached} - attached):
            rest[row] -= 1
        if any(available < need for available, need in zip(rest, amounts, strict=True)):
            return 0
        slots = (available // need for available, need in zip(rest, amounts, strict=True) if need)
        return min([most, *slots])

    def _units(self, node: int, volumes: set[tuple[int, VolumeKey]]) -> list[int]:
        """Return the rows of *free* of which *volumes* use one unit each on *node*; a volume with a VolumeAttachment uses none."""
        known, name = self._given.volumes, self._given.nodes[node]
        if known is None or not volumes:
            return []
        present, attached = known.present(name), known.attachments(name)
        return [self._given.limit_rows[row] for row, volume in volumes if volume not in present and volume not in attached]
