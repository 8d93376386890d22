"""Constraints between the devices of a claim: equal or different values of an attribute."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from kubeapi.devices import DeviceAttribute
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
from scheduler_core.cel import versions
from scheduler_core.cel.values import Fault
from scheduler_core.model.device_pools import PoolDevice
from scheduler_core.model.devices import AttributeConstraint

_UNKNOWN = DeviceAttribute()
"""Value of a type that is not compared."""


class UnreadableValueError(ValueError):
    """A device has a value that kube-scheduler cannot read; it ends the attempt."""


def attribute_of(device: PoolDevice, name: str) -> DeviceAttribute | None:
    """Return the attribute with the full *name*; the domain can be omitted in the device if it is the driver."""
    attributes: Mapping[str, DeviceAttribute] = device.content.attributes or {}
    if (found := attributes.get(name)) is not None:
        return found
    domain, slash, own = name.partition("/")
    return attributes.get(own) if slash and domain == device.id[0] else None


class ConstraintState:
    """Values of the devices that are chosen so far."""

    def __init__(self, constraint: AttributeConstraint, behavior: SchedulerBehavior) -> None:
        self._constraint, self._behavior = constraint, behavior
        self._values: list[Hashable] = []

    def add(self, request: str, alternative: str, device: PoolDevice) -> bool:
        """Add *device*, and return whether the constraint allows it; if not, nothing changes.

        Raises:
            UnreadableValueError: the version does not compare the value of the device.

        """
        if not self._applies(request, alternative):
            return True
        attribute = attribute_of(device, self._constraint.attribute)
        if attribute is None:
            return False
        value = self._compared(attribute, device) if self._behavior.compares_versions else attribute
        if not self._allows(value):
            return False
        self._values.append(value)
        return True

    def remove(self, request: str, alternative: str) -> None:
        """Undo the last ``add`` of a device of that request."""
        if self._applies(request, alternative):
            self._values.pop()

    def _compared(self, value: DeviceAttribute, device: PoolDevice) -> Hashable:
        try:
            if value != _UNKNOWN:
                return value if value.version is None else versions.parse(value.version)
        except Fault:
            pass
        raise UnreadableValueError(f"device {'/'.join(device.id)}: unsupported attribute value for {self._constraint.attribute}")

    def _allows(self, value: Hashable) -> bool:
        if not self._values:
            return True
        if value == _UNKNOWN:
            return False
        return value not in self._values if self._constraint.distinct else value == self._values[0]

    def _applies(self, request: str, alternative: str) -> bool:
        names = self._constraint.requests
        return not names or request in names or (bool(alternative) and f"{request}/{alternative}" in names)
