"""Devices that drivers publish, specifications of claims to them, and allocations (dynamic resource allocation).

The specification of a claim is part of a pod's shape, without the name of the claim; only a claim that several pods use is named there.
"""

from __future__ import annotations

import dataclasses
import decimal
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, TypeVar

from kubeapi.base_structs import Record
from kubeapi.selectors import NodeSelector

if TYPE_CHECKING:
    # Clusters without devices do not load the types of their objects.
    from kubeapi.devices import CounterSet, Device
    from kubeapi.resource_claims import DeviceToleration

_Published = TypeVar("_Published")
DeviceId = tuple[str, str, str]
"""Driver, pool, device."""
Amounts = Mapping[str, decimal.Decimal]
"""Amounts by name."""
UNAVAILABLE = "resourceclaim not available on the node"
"""Reason of kube-scheduler for a node that cannot use the devices of an allocated claim."""
CANNOT_ALLOCATE = "cannot allocate all claims"
INVALID_POOLS = "invalid resource pools were encountered"
"""Reason of kube-scheduler for a node without devices for the claims of a pod."""
MOST_DEVICES = 32
"""Maximum number of devices of one claim."""
MOST_CONSUMERS = 256
"""Maximum number of pods and PodGroups for which a claim is reserved."""
MOST_ALTERNATIVES = 8
"""Maximum number of alternatives of a request."""


def full_name(name: str, driver: str) -> str:
    """Return the *name* of an attribute or capacity of a device of *driver* with its domain."""
    return name if "/" in name else f"{driver}/{name}"


def distinct(offered: Mapping[str, _Published], driver: str) -> Mapping[str, _Published]:
    """Return the attributes or capacities that a device of *driver* has; of one with two names, that with the domain counts (Kubernetes 1.38)."""
    if not any("/" in name for name in offered):
        return offered
    return {name: each for name, each in offered.items() if (full := full_name(name, driver)) == name or full not in offered}


def selector_error(index: int, device: str, error: str) -> str:
    """Return kube-scheduler's error, after the owner of the selector, if one cannot be evaluated for *device*; or, if empty, not be compiled."""
    return (
        f": selector #{index} on device {device}: CEL runtime error: {error}"
        if device
        else f": selector #{index}: CEL compile error: {error}"
    )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceSlice:
    """A ResourceSlice.

    Attributes:
        node: name of the only node that reaches its devices; empty if it is not one node.
        selector: nodes that reach its devices.
        everywhere: True if all nodes reach its devices.
        by_device: True if each device says which nodes reach it.
        count: number of slices in the generation of the pool.
        devices: its devices, with the taints of the DeviceTaintRules.
        can_be_invalid: True if its pool can be invalid because of this slice alone: it has counters, or several devices of one name.

    """

    name: str
    driver: str
    pool: str
    generation: int
    count: int
    node: str
    selector: NodeSelector | None
    everywhere: bool
    by_device: bool
    devices: tuple[Device, ...]
    counters: tuple[CounterSet, ...]
    can_be_invalid: bool


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """Alternative of a request, or the request itself if it has no alternatives.

    Attributes:
        name: empty if the request has no alternatives.
        class_selectors: selectors of the device class.
        every: True if all matching devices are requested.
        count: number of devices, unless all are requested.
        admin: True for devices that may be in use (admin access).
        capacity: requested amounts.

    """

    name: str
    device_class: str
    class_selectors: tuple[str, ...]
    selectors: tuple[str, ...]
    every: bool
    count: int
    admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: Amounts


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Request:
    """Request of a claim; one of its alternatives is allocated."""

    name: str
    alternatives: tuple[Alternative, ...]

    def written(self, alternative: Alternative) -> str:
        """Return the name of the request in an allocation: ``request`` or ``request/alternative``."""
        return f"{self.name}/{alternative.name}" if alternative.name else self.name


class AttributeConstraint(Record, frozen=True):
    """Devices must have the same value of an attribute, or (*distinct*) all different values.

    Attributes:
        requests: names of requests that it applies to; empty for all.

    """

    attribute: str
    requests: tuple[str, ...]
    distinct: bool


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClaimSpec:
    """Specification of a claim; equal specifications share one object."""

    requests: tuple[Request, ...]
    constraints: tuple[AttributeConstraint, ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ExtendedSpec:
    """Requests for the extended resources of a pod that device classes provide, by resource; equal ones share one object."""

    requests: tuple[tuple[str, tuple[Request, ...]], ...]

    def spec(self, resources: Container[str]) -> ClaimSpec | None:
        """Return the claim for *resources*; None if none of its resources is among them."""
        requests = [each for name, of_name in self.requests if name in resources for each in of_name]
        return ClaimSpec(tuple(sorted(requests, key=lambda each: each.name)), ()) if requests else None


class GivenDevice(Record, frozen=True, gc=False):
    """Device of an allocation.

    Attributes:
        request: name of the request, or ``request/alternative``.
        admin: True if other claims can use it at the same time (admin access).
        shared: True if it is a share of a device.
        consumed: capacity of the share.
        waits: True if binding conditions must be met before the pod is bound.
        conditions: these binding conditions; not read from an allocation.
        failure_conditions: conditions that mean that the binding failed; not read from an allocation.

    """

    request: str
    id: DeviceId
    admin: bool = False
    shared: bool = False
    consumed: tuple[tuple[str, decimal.Decimal], ...] = ()
    waits: bool = False
    conditions: tuple[str, ...] = ()
    failure_conditions: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return ``request=pool/device``."""
        return f"{self.request}={self.id[1]}/{self.id[2]}"


class Allocation(Record, frozen=True, gc=False):
    """Devices of a claim, and the nodes that can use them; None for all nodes."""

    devices: tuple[GivenDevice, ...]
    nodes: NodeSelector | None = None

    def same_devices(self, other: Allocation) -> bool:
        """Return whether *other* has the same devices for the same requests."""
        return sorted((each.request, each.id) for each in self.devices) == sorted((each.request, each.id) for each in other.devices)
