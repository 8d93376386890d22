"""Volumes that a claim can have on each node, in the present state; sets of volumes are bits of integers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.model.storage import ClaimOptions, Storage
from scheduler_core.plugins.volume_binding import VolumeMatching


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClaimVolumes:
    """Volumes that a claim can have; sets of volumes are bits of integers.

    Attributes:
        everywhere: volumes that all nodes reach.
        on_node: other volumes, by node.
        provisioned: shape (nodes,): nodes for which a volume can be provisioned.

    """

    everywhere: int
    on_node: Mapping[int, int]
    provisioned: Bools

    def on(self, node: int) -> int:
        """Return the volumes that *node* reaches."""
        return self.everywhere | self.on_node.get(node, 0)


def claim_volumes(request: ClaimRequest, table: NodeTable, plugin: VolumeMatching | None) -> ClaimVolumes:
    """Return the volumes for *request*, without those that pods have taken according to *plugin*.

    Raises:
        ValueError: claims are not modelled.

    """
    storage = table.storage
    if storage is None or plugin is None:
        raise ValueError("claims are not modelled")
    options = storage.options(request)
    if request.shared and (volume := plugin.volume(request.shared)) >= 0:
        return _only(volume, storage, options)
    selected = plugin.selected_node(request.shared) if request.shared else -1
    selected = options.selected if selected == -1 else selected
    if selected != -1:
        return ClaimVolumes(0, {}, options.provisioned & (table.everything == selected))
    if options.reserved >= 0 and options.reachable is not None:
        reserved = dict.fromkeys(np.flatnonzero(options.reachable).tolist(), 1 << options.reserved)
        return ClaimVolumes(0, reserved, options.provisioned & ~options.reachable)
    taken = _bits(plugin.taken)
    on_node = {node: _bits(volumes) & ~taken for node, volumes in options.on_node.items()}
    return ClaimVolumes(_bits(options.everywhere) & ~taken, on_node, options.provisioned)


def _only(volume: int, storage: Storage, options: ClaimOptions) -> ClaimVolumes:
    """Return what a claim can have whose volume is *volume* already."""
    nothing: Bools = np.zeros_like(options.provisioned)
    nodes = storage.nodes_of(volume)
    return ClaimVolumes(1 << volume, {}, nothing) if nodes is None else ClaimVolumes(0, dict.fromkeys(nodes, 1 << volume), nothing)


def _bits(volumes: Iterable[int]) -> int:
    mask = 0
    for each in volumes:
        mask |= 1 << each
    return mask
