"""Devices for claims whose devices are counted and alike: the first free ones of a node, in kube-scheduler's order."""

from __future__ import annotations

from collections.abc import Container

from scheduler_core.model.device_pools import NodePool, PoolDevice
from scheduler_core.model.device_rows import CountedRequest, DeviceRows
from scheduler_core.model.devices import Allocation, DeviceId
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.devices.node_allocations import NodeAllocations, given_device


class CountedClaims:
    """Choice of devices that *rows* count; the search of *found* would choose the same."""

    def __init__(self, rows: DeviceRows, found: NodeAllocations) -> None:
        self._rows = rows
        self._found = found
        # Number of the first devices of a pool that are in use or not of the row, until a device is given back.
        self._skipped: dict[tuple[str, NodePool], int] = {}
        self._given_back = found.usage.given_back
        self._requests: dict[tuple[PodShape, tuple[int, ...]], list[tuple[CountedRequest, ...]]] = {}

    def allocations(self, shape: PodShape, positions: tuple[int, ...], node: int) -> list[Allocation] | None:
        """Return the allocations of the claims of a pod of *shape* at *positions* on *node*; None if it has too few devices."""
        if (claims := self._requests.get((shape, positions))) is None:
            needs = [shape.devices[position] for position in positions]
            claims = self._requests[shape, positions] = [self._rows.claim(need).requests for need in needs]
        if self._given_back != self._found.usage.given_back:
            self._given_back = self._found.usage.given_back
            self._skipped.clear()
        chosen: set[DeviceId] = set()
        result = []
        for requests in claims:
            devices: list[PoolDevice] = []
            given = []
            for request in requests:
                for _ in range(request.count):
                    if (device := self._first_free(request.row, node, chosen)) is None:
                        return None
                    chosen.add(device.id)
                    devices.append(device)
                    given.append(given_device(request.name, device))
            result.append(self._found.allocation(given, devices, node))
        return result

    def _first_free(self, row: str, node: int, chosen: Container[DeviceId]) -> PoolDevice | None:
        """Return the first device of *row* that is neither in use nor *chosen*; None if there is none."""
        counted, usage = self._rows.devices, self._found.usage
        for pool in self._found.pools.on(node):
            skipped = start = self._skipped.get((row, pool), 0)
            for number in range(start, len(pool.devices)):
                device = pool.devices[number]
                if usage.use(device.id).users or (found := counted.get(device.id)) is None or row not in found[1]:
                    if number == skipped:
                        skipped += 1
                elif device.id not in chosen:
                    break
            else:
                device = None
            if skipped > start:
                self._skipped[row, pool] = skipped
            if device is not None:
                return device
        return None
