"""Claims to devices as the API encodes them, as far as placement reads them (resource.k8s.io).

The structs have the fields of v1; v1beta1 has the fields of an exact request in the request itself, which are read too.
"""

from __future__ import annotations

import msgspec

from kubeapi.meta import Struct
from scheduler_core.model.wire import Amounts, Int64, NodeSelector
from scheduler_core.model.wire_devices import DeviceSelector, DeviceToleration, ObjectName
from scheduler_core.model.wire_volumes import OwnerReference


class DeviceClaimOwner(OwnerReference, frozen=True, gc=False):
    """Owner of a ResourceClaim."""

    api_version: str = ""


class CapacityRequests(Struct, frozen=True, gc=False):
    """``capacity`` of a request."""

    requests: Amounts | None = None


class DeviceSubRequest(Struct, frozen=True, gc=False):
    """Alternative of a request, or (without name) the exact request."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None
    capacity: CapacityRequests | None = None
    derived_attributes: tuple[dict[str, object], ...] | None = None


class DeviceRequest(DeviceSubRequest, frozen=True, gc=False):
    """Request of a claim."""

    exactly: DeviceSubRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] | None = None


class DeviceConstraint(Struct, frozen=True, gc=False):
    """Constraint between the devices of a claim."""

    requests: tuple[str, ...] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Struct, frozen=True, gc=False):
    """``devices`` of a claim."""

    requests: tuple[DeviceRequest, ...] | None = None
    constraints: tuple[DeviceConstraint, ...] | None = None


class ResourceClaimSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceClaim."""

    devices: DeviceClaim = DeviceClaim()


class AllocatedDevice(Struct, frozen=True, gc=False):
    """Device of an allocation."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: Amounts | None = None


class AllocatedDevices(Struct, frozen=True, gc=False):
    """``devices`` of an allocation."""

    results: tuple[AllocatedDevice, ...] | None = None


class AllocationResult(Struct, frozen=True, gc=False):
    """``allocation`` of a claim."""

    devices: AllocatedDevices = AllocatedDevices()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class Consumer(Struct, frozen=True, gc=False):
    """Pod or PodGroup that a claim is reserved for."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Struct, frozen=True, gc=False):
    """Condition of an allocated device."""

    type: str = ""
    status: str = ""


class DeviceStatus(Struct, frozen=True, gc=False):
    """Status of an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: tuple[DeviceCondition, ...] | None = None


class ResourceClaimStatus(Struct, frozen=True, gc=False):
    """``status`` of a ResourceClaim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[Consumer, ...] | None = None
    devices: tuple[DeviceStatus, ...] | None = None


class ResourceClaimAnnotations(Struct, frozen=True, gc=False):
    """Annotations of a ResourceClaim."""

    extended_resource_claim: str | None = msgspec.field(default=None, name="resource.kubernetes.io/extended-resource-claim")


class ResourceClaimMeta(Struct, frozen=True, gc=False):
    """``metadata`` of a ResourceClaim."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    annotations: ResourceClaimAnnotations = ResourceClaimAnnotations()
    owner_references: tuple[DeviceClaimOwner, ...] | None = None


class ResourceClaim(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceClaim."""

    metadata: ResourceClaimMeta = ResourceClaimMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceClaimTemplate."""

    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceClaimTemplate."""

    metadata: ObjectName = ObjectName()
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
