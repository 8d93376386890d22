"""Devices that claims have, and those of allocations that are being written."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping

from kubeapi.gather import Name
from scheduler_core.model.device_claims import KnownClaim
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import Allocation, DeviceId
from scheduler_core.sidecar.writes import ClaimWrite


@dataclasses.dataclass(frozen=True, slots=True)
class _Held:
    """Devices of one claim.

    Attributes:
        allocations: the known allocation, and those in flight with other devices.
        shared: devices that are free only when several consumers of the claim are gone.
        exclusive: devices of the known allocation that no other claim can have.

    """

    allocations: tuple[Allocation, ...] = ()
    shared: frozenset[DeviceId] = frozenset()
    exclusive: frozenset[DeviceId] = frozenset()


_NOTHING = _Held()


class ClaimedDevices:
    """Allocations of *claims*, and of writes in flight.

    Attributes:
        allocated: the allocations by key.
        usage: the devices that they use.
        changed: devices whose use changed since the reader of this set has cleared it.

    """

    def __init__(self, claims: Mapping[Name, KnownClaim], *, qualifies: bool = False) -> None:
        """Create without allocations; *qualifies* as of ``DeviceUsage``."""
        self.allocated: dict[str, Allocation] = {}
        self.usage = DeviceUsage(qualifies=qualifies)
        self.changed: set[DeviceId] = set()
        self._claims = claims
        self._held: dict[Name, _Held] = {}
        self._in_flight: dict[Name, Counter[ClaimWrite]] = {}
        self._released_later: set[Name] = set()
        self._shared: Counter[DeviceId] = Counter()
        self._claims_of_device: dict[DeviceId, set[Name]] = {}

    def is_contended(self, device: DeviceId) -> bool:
        """Return whether *device* is free only when several pods are gone, or several claims have it, or shares of it."""
        return self._shared[device] > 0 or self.usage.users(device) > 1 or self.usage.is_shared(device)

    def also_allocated(self, claim: Name) -> tuple[DeviceId, Name] | None:
        """Return a device of *claim* that another claim has too, which the API server accepts, and that claim; None if there is none."""
        for each in sorted(self._held.get(claim, _NOTHING).exclusive):
            if others := self._claims_of_device[each] - {claim}:
                return each, min(others)
        return None

    def hold(self, claim: Name, write: ClaimWrite) -> None:
        """Count the devices that *write* allocates to *claim* as used until ``give_up``, as often as it was called."""
        self._in_flight.setdefault(claim, Counter())[write] += 1
        self.update(claim)

    def give_up(self, claim: Name, write: ClaimWrite) -> bool:
        """Undo one ``hold``, and return whether devices can be free."""
        writes = self._in_flight.get(claim, Counter())
        if not writes[write]:
            return False
        writes.subtract((write,))
        if not +writes:
            del self._in_flight[claim]
        self.update(claim)
        return True

    def set_releasable(self, claim: Name, *, releasable: bool) -> None:
        """Set whether *claim* can be deallocated when its users are evicted, while pods without a node name it."""
        (self._released_later.add if releasable else self._released_later.discard)(claim)
        self.update(claim)

    def is_held(self, claim: Name) -> bool:
        """Return whether an allocation of *claim* is being written."""
        return claim in self._in_flight

    def drop_holds(self) -> None:
        """Undo every ``hold``, because no write is in flight."""
        claims, self._in_flight = [*self._in_flight], {}
        for claim in claims:
            self.update(claim)

    def update(self, name: Name) -> None:
        """Update the devices of a claim after it has changed."""
        before, after = self._held.pop(name, _NOTHING), self._present(name)
        if after != _NOTHING:
            self._held[name] = after
        if after == before:
            return
        key = "/".join(name)
        for number, allocation in enumerate(before.allocations):
            del self.allocated[_numbered(key, number)]
            self.usage.remove_allocation(allocation)
        for number, allocation in enumerate(after.allocations):
            self.allocated[_numbered(key, number)] = allocation
            self.usage.add_allocation(allocation)
        self._shared.update(after.shared)
        for device in before.shared:
            self._shared[device] -= 1
            if not self._shared[device]:
                del self._shared[device]
        self._set_exclusive(name, before.exclusive, after.exclusive)
        self.changed.update(each.id for allocation in (*before.allocations, *after.allocations) for each in allocation.devices)

    def _present(self, name: Name) -> _Held:
        known = self._claims.get(name)
        allocations = [known.allocation] if known is not None and known.allocation is not None else []
        exclusive = frozenset(each.id for allocation in allocations for each in allocation.devices if not each.admin and not each.shared)
        for write in +self._in_flight.get(name, Counter()):
            if not any(write.allocation.same_devices(other) for other in allocations):
                allocations.append(write.allocation)
        several = known is not None and (len(known.consumers) > 1 or name in self._released_later)
        return _Held(tuple(allocations), _devices(allocations[:1]) if several else frozenset(), exclusive)

    def _set_exclusive(self, name: Name, before: Iterable[DeviceId], after: Iterable[DeviceId]) -> None:
        for device in before:
            self._claims_of_device[device].discard(name)
            if not self._claims_of_device[device]:
                del self._claims_of_device[device]
        for device in after:
            self._claims_of_device.setdefault(device, set()).add(name)


def _numbered(key: str, number: int) -> str:
    return f"{key} {number}" if number else key


def _devices(allocations: Iterable[Allocation]) -> frozenset[DeviceId]:
    return frozenset(each.id for allocation in allocations for each in allocation.devices)
