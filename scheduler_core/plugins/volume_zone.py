"""VolumeZone: filters by the zone and region labels of the bound volumes of a pod."""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Bools, NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.volumes import ZONE_LABELS, ClaimState
from scheduler_core.plugins.base import ClusterEvent, Filters, StaticPlugin

ZONE_CONFLICT = "node(s) had no available volume zone"


class VolumeZone(StaticPlugin):
    """Zone and region labels of the bound volumes; a node without any of these labels is in every zone."""

    name = "VolumeZone"
    events = frozenset({ClusterEvent.NODE, ClusterEvent.VOLUME})

    def pre_filter(self, shape: PodShape) -> str:
        """Return the reason if a bound claim has no volume; empty if each has one."""
        missing = (need.volume for need in shape.volumes if need.state is ClaimState.VOLUME_MISSING)
        return next((f'persistentvolume "{volume}" not found' for volume in missing), "")

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter if a bound volume has a zone."""
        zones = [zone for need in shape.volumes for zone in need.zones]
        if not zones:
            return []
        passing: Bools = np.ones(len(self.nodes), dtype=bool)
        for key, values in zones:
            passing &= _in_zone(self.nodes, key, frozenset(values))
        return [(ZONE_CONFLICT, passing | ~_zoned(self.nodes))]


def _in_zone(nodes: NodeTable, key: str, values: frozenset[str]) -> Bools:
    """Return the nodes whose label *key* has one of *values*; a beta label that a node lacks is compared with the current one."""
    passing = _mask(nodes, key, values)
    if (current := key.replace("failure-domain.beta.", "topology.")) != key:
        passing |= _mask(nodes, current, values) & (nodes.label_column(key).ids < 0)
    return passing


def _mask(nodes: NodeTable, key: str, values: frozenset[str]) -> Bools:
    column = nodes.label_column(key)
    mask: Bools = np.array([*(value in values for value in column.values), False], dtype=bool)[column.ids]
    return mask


def _zoned(nodes: NodeTable) -> Bools:
    """Return the nodes with at least one of the labels."""
    mask: Bools = np.zeros(len(nodes), dtype=bool)
    for key in ZONE_LABELS:
        mask |= nodes.label_column(key).ids >= 0
    return mask
