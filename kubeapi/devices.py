"""Published devices, their classes and taints (resource.k8s.io).

The structs have the fields of v1.  v1beta1 has the fields of a device in ``basic``, which is read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, TypeVar

import msgspec

from kubeapi.meta import DatedName, Int64, Struct
from kubeapi.quantity import Amount
from kubeapi.redaction import UNREAD, Mark, Name, Names
from kubeapi.selectors import NodeSelector

TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
C = TypeVar("C", bound="DeviceContent")


class DeviceAttribute(Struct, frozen=True, gc=False):
    """Value of an attribute of a device; one field is set."""

    integer: Int64 | None = msgspec.field(default=None, name="int")
    boolean: bool | None = msgspec.field(default=None, name="bool")
    string: Annotated[str, Mark.ATTRIBUTE] | None = None
    version: str | None = None


class CapacityRequestPolicyRange(Struct, frozen=True, gc=False):
    """Amounts of a capacity that can be requested."""

    min: Amount | None = None
    max: Amount | None = None
    step: Amount | None = None


class CapacityRequestPolicy(Struct, frozen=True, gc=False):
    """``requestPolicy`` of a capacity."""

    default: Amount | None = None
    valid_values: tuple[Amount, ...] | None = None
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Struct, frozen=True, gc=False):
    """Capacity of a device."""

    value: Amount
    request_policy: CapacityRequestPolicy | None = None


class Counter(Struct, frozen=True, gc=False):
    """Value of a counter."""

    value: Amount


class CounterSet(Struct, frozen=True, gc=False):
    """Counters that several devices of a pool share."""

    name: Name
    counters: dict[str, Counter] | None = None


class DeviceCounterConsumption(Struct, frozen=True, gc=False):
    """Amounts of counters that a device consumes."""

    counter_set: Name
    counters: dict[str, Counter] | None = None
    compatibility_groups: Names | None = None


class DeviceTaint(Struct, frozen=True, gc=False):
    """Taint of a device."""

    key: str
    effect: str = ""
    value: Name = ""


class DeviceContent(Struct, frozen=True, gc=False):
    """A device without its name."""

    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: tuple[DeviceCounterConsumption, ...] | None = None
    node_name: Name | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] | None = None
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool = False


class Device(DeviceContent, frozen=True, gc=False, kw_only=True):
    """Device of a ResourceSlice."""

    name: Name
    basic: DeviceContent | None = None

    @property
    def content(self) -> DeviceContent:
        """Return the content, in whichever form it is written."""
        return self.basic or self


def with_taints(content: C, taints: tuple[DeviceTaint, ...]) -> C:
    """Return *content* with more taints."""
    return msgspec.structs.replace(content, taints=(*(content.taints or ()), *taints))


def unnamed(content: DeviceContent, attributes: dict[str, DeviceAttribute]) -> DeviceContent:
    """Return *content* without the name of the device, and with *attributes* only."""
    if isinstance(content, Device):
        return msgspec.structs.replace(content, name="", attributes=attributes)
    return msgspec.structs.replace(content, attributes=attributes)


class ResourcePool(Struct, frozen=True, gc=False):
    """``pool`` of a ResourceSlice."""

    name: Name
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceSlice."""

    driver: str
    pool: ResourcePool
    node_name: Name | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] | None = None
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] | None = None

    def attribute_names(self) -> Iterator[str]:
        """Yield the attributes of each device with their domain, which is the driver if none is written."""
        for device in self.devices or ():
            yield from (name if "/" in name else f"{self.driver}/{name}" for name in device.content.attributes or ())


class ResourceSlice(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceSlice."""

    spec: ResourceSliceSpec
    metadata: DatedName = DatedName()
    kind: ClassVar[str] = "ResourceSlice"


class CelSelector(Struct, frozen=True, gc=False):
    """CELDeviceSelector: a selector in the Common Expression Language."""

    expression: Annotated[str, Mark.SELECTOR] = ""


class DeviceSelector(Struct, frozen=True, gc=False):
    """Selector of devices."""

    cel: CelSelector | None = None


class DeviceClassSpec(Struct, frozen=True, gc=False):
    """``spec`` of a DeviceClass."""

    selectors: tuple[DeviceSelector, ...] | None = None
    extended_resource_name: str | None = None
    config: Annotated[tuple[object, ...] | None, UNREAD] = None


class DeviceClass(Struct, frozen=True, gc=False):
    """resource.k8s.io DeviceClass."""

    metadata: DatedName = DatedName()
    spec: DeviceClassSpec = DeviceClassSpec()
    kind: ClassVar[str] = "DeviceClass"


class DeviceTaintSelector(Struct, frozen=True, gc=False):
    """Selector of a DeviceTaintRule; an absent field matches everything."""

    driver: str | None = None
    pool: Name | None = None
    device: Name | None = None


class DeviceTaintRuleSpec(Struct, frozen=True, gc=False):
    """``spec`` of a DeviceTaintRule."""

    taint: DeviceTaint
    device_selector: DeviceTaintSelector | None = None


class DeviceTaintRule(Struct, frozen=True, gc=False):
    """resource.k8s.io DeviceTaintRule."""

    spec: DeviceTaintRuleSpec
    metadata: DatedName = DatedName()
    kind: ClassVar[str] = "DeviceTaintRule"
