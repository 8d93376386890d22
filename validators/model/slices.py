"""Devices of a ResourceSlice, as the API server validates them."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from validators.model.templates import SPEC
from validators.model.views import DeviceContent, ListedAttribute, ResourceSliceSpec

DEVICES = SPEC / "devices"
_MOST, _MOST_ADVANCED = 128, 64


def most_devices(spec: ResourceSliceSpec) -> int:
    """Return the maximum number of devices of a slice; it is smaller if one has taints, counters or an attribute with several values."""
    for _, each in contents(spec):
        if each.taints or each.consumes_counters or any(is_list(attribute) for attribute in (each.attributes or {}).values()):
            return _MOST_ADVANCED
    return _MOST


def has_too_many(spec: ResourceSliceSpec) -> bool:
    """Return whether a slice has more devices than ``most_devices``."""
    number = len(spec.devices or ())
    return number > _MOST_ADVANCED and number > most_devices(spec)


def is_list(attribute: object) -> bool:
    """Return whether an attribute has a list of values."""
    if not isinstance(attribute, ListedAttribute):
        return False
    return any(each is not None for each in (attribute.ints, attribute.bools, attribute.strings, attribute.versions))


def contents(spec: ResourceSliceSpec) -> Iterator[tuple[FieldPath, DeviceContent]]:
    """Yield the devices of a slice, each with the path of its fields."""
    for index, device in enumerate(spec.devices or ()):
        yield (DEVICES / index if device.basic is None else DEVICES.join((index, "basic"))), device.content


def judged_contents(spec: ResourceSliceSpec) -> Iterator[tuple[FieldPath, DeviceContent]]:
    """Yield the devices whose fields the API server validates: none of a slice that has too many."""
    if not has_too_many(spec):
        yield from contents(spec)
