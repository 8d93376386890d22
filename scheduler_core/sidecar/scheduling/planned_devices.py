"""Devices that nominated pods are to get for claims of their own which their victims still have."""

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
    """Return the devices that the nominated *pods* of a root can have for the claims *named*, by key, when all claims *freed* have none.

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
            if claim.key in named:
                found.setdefault(claim.key, (original, allocation))
    return [found[key] for key in sorted(found)]


def requesting(planned: Iterable[tuple[PodRecord, Allocation]], nodes: NodeTable) -> list[PodRecord]:
    """Return the pods of *planned*, which also request the devices of their allocations that rows of *nodes* count."""
    more: dict[str, Counter[int]] = {}
    pods = {pod.key: pod for pod, _ in planned}
    for pod, allocation in planned if nodes.device_rows is not None else ():
        for (row, node), number in nodes.device_rows.in_use([allocation]).items() if nodes.device_rows is not None else ():
            if node == nodes.names[pod.nominated]:
                more.setdefault(pod.key, Counter())[nodes.row[row]] += number
    return [_with_requests(pods[key], numbers) for key, numbers in more.items()]


def hold_devices(state: PlacementState, allocations: Sequence[Allocation], sign: int) -> None:
    """Let pods not take the devices of *allocations*, or (*sign* -1) undo it."""
    for plugin in state.stateful.plugins if allocations else ():
        if isinstance(plugin, DeviceAllocation) and plugin.claims is not None:
            usage = plugin.claims.found.usage
            for each in allocations:
                (usage.add_allocation if sign > 0 else usage.remove_allocation)(each)


def _with_requests(pod: PodRecord, more: Mapping[int, int]) -> PodRecord:
    requests = Counter(dict(pod.shape.requests)) + Counter(more)
    return replaced(pod, shape=dataclasses.replace(pod.shape, serial=next(_SERIALS), requests=tuple(sorted(requests.items()))))
