"""Devices as resources of nodes, so that the page draws them like other resources: for requests that can be counted by node.

A request is counted if it is for a number of devices, has no alternatives, belongs to a claim of one pod, and all devices that it selects
belong to one node each.  Fewer pods can fit than the row says if its claim has constraints.  The row has the name of the device class, with a number for further requests of a class.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from kubeapi.meta import replaced
from kubeapi.resource_claims import DeviceToleration
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.device_pools import DevicePools
from scheduler_core.model.devices import Alternative, DeviceId
from scheduler_core.model.nodes import NodeTable, Rows
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.plugins.devices.selection import AllocationError, Selection
from scheduler_core.plugins.devices.tolerations import tolerated

_MOST = 4
"""Maximum number of rows."""
_Key = tuple[str, tuple[str, ...], tuple[DeviceToleration, ...]]
"""Class, selectors and tolerations of a request."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """Devices of equal requests: the request, name of the row, and node of each device."""

    key: _Key
    name: str
    nodes: Mapping[DeviceId, int]


def with_device_rows(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return *snapshot* with a row of ``NodeTable.allocatable`` for each request of pending pods that can be counted."""
    if snapshot.devices is None:
        return snapshot
    rows = [*_rows(snapshot, snapshot.devices)][:_MOST]
    if not rows:
        return snapshot
    table = _table(snapshot.nodes, rows)
    return dataclasses.replace(snapshot, nodes=table, pods=tuple(_pods(snapshot, snapshot.devices, table, rows)))


def _requests(shape: PodShape) -> Iterator[Alternative]:
    """Yield the requests of the claims of a pod that may be counted."""
    for need in shape.devices:
        if need.spec is None or need.shared:
            continue
        for request in need.spec.requests:
            each = request.alternatives[0]
            if len(request.alternatives) == 1 and not (each.every or each.admin or each.capacity):
                yield each


def _key(alternative: Alternative) -> _Key:
    return alternative.device_class, alternative.selectors, alternative.tolerations


def _rows(snapshot: ClusterSnapshot, objects: DeviceObjects) -> Iterator[_Row]:
    pools, selection = DevicePools(snapshot.nodes, objects.slices), Selection()
    shapes = {pod.shape: None for pod in snapshot.pods if pod.node < 0 and pod.shape.devices}
    names, keys = {*snapshot.nodes.resources}, set[_Key]()
    for alternative in (each for shape in shapes for each in _requests(shape)):
        if (key := _key(alternative)) in keys:
            continue
        keys.add(key)
        if nodes := _devices(snapshot.nodes, pools, selection, alternative):
            numbered = (f"{alternative.device_class} ({number})" for number in itertools.count(2))
            name = next(each for each in itertools.chain((alternative.device_class,), numbered) if each not in names)
            names.add(name)
            yield _Row(key, name, nodes)


def _devices(nodes: NodeTable, pools: DevicePools, selection: Selection, alternative: Alternative) -> dict[DeviceId, int]:
    """Return the node of each device that *alternative* selects; none if one of them can be used on several nodes."""
    node_of: dict[DeviceId, int] = {}
    for node in range(len(nodes)):
        for device in (each for pool in pools.on(node) for each in pool.devices if pools.reaches(each, node)):
            try:
                selected = selection.selects(alternative, 0, device) and tolerated(device.content.taints, alternative.tolerations)
            except AllocationError:
                return {}
            content = device.content
            if selected and (device.id in node_of or content.allow_multiple_allocations or content.consumes_counters):
                return {}
            if selected:
                node_of[device.id] = node
    return node_of


def _table(nodes: NodeTable, rows: Sequence[_Row]) -> NodeTable:
    """Return a copy of *nodes* with *rows*."""
    table = copy.copy(nodes)
    numbers = np.zeros((len(rows), len(nodes)), dtype=np.int64)
    for at, row in enumerate(rows):
        for node, count in Counter(row.nodes.values()).items():
            numbers[at, node] = count
    table.allocatable = np.concatenate((nodes.allocatable, numbers))
    table.resources = (*nodes.resources, *(each.name for each in rows))
    table.row = Rows({name: at for at, name in enumerate(table.resources)})
    return table


def _pods(snapshot: ClusterSnapshot, objects: DeviceObjects, table: NodeTable, rows: Sequence[_Row]) -> Iterator[PodRecord]:
    """Yield the pods with requests of *rows*; devices of claims without a running pod are not on *table*."""
    running = {(pod.namespace, pod.name): pod for pod in snapshot.pods if pod.node >= 0}
    used = _used(objects, table, rows, running)
    row_of = {each.key: table.row[each.name] for each in rows}
    shapes: dict[tuple[int, tuple[tuple[int, int], ...]], PodShape] = {}
    serial = 1 + max((pod.shape.serial for pod in snapshot.pods), default=0)
    for pod in snapshot.pods:
        more = used.get((pod.namespace, pod.name), Counter[int]())
        if pod.node < 0:
            for alternative in _requests(pod.shape):
                if (row := row_of.get(_key(alternative))) is not None:
                    more[row] += alternative.count
        # Rows that placement counts devices in would be drawn twice.
        others = tuple(each for each in pod.shape.requests if each[0] not in snapshot.nodes.counted)
        if not more and len(others) == len(pod.shape.requests):
            yield pod
            continue
        key = pod.shape.serial, tuple(sorted(more.items()))
        if key not in shapes:
            shapes[key] = dataclasses.replace(pod.shape, serial=serial + len(shapes), requests=(*others, *key[1]))
        yield replaced(pod, shape=shapes[key])


def _used(
    objects: DeviceObjects, table: NodeTable, rows: Iterable[_Row], running: Mapping[tuple[str, str], PodRecord]
) -> dict[tuple[str, str], Counter[int]]:
    """Return the devices of *rows* that running pods have, by pod and row; others that are in use are taken off *table*."""
    used: dict[tuple[str, str], Counter[int]] = {}
    seen: set[tuple[DeviceId, str]] = set()
    for (namespace, name), claim in sorted(objects.claims.items()):
        allocation = objects.allocated.get(f"{namespace}/{name}")
        users = [(namespace, user) for kind, user in claim.consumers if kind == "pods" and (namespace, user) in running]
        for device in allocation.devices if allocation is not None else ():
            for row in rows:
                if device.admin or device.id not in row.nodes or (device.id, row.name) in seen:
                    continue
                seen.add((device.id, row.name))
                if users:
                    used.setdefault(users[0], Counter())[table.row[row.name]] += 1
                else:
                    table.allocatable[table.row[row.name], row.nodes[device.id]] -= 1
    return used
