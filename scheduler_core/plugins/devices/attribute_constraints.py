"""Constraints between the devices of a claim: equal or different values of an attribute."""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.devices import DeviceAttribute
from scheduler_core.model.device_pools import PoolDevice
from scheduler_core.model.devices import AttributeConstraint

_UNKNOWN = DeviceAttribute()
"""Value of a type that 1.37 does not compare."""


def attribute_of(device: PoolDevice, name: str) -> DeviceAttribute | None:
    """Return the attribute with the full *name*; the domain can be omitted in the device if it is the driver."""
    attributes: Mapping[str, DeviceAttribute] = device.content.attributes or {}
    if (found := attributes.get(name)) is not None:
        return found
    domain, slash, own = name.partition("/")
    return attributes.get(own) if slash and domain == device.id[0] else None


class ConstraintState:
    """Values of the devices that are chosen so far."""

    def __init__(self, constraint: AttributeConstraint) -> None:
        self._constraint = constraint
        self._values: list[DeviceAttribute] = []

    def add(self, request: str, alternative: str, device: PoolDevice) -> bool:
        """Add *device*, and return whether the constraint allows it; if not, nothing changes."""
        if not self._applies(request, alternative):
            return True
        value = attribute_of(device, self._constraint.attribute)
        if value is None or not self._allows(value):
            return False
        self._values.append(value)
        return True

    def remove(self, request: str, alternative: str) -> None:
        """Undo the last ``add`` of a device of that request."""
        if self._applies(request, alternative):
            self._values.pop()

    def _allows(self, value: DeviceAttribute) -> bool:
        if not self._values:
            return True
        if value == _UNKNOWN:
            return False
        return value not in self._values if self._constraint.distinct else value == self._values[0]

    def _applies(self, request: str, alternative: str) -> bool:
        names = self._constraint.requests
        return not names or request in names or (bool(alternative) and f"{request}/{alternative}" in names)
