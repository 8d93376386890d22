"""Claims to devices, their templates, device classes and published devices (resource.k8s.io), with the fields that rules read.

The structs have the fields of v1.  v1beta1 has the fields of an exact request in the request itself, and those of a device in ``basic``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from kubeapi.field_path import FieldPath
from kubeapi.meta import Int64, ObjectMeta, Struct
from kubeapi.quantity import Amount

MAX_IN_CLAIM = 32
"""Maximum number of requests, constraints, configurations and selectors in one list of a claim."""
TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
MAX_ALTERNATIVES = 8
"""Maximum number of alternatives of a request."""


class CelSelector(Struct, frozen=True, gc=False):
    """Selector in the Common Expression Language."""

    expression: str = ""


class DeviceSelector(Struct, frozen=True, gc=False):
    """Selector of devices."""

    cel: CelSelector | None = None


class DeviceToleration(Struct, frozen=True, gc=False):
    """Taints of devices that a request tolerates."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class DeviceSubRequest(Struct, frozen=True, gc=False):
    """Alternative of a request, or (without a name) an exact request."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] | None = None


class DeviceRequest(DeviceSubRequest, frozen=True, gc=False):
    """Request of a claim.  Union: ``exactly`` or ``first_available``; in v1beta1 the fields of an exact request are its own."""

    exactly: DeviceSubRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] | None = None

    def alternatives(self, path: FieldPath) -> Iterator[tuple[FieldPath, DeviceSubRequest]]:
        """Yield the exact request or the alternatives, each with its path; *path* is that of the request."""
        if self.exactly is not None:
            yield path / "exactly", self.exactly
        elif self.first_available:
            for index, each in enumerate(self.first_available):
                yield path.join(("firstAvailable", index)), each
        elif self.device_class_name or self.selectors or self.allocation_mode or self.count or self.tolerations:
            yield path, self


class DeviceConstraint(Struct, frozen=True, gc=False):
    """Constraint between the devices of a claim.  Union: ``match_attribute`` or ``distinct_attribute``."""

    requests: tuple[str, ...] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueConfiguration(Struct, frozen=True, gc=False):
    """Parameters for a driver."""

    driver: str = ""
    parameters: Any = None


class DeviceClaimConfiguration(Struct, frozen=True, gc=False):
    """Configuration for the devices of some requests."""

    requests: tuple[str, ...] | None = None
    opaque: OpaqueConfiguration | None = None


class DeviceClaim(Struct, frozen=True, gc=False):
    """``devices`` of a claim."""

    requests: tuple[DeviceRequest, ...] | None = None
    constraints: tuple[DeviceConstraint, ...] | None = None
    config: tuple[DeviceClaimConfiguration, ...] | None = None

    def names(self) -> frozenset[str]:
        """Return the names of requests, and of alternatives as ``request/alternative``."""
        found = set()
        for request in self.requests or ():
            found.add(request.name)
            found.update(f"{request.name}/{each.name}" for each in request.first_available or ())
        return frozenset(found)


class ClaimSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceClaim."""

    devices: DeviceClaim = DeviceClaim()


class AllocationResult(Struct, frozen=True, gc=False):
    """``allocation`` of a claim; its presence is what rules read."""


class ClaimStatus(Struct, frozen=True, gc=False):
    """``status`` of a ResourceClaim."""

    allocation: AllocationResult | None = None


class DeviceResourceClaim(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceClaim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()
    kind: ClassVar[str] = "ResourceClaim"


class ClaimTemplateSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceClaimTemplate."""

    spec: ClaimSpec = ClaimSpec()


class ResourceClaimTemplate(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceClaimTemplate."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimTemplateSpec = ClaimTemplateSpec()
    kind: ClassVar[str] = "ResourceClaimTemplate"


class DeviceClassSpec(Struct, frozen=True, gc=False):
    """``spec`` of a DeviceClass."""

    selectors: tuple[DeviceSelector, ...] | None = None


class DeviceClass(Struct, frozen=True, gc=False):
    """resource.k8s.io DeviceClass."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()
    kind: ClassVar[str] = "DeviceClass"


class DeviceTaint(Struct, frozen=True, gc=False):
    """Taint of devices."""

    key: str = ""
    value: str = ""
    effect: str = ""


class DeviceTaintSelector(Struct, frozen=True, gc=False):
    """Devices that get a taint; an absent field selects all."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct, frozen=True, gc=False):
    """``spec`` of a DeviceTaintRule."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Struct, frozen=True, gc=False):
    """resource.k8s.io DeviceTaintRule."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
    kind: ClassVar[str] = "DeviceTaintRule"


class DeviceAttribute(Struct, frozen=True, gc=False):
    """Value of an attribute of a device; one field is set."""

    integer: Int64 | None = msgspec.field(default=None, name="int")
    boolean: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class DeviceCapacity(Struct, frozen=True, gc=False):
    """Capacity of a device."""

    value: Amount = 0


class DeviceContent(Struct, frozen=True, gc=False):
    """A device without its name."""

    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    allow_multiple_allocations: bool = False
    taints: Any = None


class PublishedDevice(DeviceContent, frozen=True, gc=False):
    """Device of a ResourceSlice."""

    name: str = ""
    basic: DeviceContent | None = None

    @property
    def content(self) -> DeviceContent:
        """Return the content, in whichever form it is written."""
        return self.basic or self


class DevicePool(Struct, frozen=True, gc=False):
    """``pool`` of a ResourceSlice."""

    name: str = ""


class ResourceSliceSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceSlice."""

    driver: str = ""
    pool: DevicePool = DevicePool()
    node_name: str = ""
    devices: tuple[PublishedDevice, ...] | None = None

    def attribute_names(self) -> Iterator[str]:
        """Yield the attributes of each device with their domain, which is the driver if none is written."""
        for device in self.devices or ():
            yield from (name if "/" in name else f"{self.driver}/{name}" for name in device.content.attributes or ())


class ResourceSlice(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceSlice."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()
    kind: ClassVar[str] = "ResourceSlice"


class DeviceSelectors(Protocol):
    """Compiler of selectors of devices, in the Common Expression Language."""

    def compile_error(self, expression: str) -> str:
        """Return the error of the API server for *expression*; empty if it is valid."""

    def evaluation_error(self, expressions: Sequence[str], slices: Sequence[ResourceSlice]) -> str:
        """Return the error of a device of *slices* for which *expressions*, in order, cannot be evaluated; empty if there is none."""

    def matching(self, expressions: Sequence[str], published: ResourceSlice) -> list[PublishedDevice]:
        """Return the devices of *published* that match all *expressions*; none if one cannot be evaluated for a device."""
