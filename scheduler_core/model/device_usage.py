"""Devices in use: of allocated claims, and of claims that earlier pods of the cycle have taken."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

from kubeapi.base_structs import MutableRecord
from scheduler_core.model.devices import Allocation, DeviceId, GivenDevice, full_name

_NOTHING = Decimal(0)
_NO_AMOUNTS: Mapping[str, Decimal] = types.MappingProxyType({})


class Use(MutableRecord):
    """Use of a device: number of claims that have it for themselves, number of its shares, and the capacity that the shares consume."""

    users: int = 0
    shares: int = 0
    consumed: Mapping[str, Decimal] = _NO_AMOUNTS


_UNUSED = Use()


class DeviceUsage:
    """Number of users of each device, and the capacity of shared devices that is consumed.

    Attributes:
        versions: changes of each pool so far, by driver and pool.
        changed: the pools of all changes so far, if a reader has set it.
        given_back: number of allocations that were removed so far.

    """

    def __init__(self, allocations: Iterable[Allocation] = (), base: DeviceUsage | None = None, *, qualifies: bool = False) -> None:
        """Record *allocations* as used, besides those of *base*, which is not changed and must not change meanwhile.

        If it *qualifies*, as *base* must, names of capacities without a domain have that of the driver.
        """
        self._qualifies = qualifies
        self._uses: dict[DeviceId, Use] = {}
        self._base = base
        self.versions: Counter[tuple[str, str]] = Counter()
        self.changed: list[tuple[str, str]] | None = None
        self.given_back = 0
        for each in allocations:
            self.add_allocation(each)

    def add_allocation(self, allocation: Allocation, amount: int = 1) -> None:
        """Record the devices of *allocation* as used, by *amount* more claims."""
        uses, versions, changed = self._uses, self.versions, self.changed
        for each in allocation.devices:
            # With admin access, other claims can have the device too.
            if each.admin:
                continue
            name = each.id
            pool = name[:2]
            versions[pool] = versions.get(pool, 0) + 1
            if changed is not None:
                changed.append(pool)
            if (use := uses.get(name)) is None:
                before = _UNUSED if self._base is None else self._base.use(name)
                use = uses[name] = Use(before.users, before.shares, before.consumed)
            if each.shared:
                self._change_shares(use, each, amount)
            else:
                use.users += amount
            if self._base is None and not use.users and not use.shares:
                del uses[name]

    def remove_allocation(self, allocation: Allocation) -> None:
        """Undo ``add_allocation``."""
        self.given_back += 1
        self.add_allocation(allocation, -1)

    def use(self, device: DeviceId) -> Use:
        """Return the use of *device*, which the caller must not change."""
        if (use := self._uses.get(device)) is None:
            return _UNUSED if self._base is None else self._base.use(device)
        return use

    def is_taken(self, device: DeviceId) -> bool:
        """Return whether a claim has *device* for itself."""
        return self.use(device).users > 0

    def users(self, device: DeviceId) -> int:
        """Return the number of claims that have *device* for themselves."""
        return self.use(device).users

    def is_shared(self, device: DeviceId) -> bool:
        """Return whether claims have shares of *device*."""
        return self.use(device).shares > 0

    def is_used(self, device: DeviceId) -> bool:
        """Return whether a claim has *device*, or a share of it."""
        use = self.use(device)
        return use.users > 0 or use.shares > 0

    def consumed(self, device: DeviceId, capacity: str) -> Decimal:
        """Return how much of a capacity of *device* its shares consume."""
        return self.use(device).consumed.get(full_name(capacity, device[0]) if self._qualifies else capacity, _NOTHING)

    def state(self, device: DeviceId) -> object:
        """Return the same for devices that are used in the same way."""
        use = self.use(device)
        if not use.users and not use.shares:
            return None
        return use.users > 0, use.shares > 0, tuple(sorted(use.consumed.items()))

    def _change_shares(self, use: Use, given: GivenDevice, amount: int) -> None:
        use.shares += amount
        more = {name: use.consumed.get(name, _NOTHING) + amount * value for name, value in self._amounts(given).items()}
        use.consumed = {**use.consumed, **more} if use.shares else {}

    def _amounts(self, given: GivenDevice) -> Mapping[str, Decimal]:
        """Return what a share consumes; of a capacity with two names, the amount by the name with the domain."""
        if not self._qualifies:
            return dict(given.consumed)
        return {full_name(name, given.id[0]): value for name, value in sorted(given.consumed, key=lambda each: "/" in each[0])}
