"""Requests of a capacity have a policy only on a device that several claims can share; its values, range and default fit the capacity."""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence

from kubeapi import quantity
from kubeapi.devices import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from kubeapi.field_path import FieldPath, Key
from kubeapi.quantity import Amount
from validators import field
from validators.field import FieldError
from validators.model import slices
from validators.model.views import ResourceSlice
from validators.rules.base import Context, Example, Rule

_MOST_VALUES = 10
_LARGEST = 2**63 - 1


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the policies."""
    if not isinstance(context.new, ResourceSlice):
        return
    for path, device in slices.judged_contents(context.new.spec):
        for name, capacity in (device.capacity or {}).items():
            at = path.join(("capacity", Key(name), "requestPolicy"))
            if capacity.request_policy is None:
                continue
            if not device.allow_multiple_allocations:
                yield field.forbidden(at, "allowMultipleAllocations must be true")
            elif _readable(capacity):
                yield from _policy(at, capacity.request_policy, capacity.value)


def _readable(capacity: DeviceCapacity) -> bool:
    """Return whether all amounts are quantities; others are errors of the shape."""
    policy = capacity.request_policy or CapacityRequestPolicy()
    limits = policy.valid_range or CapacityRequestPolicyRange()
    given = (capacity.value, policy.default, limits.min, limits.max, limits.step, *(policy.valid_values or ()))
    return all(quantity.is_quantity(str(each)) for each in given if each is not None)


def _policy(path: FieldPath, policy: CapacityRequestPolicy, whole: Amount) -> Iterator[FieldError]:
    values, limits = policy.valid_values or (), policy.valid_range
    if values and limits is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        yield field.forbidden(path, text)
    elif (values or limits is not None) and policy.default is None:
        yield field.required(path / "default", f"required when {'validValues' if values else 'validRange'} is defined")
    elif values and policy.default is not None:
        yield from _values(path / "validValues", policy.default, values, whole)
    elif limits is not None and policy.default is not None:
        yield from _range(path / "validRange", policy.default, limits, whole)


def _values(path: FieldPath, default: Amount, values: Sequence[Amount], whole: Amount) -> Iterator[FieldError]:
    amounts = [_amount(each) for each in values]
    for index in range(1, len(values)):
        if amounts[index - 1] > amounts[index]:
            yield field.invalid(path / index, str(values[index]), "values must be sorted in ascending order")
    too_many = len(values) > _MOST_VALUES
    if too_many:
        yield field.too_many(path, len(values), _MOST_VALUES)
    for index, amount in enumerate(() if too_many else amounts):
        if amount > _amount(whole):
            yield field.invalid(path / index, str(values[index]), f"option is larger than capacity value: {whole}")
        if amount in amounts[:index]:
            yield field.duplicate(path / index, str(values[index]))
    if too_many or _amount(default) not in amounts:
        yield field.invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _range(path: FieldPath, default: Amount, limits: CapacityRequestPolicyRange, whole: Amount) -> Iterator[FieldError]:
    if limits.min is None:
        yield field.required(path / "min", "required when validRange is defined")
        return
    least, given, top = _amount(limits.min), _amount(default), _amount(whole)
    if least > top:
        yield field.invalid(path / "min", str(limits.min), f"min is larger than capacity value: {whole}")
    if given < least:
        yield field.invalid(path / "default", str(default), f"default is less than min: {limits.min}")
    if limits.max is not None:
        most = _amount(limits.max)
        if least > most:
            yield field.invalid(path / "max", str(limits.min), f"min is larger than max: {limits.max}")
        if most > top:
            yield field.invalid(path / "max", str(limits.max), f"max is larger than capacity value: {whole}")
        if given > most:
            yield field.invalid(path / "default", str(default), f"default is more than max: {limits.max}")
    if limits.step is not None:
        yield from _steps(path, default, limits.min, limits, whole)


def _steps(path: FieldPath, default: Amount, least: Amount, limits: CapacityRequestPolicyRange, whole: Amount) -> Iterator[FieldError]:
    step = limits.step
    if step is None:
        return
    if _amount(step) <= 0:
        yield field.invalid(path / "step", str(step), "must be greater than zero")
        return
    if (first := _amount(least) + _amount(step)) > _amount(whole):
        yield field.invalid(path / "step", str(step), f"one step {first.normalize():f} is larger than capacity value: {whole}")
    given = {"default": default, "min": least, "max": limits.max, "step": step}
    unsafe = [(name, each, _amount(each)) for name, each in given.items() if each is not None and not 0 <= _amount(each) <= _LARGEST]
    for name, each, amount in unsafe:
        yield field.invalid(
            path / name, str(each), "must be greater than or equal to 0" if amount < 0 else f"must not be larger than {_LARGEST}"
        )
    for value in () if unsafe else (default, limits.max):
        if value is not None and (_amount(value) - _amount(least)) % _amount(step):
            yield field.invalid(path / "step", str(value), f"value is not a multiple of a given step ({step}) from ({least})")


def _amount(written: Amount) -> decimal.Decimal:
    return quantity.exact(written)


_SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-nic}
spec:
  driver: nic.example.com
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  nodeName: n1
  devices:
  - name: eth1
    allowMultipleAllocations: true
    capacity:
      bandwidth:
        value: 100
        requestPolicy: {default: 10, validRange: {min: 10, max: 100, step: 10}}
"""
_AT = "spec.devices[0].capacity[bandwidth].requestPolicy"

RULE = Rule(
    id="slice-capacities",
    kinds=frozenset({"ResourceSlice"}),
    why="The API server refuses other slices: no request could be rounded to an amount of the device.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, validation of ResourceSlice",
    check=check,
    good=(Example(_SLICE), Example(_SLICE.replace("validRange: {min: 10, max: 100, step: 10}", "validValues: [10, 50]"))),
    bad=(
        Example(_SLICE.replace("    allowMultipleAllocations: true\n", ""), at=(_AT,)),
        Example(_SLICE.replace("default: 10, ", ""), at=(f"{_AT}.default",)),
        Example(_SLICE.replace("max: 100", "max: 95"), at=(f"{_AT}.validRange.step",)),
        Example(_SLICE.replace("validRange: {min: 10, max: 100, step: 10}", "validValues: [20, 50]"), at=(f"{_AT}.validValues",)),
    ),
)
