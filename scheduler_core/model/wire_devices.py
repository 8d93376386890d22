"""Devices, their classes and taints as the API encodes them, as far as placement reads them (resource.k8s.io).

The structs have the fields of v1; v1beta1 nests the content of a device in ``basic``, which is read too.  Decoding is typed as in ``wire``.
"""

from __future__ import annotations

import msgspec

from kubeapi.meta import Struct
from kubeapi.quantity import Amount
from scheduler_core.model.wire import Int64, NodeSelector


class ObjectName(Struct, frozen=True, gc=False):
    """``metadata`` of an object of which only the name and the age are read."""

    name: str = ""
    namespace: str = ""
    creation_timestamp: str | None = None


class Attribute(Struct, frozen=True, gc=False):
    """Value of a device attribute; exactly one field is set."""

    integer: Int64 | None = msgspec.field(default=None, name="int")
    boolean: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class CapacityRange(Struct, frozen=True, gc=False):
    """Amounts of a capacity that can be requested."""

    min: Amount | None = None
    max: Amount | None = None
    step: Amount | None = None


class CapacityPolicy(Struct, frozen=True, gc=False):
    """``requestPolicy`` of a capacity."""

    default: Amount | None = None
    valid_values: tuple[Amount, ...] | None = None
    valid_range: CapacityRange | None = None


class Capacity(Struct, frozen=True, gc=False):
    """Capacity of a device."""

    value: Amount
    request_policy: CapacityPolicy | None = None


class Counter(Struct, frozen=True, gc=False):
    """Value of a counter."""

    value: Amount


class CounterSet(Struct, frozen=True, gc=False):
    """Counters that several devices of a pool share."""

    name: str
    counters: dict[str, Counter] | None = None


class CounterUse(Struct, frozen=True, gc=False):
    """Amounts of counters that a device consumes."""

    counter_set: str
    counters: dict[str, Counter] | None = None
    compatibility_groups: tuple[str, ...] | None = None


class DeviceTaint(Struct, frozen=True, gc=False):
    """Taint of a device."""

    key: str
    effect: str = ""
    value: str = ""


class DeviceToleration(Struct, frozen=True, gc=False):
    """Toleration of a request."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class DeviceContent(Struct, frozen=True, gc=False):
    """A device without its name."""

    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    consumes_counters: tuple[CounterUse, ...] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] | None = None
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool = False


class Device(DeviceContent, frozen=True, gc=False, kw_only=True):
    """Device of a ResourceSlice."""

    name: str
    basic: DeviceContent | None = None


def with_taints(content: DeviceContent, taints: tuple[DeviceTaint, ...]) -> DeviceContent:
    """Return *content* with more taints."""
    return msgspec.structs.replace(content, taints=(*(content.taints or ()), *taints))


def unnamed(content: DeviceContent, attributes: dict[str, Attribute]) -> DeviceContent:
    """Return *content* without the name of the device, and with *attributes* only."""
    if isinstance(content, Device):
        return msgspec.structs.replace(content, name="", attributes=attributes)
    return msgspec.structs.replace(content, attributes=attributes)


class Pool(Struct, frozen=True, gc=False):
    """``pool`` of a ResourceSlice."""

    name: str
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Struct, frozen=True, gc=False):
    """``spec`` of a ResourceSlice."""

    driver: str
    pool: Pool
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    devices: tuple[Device, ...] | None = None
    per_device_node_selection: bool = False
    shared_counters: tuple[CounterSet, ...] | None = None


class ResourceSlice(Struct, frozen=True, gc=False):
    """resource.k8s.io ResourceSlice."""

    spec: ResourceSliceSpec
    metadata: ObjectName = ObjectName()


class CelSelector(Struct, frozen=True, gc=False):
    """Selector in the Common Expression Language."""

    expression: str = ""


class DeviceSelector(Struct, frozen=True, gc=False):
    """Selector of devices."""

    cel: CelSelector | None = None


class DeviceClassSpec(Struct, frozen=True, gc=False):
    """``spec`` of a DeviceClass."""

    selectors: tuple[DeviceSelector, ...] | None = None
    extended_resource_name: str | None = None
    config: tuple[object, ...] | None = None


class DeviceClass(Struct, frozen=True, gc=False):
    """resource.k8s.io DeviceClass."""

    metadata: ObjectName = ObjectName()
    spec: DeviceClassSpec = DeviceClassSpec()


class TaintedDevices(Struct, frozen=True, gc=False):
    """Selector of a DeviceTaintRule; a field that is absent matches everything."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct, frozen=True, gc=False):
    """``spec`` of a DeviceTaintRule."""

    taint: DeviceTaint
    device_selector: TaintedDevices | None = None


class DeviceTaintRule(Struct, frozen=True, gc=False):
    """resource.k8s.io DeviceTaintRule."""

    spec: DeviceTaintRuleSpec
    metadata: ObjectName = ObjectName()
