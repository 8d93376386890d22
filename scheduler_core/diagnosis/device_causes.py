"""Reasons why nodes have no devices for a pod, each with its number of nodes."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.model.device_claims import DeviceLack, DeviceShortage
from scheduler_core.model.device_rows import CountedRequest
from scheduler_core.model.devices import Request
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.placement.state import PlacementState, free_of
from scheduler_core.plugins.dynamic_resources import DeviceAllocation, device_allocation

_Request = tuple[str, str]
"""Claim and request."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceCause:
    """Reason why *nodes* nodes have no devices; ``lack.short`` has at most one request."""

    lack: DeviceLack
    nodes: int

    @property
    def shortage(self) -> DeviceShortage | None:
        """Return the request for which the nodes have too few free devices."""
        return self.lack.short[0] if self.lack.short else None


def causes(state: PlacementState, pod: PodRecord, nodes: Nodes) -> tuple[DeviceCause, ...]:
    """Return why *nodes* have no devices for *pod*, as few reasons as possible, that of the most nodes first."""
    if (plugin := device_plugin(state)) is None or not len(nodes):
        return ()
    lacks = _counted_lacks(state, pod, nodes) if _is_counted(state, pod) else plugin.lacks(pod, nodes)
    found: list[DeviceCause] = []
    # Nodes with the same reason share it.
    count, distinct = Counter(map(id, lacks)), {id(each): each for each in lacks}.values()
    remaining = [each for each in distinct if each.short]
    while remaining:
        number = Counter[_Request]()
        for each in remaining:
            number.update(dict.fromkeys(map(_name, each.short), count[id(each)]))
        # Of equally many, the first request of the pod.
        most = max(number, key=number.__getitem__)
        merged = functools.reduce(DeviceShortage.merged, (short for each in remaining for short in each.short if _name(short) == most))
        found.append(DeviceCause(DeviceLack((merged,)), number[most]))
        remaining = [each for each in remaining if all(_name(short) != most for short in each.short)]
    others = Counter[DeviceLack]()
    for each in distinct:
        if not each.short:
            others[each] += count[id(each)]
    return (*found, *(DeviceCause(lack, nodes_of) for lack, nodes_of in others.most_common()))


def _name(short: DeviceShortage) -> _Request:
    return short.claim, short.request


def device_plugin(state: PlacementState) -> DeviceAllocation | None:
    """Return the plugin that allocates devices; None if no pod or object needs it."""
    return device_allocation(state.stateful.plugins)


def free_devices(state: PlacementState, pod: PodRecord, short: DeviceShortage, nodes: Nodes) -> int:
    """Return the number of devices of *nodes* that are free for the request of *pod* in *short*; -1 if that is no limit for pods."""
    if _is_counted(state, pod):
        rows = (request for label, request in _counted_requests(state, pod) if (label, request.name) == _name(short))
        return next((int(np.maximum(_free_devices(state, each, nodes), 0).sum()) for each in rows), -1)
    return -1 if (plugin := device_plugin(state)) is None else plugin.free_devices(pod, short, nodes)


def _is_counted(state: PlacementState, pod: PodRecord) -> bool:
    """Return whether rows say all about the free devices for *pod*; taints are read from the devices."""
    rows = state.nodes.device_rows
    return rows is not None and not rows.tainted and pod.shape.counts_devices


def _counted_lacks(state: PlacementState, pod: PodRecord, nodes: Nodes) -> Sequence[DeviceLack]:
    """Return for each of *nodes* the requests for which it has too few free devices."""
    requests = [*_counted_requests(state, pod)]
    needed = Counter[str]()
    for _, request in requests:
        needed[request.row] += request.count
    capacity = {request.name: tuple(sorted(request.alternatives[-1].capacity.items())) for request in _requests(pod)}
    first = [*{request.row: (label, request) for label, request in reversed(requests)}.values()]

    def lack(numbers: Sequence[int]) -> DeviceLack:
        short = ((*each, free) for each, free in zip(first, numbers, strict=True) if free < needed[each[1].row])
        return DeviceLack(
            tuple(
                DeviceShortage(
                    label, each.device_class, free, needed[each.row], each.name, each.selectors, capacity=capacity.get(each.name, ())
                )
                for label, each, free in short
            )
        )

    free = np.array([np.maximum(_free_devices(state, request, nodes), 0) for _, request in first], dtype=np.int64).reshape(len(first), -1)
    by_node = [*zip(*free.tolist(), strict=True)] if first else [()] * len(nodes)
    known = {numbers: lack(numbers) for numbers in dict.fromkeys(by_node)}
    return [known[numbers] for numbers in by_node]


def _counted_requests(state: PlacementState, pod: PodRecord) -> Iterator[tuple[str, CountedRequest]]:
    """Yield the requests of the claims of *pod* to allocate, each with the label of its claim."""
    rows = state.nodes.device_rows
    for claim, need in zip(pod.device_claims, pod.shape.devices, strict=True):
        for request in rows.claim(need).requests if rows is not None and need.allocates else ():
            yield claim.label, request


def _requests(pod: PodRecord) -> Iterator[Request]:
    """Yield the requests of the claims of *pod*, except those for extended resources."""
    for need in pod.shape.devices:
        yield from need.spec.requests if need.spec is not None else ()


def _free_devices(state: PlacementState, request: CountedRequest, nodes: Nodes) -> Ints:
    free: Ints = free_of(state, np.array([state.nodes.row[request.row]], dtype=np.int64))[0, nodes]
    return free
