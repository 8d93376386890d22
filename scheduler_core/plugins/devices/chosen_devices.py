"""Devices that the search has chosen for the claims of a pod so far."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

from kubeapi import quantity
from kubeapi.base_structs import Record
from kubeapi.devices import DeviceCapacity
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
from scheduler_core.causes.filter_reasons import DeviceAdvice
from scheduler_core.model.device_pools import NodePool, PoolDevice
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import MOST_ALTERNATIVES, Alternative, ClaimSpec, DeviceId, Request, distinct
from scheduler_core.plugins.devices.attribute_constraints import ConstraintState, UnreadableValueError
from scheduler_core.plugins.devices.consumable_capacity import (
    CapacityError,
    as_published,
    consumed_capacity,
    is_allowed,
)
from scheduler_core.plugins.devices.selection import AllocationError
from scheduler_core.plugins.devices.shared_counters import CounterState
from scheduler_core.plugins.devices.tolerations import tolerated

_NOTHING = Decimal(0)
Undo = Callable[[], None]


class Choice(Record, frozen=True, eq=False):
    """Device for a request, with the capacity that it consumes if it is a share."""

    request: str
    device: PoolDevice
    admin: bool
    consumed: tuple[tuple[str, Decimal], ...] = ()


class NamedSpec(Record, frozen=True):
    """Specification of a claim to allocate; messages name the claim."""

    name: str
    spec: ClaimSpec


class Wanted(Record, frozen=True):
    """Alternative of a request of a claim."""

    claim: int
    request: Request
    alternative: Alternative

    @property
    def name(self) -> str:
        """Return the name in an allocation."""
        return self.request.written(self.alternative)


class ChosenDevices:
    """Choices for each claim, with what they consume."""

    def __init__(self, claims: Sequence[NamedSpec], usage: DeviceUsage, behavior: SchedulerBehavior) -> None:
        self._usage, self._behavior = usage, behavior
        self._constraints = [[ConstraintState(constraint, behavior) for constraint in claim.spec.constraints] for claim in claims]
        self.of_claim: list[list[Choice]] = [[] for _ in claims]
        self._taken: defaultdict[DeviceId, Counter[int]] = defaultdict(Counter)
        self._shares: Counter[DeviceId] = Counter()
        self._consumed: defaultdict[DeviceId, defaultdict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
        self._counters = CounterState(usage)

    def is_blocked(self, wanted: Wanted, device: PoolDevice) -> bool:
        """Return whether *device* is in use; with admin access only the same claim matters."""
        if wanted.alternative.admin:
            return device.id in self._taken and self._taken[device.id][wanted.claim] > 0
        if self._behavior.guards_shared_devices and not device.content.allow_multiple_allocations and self._usage.is_shared(device.id):
            return True
        return self._usage.is_taken(device.id) or (device.id in self._taken and self._taken[device.id].total() > 0)

    def is_chosen(self, device: PoolDevice) -> bool:
        """Return whether *device*, or a share of it, is chosen for some claim."""
        return bool(self._shares[device.id]) or (device.id in self._taken and self._taken[device.id].total() > 0)

    def tolerates(self, wanted: Wanted, device: PoolDevice) -> bool:
        """Return whether the request tolerates the taints of *device*."""
        return tolerated(device.content.taints, wanted.alternative.tolerations)

    def fits(self, wanted: Wanted, device: PoolDevice, *, unused: bool = False) -> bool:
        """Return whether the capacity of *device* suffices, or would if it were *unused*.

        Raises:
            AllocationError: kube-scheduler cannot represent an amount.

        """
        capacity = self._offered(device)
        if not capacity:
            return not wanted.alternative.capacity
        try:
            consumed = consumed_capacity(self._requested(wanted, device), capacity)
        except CapacityError as error:
            name = "/".join(device.id)
            message = f", request {wanted.name}: checking capacity for device {name}: {error}"
            raise AllocationError(message, wanted.claim) from None
        if consumed is None:
            return False
        for name, amount in consumed.items():
            before = _NOTHING if unused else self._usage.consumed(device.id, name) + self._consumed_now(device.id, name)
            if not is_allowed(amount, capacity[name].request_policy) or before + amount > quantity.exact(capacity[name].value):
                return False
        return True

    def _requested(self, wanted: Wanted, device: PoolDevice) -> Mapping[str, Decimal]:
        """Return the requested amounts, by the names of capacities that *device* has.  Raises CapacityError."""
        requested = wanted.alternative.capacity
        return (
            as_published(requested, self._offered(device), device.id[0]) if requested and self._behavior.qualifies_capacities else requested
        )

    def _offered(self, device: PoolDevice) -> Mapping[str, DeviceCapacity]:
        """Return the capacities of *device*."""
        offered = device.content.capacity or {}
        return distinct(offered, device.id[0]) if offered and self._behavior.qualifies_capacities else offered

    def choose_device(self, wanted: Wanted, pool: NodePool, device: PoolDevice, *, must: bool) -> Undo | None:
        """Choose *device*, which is selectable, and return how to undo that; None if it cannot be chosen.

        Raises:
            AllocationError: *must*, and a constraint excludes the device; or kube-scheduler cannot read the value of an attribute.

        """
        shared = device.content.allow_multiple_allocations
        if self.is_blocked(wanted, device) and not (shared and wanted.alternative.admin):
            return None
        undone: list[Undo] = []
        if self._consumes_counters(device):
            if not self._counters.consume(pool, device):
                return None
            undone.append(lambda: self._counters.restore_counters(pool, device))
        able = self.tolerates(wanted, device) and self._constrain(wanted, device, undone, must=must)
        if not able or not self.fits(wanted, device):
            _undo(undone)
            return None
        self._record(wanted, device, undone)
        return lambda: _undo(undone)

    def has_counters(self, pool: NodePool, device: PoolDevice) -> bool:
        """Return whether the shared counters that are left suffice for *device*."""
        if not self._consumes_counters(device):
            return True
        if not self._counters.consume(pool, device):
            return False
        self._counters.restore_counters(pool, device)
        return True

    def _consumes_counters(self, device: PoolDevice) -> bool:
        if not device.content.consumes_counters:
            return False
        # A further share of a device consumes no counters.
        return not (device.content.allow_multiple_allocations and (self._usage.is_shared(device.id) or self._shares[device.id]))

    def _constrain(self, wanted: Wanted, device: PoolDevice, undone: list[Undo], *, must: bool) -> bool:
        names = wanted.request.name, wanted.alternative.name
        own = wanted.alternative.name or wanted.request.name
        for each in self._constraints[wanted.claim]:
            try:
                added = each.add(*names, device)
            except UnreadableValueError as error:
                _undo(undone)
                raise AllocationError(f", request {own}: {error}", wanted.claim) from None
            if added:
                undone.append(lambda constraint=each: constraint.remove(*names))  # type: ignore[misc]
            elif must:
                _undo(undone)
                name = "/".join(device.id)
                reason = "because a claim constraint would not be satisfied"
                message = f", request {own}: cannot add device {name} {reason}"
                raise AllocationError(message, wanted.claim, DeviceAdvice.DROP_CONSTRAINT)
            else:
                return False
        return True

    def _record(self, wanted: Wanted, device: PoolDevice, undone: list[Undo]) -> None:
        chosen = self.of_claim[wanted.claim]
        consumed: tuple[tuple[str, Decimal], ...] = ()
        if device.content.allow_multiple_allocations:
            amounts = consumed_capacity(self._requested(wanted, device), self._offered(device)) or {}
            consumed = tuple(sorted(amounts.items()))
            self._share(device.id, consumed, 1)
            undone.append(lambda: self._share(device.id, consumed, -1))
        else:
            self._taken[device.id][wanted.claim] += 1
            undone.append(lambda: self._taken[device.id].subtract((wanted.claim,)))
        chosen.append(Choice(wanted.name, device, wanted.alternative.admin, consumed))
        undone.append(lambda: (chosen.pop(), None)[1])

    def _share(self, device: DeviceId, consumed: tuple[tuple[str, Decimal], ...], amount: int) -> None:
        self._shares[device] += amount
        for name, value in consumed:
            self._consumed[device][name] += amount * value

    def _consumed_now(self, device: DeviceId, capacity: str) -> Decimal:
        return self._consumed[device][capacity] if device in self._consumed else _NOTHING


def _undo(undone: list[Undo]) -> None:
    while undone:
        undone.pop()()


def preference(spec: ClaimSpec, requests: set[str]) -> int:
    """Return the score of the alternatives among *requests*, as written in an allocation: more for earlier ones."""
    return sum(_preferences(spec, requests))


def _preferences(spec: ClaimSpec, requests: set[str]) -> Iterator[int]:
    for request in spec.requests:
        for index, wanted in enumerate(request.alternatives):
            if wanted.name and request.written(wanted) in requests:
                yield MOST_ALTERNATIVES - index
