"""Devices for claims whose devices are counted and alike: the first free ones of a node, in kube-scheduler's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler_core.model.device_claims import DeviceNeed
from scheduler_core.model.device_pools import PoolDevice
from scheduler_core.model.device_rows import DeviceRows
from scheduler_core.model.devices import Allocation, DeviceId
from scheduler_core.plugins.devices.chosen_devices import Choice
from scheduler_core.plugins.devices.node_allocations import NodeAllocations


class CountedClaims:
    """Choice of devices that *rows* count; the search of *found* would choose the same."""

    def __init__(self, rows: DeviceRows, found: NodeAllocations) -> None:
        self._rows = rows
        self._found = found

    def allocations(self, needs: Iterable[DeviceNeed], node: int) -> list[Allocation] | None:
        """Return the allocations of claims with *needs* on *node*; None if it has too few devices."""
        chosen: set[DeviceId] = set()
        result = []
        for need in needs:
            choices: list[tuple[Choice, PoolDevice]] = []
            for request in self._rows.claim(need).requests:
                for _ in range(request.count):
                    if (device := next(self._free(request.row, node, chosen), None)) is None:
                        return None
                    chosen.add(device.id)
                    choices.append((Choice(request.name, device, admin=False), device))
            result.append(self._found.allocation(choices, node))
        return result

    def _free(self, row: str, node: int, chosen: set[DeviceId]) -> Iterator[PoolDevice]:
        """Yield the devices of *row* that are neither in use nor *chosen*."""
        counted, usage = self._rows.devices, self._found.usage
        for pool in self._found.pools.on(node):
            for device in pool.devices:
                name = device.id
                # Most devices of a node that is filled are in use, and that is known at once.
                if not usage.is_taken(name) and name not in chosen and (found := counted.get(name)) is not None and row in found[1]:
                    yield device
