"""Devices in use: of allocated claims, and of claims that earlier pods of the cycle have taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal

from scheduler_core.model.devices import Allocation, DeviceId, GivenDevice

_NOTHING = Decimal(0)


class DeviceUsage:
    """Number of users of each device, and the capacity of shared devices that is consumed.

    Attributes:
        versions: changes of each pool so far, by driver and pool.

    """

    def __init__(self, allocations: Iterable[Allocation] = ()) -> None:
        self._users: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._consumed: dict[DeviceId, dict[str, Decimal]] = {}
        self.versions: Counter[tuple[str, str]] = Counter()
        for each in allocations:
            self.add_allocation(each)

    def add_allocation(self, allocation: Allocation) -> None:
        """Record the devices of *allocation* as used."""
        self._change(allocation, 1)

    def remove_allocation(self, allocation: Allocation) -> None:
        """Undo ``add_allocation``."""
        self._change(allocation, -1)

    def is_taken(self, device: DeviceId) -> bool:
        """Return whether a claim has *device* for itself."""
        return self._users[device] > 0

    def users(self, device: DeviceId) -> int:
        """Return the number of claims that have *device* for themselves."""
        return self._users[device]

    def is_shared(self, device: DeviceId) -> bool:
        """Return whether claims have shares of *device*."""
        return self._shares[device] > 0

    def is_used(self, device: DeviceId) -> bool:
        """Return whether a claim has *device*, or a share of it."""
        return self.is_taken(device) or self.is_shared(device)

    def consumed(self, device: DeviceId, capacity: str) -> Decimal:
        """Return how much of a capacity of *device* its shares consume."""
        return self._consumed.get(device, {}).get(capacity, _NOTHING)

    def state(self, device: DeviceId) -> object:
        """Return the same for devices that are used in the same way."""
        if device not in self._users and device not in self._shares:
            return None
        shares = tuple(sorted(self._consumed.get(device, {}).items()))
        return self.is_taken(device), self.is_shared(device), shares

    def _change(self, allocation: Allocation, amount: int) -> None:
        for each in _exclusive(allocation):
            self.versions[each.id[:2]] += 1
            if not each.shared:
                _add(self._users, each.id, amount)
                continue
            _add(self._shares, each.id, amount)
            consumed = self._consumed.setdefault(each.id, {})
            for name, value in each.consumed:
                consumed[name] = consumed.get(name, _NOTHING) + amount * value
            if each.id not in self._shares:
                del self._consumed[each.id]


def _exclusive(allocation: Allocation) -> Iterator[GivenDevice]:
    """Return the devices that no other claim can have; with admin access others can."""
    return (each for each in allocation.devices if not each.admin)


def _add(counter: Counter[DeviceId], device: DeviceId, amount: int) -> None:
    counter[device] += amount
    if not counter[device]:
        del counter[device]
