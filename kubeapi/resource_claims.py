"""Claims to devices, and their templates (resource.k8s.io).

The structs have the fields of v1.  v1beta1 has the fields of an exact request in the request itself, which are read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from kubeapi.devices import DeviceSelector
from kubeapi.field_path import FieldPath
from kubeapi.meta import DatedName, Int64, NamespacedName, OwnerReference, Struct
from kubeapi.quantity import Amounts
from kubeapi.redaction import Name, Unread
from kubeapi.selectors import NodeSelector

MAX_IN_CLAIM = 32
"""Maximum number of requests, constraints, configurations and selectors in one list of a claim."""
MAX_ALTERNATIVES = 8
"""Maximum number of alternatives of a request."""
MAX_CAPACITIES = 32
"""Maximum number of capacities that a request asks for."""


class DeviceToleration(Struct, frozen=True, gc=False):
    """Taints of devices that a request tolerates."""

    key: str = ""
    operator: str = ""
    value: Name = ""
    effect: str = ""


class CapacityRequirements(Struct, frozen=True, gc=False):
    """``capacity`` of a request."""

    requests: Amounts | None = None


class DeviceSubRequest(Struct, frozen=True, gc=False):
    """Alternative of a request, or (without a name) an exact request."""

    name: str = ""
    device_class_name: Name = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[dict[str, object], ...] | None = None


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


class OpaqueDeviceConfiguration(Struct, frozen=True, gc=False):
    """Parameters for a driver."""

    driver: str = ""
    parameters: Any = None


class DeviceClaimConfiguration(Struct, frozen=True, gc=False):
    """Configuration for the devices of some requests."""

    requests: tuple[str, ...] | None = None
    opaque: OpaqueDeviceConfiguration | None = None


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


class ResourceClaimSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceClaim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Struct, frozen=True, gc=False):
    """Device of an allocation."""

    request: str = ""
    driver: str = ""
    pool: Name = ""
    device: Name = ""
    admin_access: bool = False
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    share_id: Name | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: Amounts | None = None


class DeviceAllocationResult(Struct, frozen=True, gc=False):
    """``devices`` of an allocation."""

    results: tuple[DeviceRequestAllocationResult, ...] | None = None


class AllocationResult(Struct, frozen=True, gc=False):
    """``allocation`` of a claim."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Struct, frozen=True, gc=False):
    """Pod or PodGroup that a claim is reserved for."""

    api_group: str = ""
    resource: str = ""
    name: Name = ""
    uid: Name = ""


class DeviceCondition(Struct, frozen=True, gc=False):
    """Condition of an allocated device."""

    type: str = ""
    status: str = ""


class AllocatedDeviceStatus(Struct, frozen=True, gc=False):
    """Status of an allocated device."""

    driver: str = ""
    pool: Name = ""
    device: Name = ""
    share_id: Name | None = msgspec.field(default=None, name="shareID")
    conditions: tuple[DeviceCondition, ...] | None = None


class ResourceClaimStatus(Struct, frozen=True, gc=False):
    """``status`` of a ResourceClaim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] | None = None
    devices: tuple[AllocatedDeviceStatus, ...] | None = None


class ResourceClaimAnnotations(Struct, frozen=True, gc=False):
    """Annotations of a ResourceClaim."""

    extended_resource_claim: str | None = msgspec.field(default=None, name="resource.kubernetes.io/extended-resource-claim")


class ResourceClaimMeta(NamespacedName, frozen=True, gc=False):
    """``metadata`` of a ResourceClaim."""

    uid: Unread = ""
    deletion_timestamp: str | None = None
    annotations: ResourceClaimAnnotations = ResourceClaimAnnotations()
    owner_references: tuple[OwnerReference, ...] | None = None


class ResourceClaim(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceClaim."""

    metadata: ResourceClaimMeta = ResourceClaimMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()
    kind: ClassVar[str] = "ResourceClaim"


class ResourceClaimTemplateSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceClaimTemplate."""

    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceClaimTemplate."""

    metadata: DatedName = DatedName()
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
    kind: ClassVar[str] = "ResourceClaimTemplate"
