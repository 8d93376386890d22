"""Devices that nominated pods are to get if some of their own claims still have the devices that their victims use."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from scheduler_core.loading.released_claims import with_released_claims
from scheduler_core.model.devices import Allocation
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.devices.assumed_claims import AssumedClaims
from scheduler_core.plugins.dynamic_resources import DeviceAllocation
from validators.model.meta import replaced

_SERIALS = itertools.count(2**43)
"""Above the serials of all other shapes."""


def planned_devices(
    snapshot: ClusterSnapshot, pods: Sequence[PodRecord], named: Collection[str], freed: Iterable[str]
) -> list[tuple[PodRecord, Allocation]]:
    """Return the devices that the nominated *pods* of a root can have, when its claims *named* and others, all of them *freed*, have none.

    The first pod that names a claim has its devices.
    """
    if snapshot.devices is None:
        return []
    before = snapshot.devices.allocated
    freed = [key for key in freed if key in before]
    left = dataclasses.replace(snapshot.devices, allocated={key: each for key, each in before.items() if key not in {*freed}})
    claims = AssumedClaims(snapshot.nodes, left, exact=False)
    for key in freed:
        claims.found.usage.remove_allocation(before[key])
    found: dict[str, tuple[PodRecord, Allocation]] = {}
    released = with_released_claims(dataclasses.replace(snapshot, pods=tuple(pods)), named).pods
    for original, pod in zip(pods, released, strict=True):
        claims.assume(pod, pod.nominated)
        for claim, allocation in claims.allocations(pod):
            found.setdefault(claim.key, (original, allocation))
    return [found[key] for key in sorted(found)]


def requesting(planned: Iterable[tuple[PodRecord, Allocation]], nodes: NodeTable) -> list[PodRecord]:
    """Return the pods of *planned*, which request of the rows that count devices exactly those that they are to have on their nodes."""
    if (rows := nodes.device_rows) is None:
        return []
    devices: dict[str, Counter[int]] = {}
    pods = {pod.key: pod for pod, _ in planned}
    for pod, allocation in planned:
        counted = rows.in_use([allocation])
        devices.setdefault(pod.key, Counter()).update(
            {nodes.row[row]: number for (row, node), number in counted.items() if node == nodes.names[pod.nominated]}
        )
    return [_with_devices(pods[key], numbers, nodes) for key, numbers in devices.items()]


def hold_devices(state: PlacementState, allocations: Sequence[Allocation], sign: int) -> None:
    """Let pods not take the devices of *allocations*, or (*sign* -1) undo it."""
    for plugin in state.stateful.plugins if allocations else ():
        if isinstance(plugin, DeviceAllocation) and plugin.claims is not None:
            usage = plugin.claims.found.usage
            for each in allocations:
                (usage.add_allocation if sign > 0 else usage.remove_allocation)(each)


def _with_devices(pod: PodRecord, devices: Mapping[int, int], nodes: NodeTable) -> PodRecord:
    requests = {row: number for row, number in pod.shape.requests if row not in nodes.counted} | dict(devices)
    return replaced(pod, shape=dataclasses.replace(pod.shape, serial=next(_SERIALS), requests=tuple(sorted(requests.items()))))
