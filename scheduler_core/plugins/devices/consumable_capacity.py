"""Capacity that a request consumes of a device (Kubernetes 1.37.1 and 1.38.0-beta.0, consumable_capacity of the incubating allocator)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_DOWN, Context, Decimal

from kubeapi import quantity
from kubeapi.devices import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from scheduler_core.model.devices import full_name

_LARGEST = 2**63 - 1
_NEGATIVE = "capacity value is negative"
_MILLI = Decimal("0.001")
_EXACT = Context(prec=64)
"""Represents all amounts that ``quantity.exact`` returns."""


class CapacityError(ValueError):
    """A request that kube-scheduler cannot represent; it ends the attempt."""


def consumed_capacity(requested: Mapping[str, Decimal], offered: Mapping[str, DeviceCapacity] | None) -> dict[str, Decimal] | None:
    """Return the amount of each capacity of a device that a request consumes; None if the device lacks a capacity.

    Raises:
        CapacityError: an amount is negative or cannot be represented.

    """
    offered = offered or {}
    if not requested.keys() <= offered.keys():
        return None
    return {name: _checked(name, requested.get(name), capacity) for name, capacity in sorted(offered.items())}


def as_published(requested: Mapping[str, Decimal], offered: Iterable[str], driver: str) -> Mapping[str, Decimal]:
    """Return the *requested* amounts by the names of the distinct capacities that a device of *driver* *offered*.

    A name without a domain has that of the driver, in requests and devices (Kubernetes 1.38).

    Raises:
        CapacityError: a capacity is requested by both names, or less than none of one is, which 1.37 rounds up.

    """
    names = {full_name(name, driver): name for name in offered}
    amounts: dict[str, Decimal] = {}
    written: dict[str, str] = {}
    for name, amount in requested.items():
        full = full_name(name, driver)
        if (other := written.setdefault(full, name)) != name:
            raise CapacityError(f'capacity "{full.rpartition("/")[2]}" requested both as "{name}" and as "{other}"')
        amounts[names.get(full, name)] = amount
        if amount < 0 and full in names:
            raise CapacityError(f'capacity "{full}": {_NEGATIVE}: request {amount}')
    return amounts


def is_sufficient(requested: Mapping[str, Decimal], offered: Mapping[str, DeviceCapacity] | None) -> bool:
    """Return whether the capacity of a device without shares is sufficient for a request.

    Raises:
        CapacityError: as ``consumed_capacity``.

    """
    if not offered:
        return not requested
    consumed = consumed_capacity(requested, offered)
    return consumed is not None and all(
        is_allowed(amount, offered[name].request_policy) and amount <= quantity.exact(offered[name].value)
        for name, amount in consumed.items()
    )


def is_allowed(consumed: Decimal, policy: CapacityRequestPolicy | None) -> bool:
    """Return whether *policy* allows to consume an amount."""
    if policy is None or (policy.default is not None and consumed == quantity.exact(policy.default)):
        return True
    if policy.valid_range is not None:
        return _is_in_range(consumed, policy.valid_range)
    return not policy.valid_values or any(consumed == quantity.exact(each) for each in policy.valid_values)


def _checked(name: str, requested: Decimal | None, capacity: DeviceCapacity) -> Decimal:
    try:
        consumed = _consumed(requested, capacity)
    except CapacityError as error:
        raise CapacityError(f'capacity "{name}": {error}') from None
    if consumed < 0:
        raise CapacityError(f'capacity "{name}": {_NEGATIVE}')
    return consumed


def _consumed(requested: Decimal | None, capacity: DeviceCapacity) -> Decimal:
    policy = capacity.request_policy
    if requested is None:
        default = policy.default if policy is not None else None
        return quantity.exact(capacity.value if default is None else default)
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(requested, policy.valid_range, quantity.exact(policy.valid_range.min))
    values = (quantity.exact(each) for each in policy.valid_values or ())
    return next((each for each in values if requested <= each), requested)


def _rounded_up(requested: Decimal, allowed: CapacityRequestPolicyRange, least: Decimal) -> Decimal:
    if requested <= least:
        return least
    if allowed.step is None:
        return requested
    unit = _unit(allowed)
    if unit == _MILLI and not _is_milli_value(requested):
        raise CapacityError(f"{_NOT_REPRESENTABLE}: request {requested} is not a representable milli value")
    if unit == 1 and requested > _LARGEST:
        raise CapacityError(f"{_NOT_REPRESENTABLE}: request {requested} exceeds MaxInt64")
    step, start = _units(quantity.exact(allowed.step), unit), _units(least, unit)
    missing = _units(requested, unit) - start
    steps = missing // step + bool(missing % step) if step else 0
    if (total := start + steps * step) > _LARGEST:
        raise CapacityError(f"{_NOT_REPRESENTABLE}: rounding request {requested} up to the next step passes MaxInt64")
    return total * unit


_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"


def _is_in_range(consumed: Decimal, allowed: CapacityRequestPolicyRange) -> bool:
    if allowed.max is not None and consumed > quantity.exact(allowed.max):
        return False
    if allowed.step is None:
        return True
    unit = _unit(allowed)
    if unit == _MILLI and not _is_milli_value(consumed):
        return False
    least = Decimal(0) if allowed.min is None else quantity.exact(allowed.min)
    step = _units(quantity.exact(allowed.step), unit)
    return not step or (_units(consumed, unit) - _units(least, unit)) % step == 0


def _unit(allowed: CapacityRequestPolicyRange) -> Decimal:
    """Return the unit in which kube-scheduler computes: thousandths if all amounts are whole thousandths, else whole units."""
    return _MILLI if all(map(_is_milli_value, _amounts(allowed))) else Decimal(1)


def _is_milli_value(amount: Decimal) -> bool:
    """Return whether *amount* is a number of whole thousandths that has 64 bits."""
    return amount == amount.quantize(_MILLI, ROUND_DOWN, _EXACT) and abs(amount) * 1000 <= _LARGEST


def _amounts(allowed: CapacityRequestPolicyRange) -> Iterator[Decimal]:
    return (quantity.exact(each) for each in (allowed.min, allowed.max, allowed.step) if each is not None)


def _units(amount: Decimal, unit: Decimal) -> int:
    """Return *amount* in *unit*, rounded away from zero as kube-scheduler rounds amounts."""
    return int(_EXACT.divide(amount, unit).to_integral_value(ROUND_CEILING))
