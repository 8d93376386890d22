"""Amounts of slices and claims: an object with one that is not a quantity cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeapi import quantity
from kubeapi.devices import CapacityRequestPolicy, CapacityRequestPolicyRange, Counter, DeviceContent, ResourceSliceSpec
from kubeapi.gathered import Unusable
from kubeapi.quantity import Amount
from kubeapi.resource_claims import AllocationResult, DeviceRequest, DeviceSubRequest, ResourceClaimSpec

_Found = tuple[tuple[str | int, ...], Amount]
"""An amount, after the parts of its field path."""


def check_slice(spec: ResourceSliceSpec) -> None:
    """Raise Unusable, with the field path, if a capacity or counter of a slice is not a quantity."""
    _check(_of_slice(spec))


def check_claim(path: str, spec: ResourceClaimSpec) -> None:
    """Raise Unusable, with the field path, if an amount that a claim with *spec* at *path* requests is not a quantity."""
    _check(_of_requests(path, spec.devices.requests or ()))


def check_allocation(allocation: AllocationResult) -> None:
    """Raise Unusable, with the field path, if a consumed capacity is not a quantity."""
    for index, each in enumerate(allocation.devices.results or ()):
        at = "status.allocation.devices.results[", index, "].consumedCapacity["
        _check(((*at, name, "]"), amount) for name, amount in (each.consumed_capacity or {}).items())


def _check(amounts: Iterable[_Found]) -> None:
    for path, amount in amounts:
        try:
            quantity.exact(amount)
        except ValueError as error:
            raise Unusable(f"{''.join(map(str, path))}: {error}") from None


def _of_slice(spec: ResourceSliceSpec) -> Iterator[_Found]:
    for index, counters in enumerate(spec.shared_counters or ()):
        yield from _of_counters(("spec.sharedCounters[", index), counters.counters)
    for index, device in enumerate(spec.devices or ()):
        if device.basic is None:
            yield from _of_device(("spec.devices[", index, "]."), device)
        else:
            yield from _of_device(("spec.devices[", index, "].basic."), device.basic)


def _of_device(at: tuple[str | int, ...], content: DeviceContent) -> Iterator[_Found]:
    for name, capacity in (content.capacity or {}).items():
        yield (*at, "capacity[", name, "].value"), capacity.value
        if capacity.request_policy is not None:
            for field, amount in _of_policy(capacity.request_policy):
                yield (*at, "capacity[", name, "].requestPolicy.", *field), amount
    for index, use in enumerate(content.consumes_counters or ()):
        yield from _of_counters((*at, "consumesCounters[", index), use.counters)


def _of_counters(at: tuple[str | int, ...], counters: Mapping[str, Counter] | None) -> Iterator[_Found]:
    for name, counter in (counters or {}).items():
        yield (*at, "].counters[", name, "].value"), counter.value


def _of_policy(policy: CapacityRequestPolicy) -> Iterator[_Found]:
    limits = policy.valid_range or CapacityRequestPolicyRange()
    fields = {"default": policy.default, "validRange.min": limits.min, "validRange.max": limits.max, "validRange.step": limits.step}
    yield from (((field,), amount) for field, amount in fields.items() if amount is not None)
    yield from ((("validValues[", index, "]"), amount) for index, amount in enumerate(policy.valid_values or ()))


def _of_requests(path: str, requests: Iterable[DeviceRequest]) -> Iterator[_Found]:
    for index, request in enumerate(requests):
        at = path, ".devices.requests[", index, "]"
        yield from _of_request(at, request)
        if request.exactly is not None:
            yield from _of_request((*at, ".exactly"), request.exactly)
        for number, alternative in enumerate(request.first_available or ()):
            yield from _of_request((*at, ".firstAvailable[", number, "]"), alternative)


def _of_request(at: tuple[str | int, ...], request: DeviceSubRequest) -> Iterator[_Found]:
    if request.capacity is not None:
        yield from (((*at, ".capacity.requests[", name, "]"), amount) for name, amount in (request.capacity.requests or {}).items())
