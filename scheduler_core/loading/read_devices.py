"""ResourceSlices, device classes, taint rules, claims and templates of claims, unique by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kubeapi import quantity
from kubeapi.devices import Device, DeviceClass, DeviceTaintRule, DeviceTaintRuleSpec, ResourceSlice, with_taints
from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects, Unusable
from kubeapi.resource_claims import (
    AllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
)
from kubeapi.versions import served_versions
from scheduler_core.loading import device_amounts
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.loading.taint_rules import TaintRules
from scheduler_core.model.device_claims import KnownClaim
from scheduler_core.model.devices import Allocation, ClaimSpec, DeviceSlice, GivenDevice

_SERVED = tuple(each.name for each in served_versions.versions_in("resource.k8s.io"))
"""API versions, the current one first."""
_FLAT = "resource.k8s.io/v1beta1"
"""The version that has no ``exactly`` in requests, and ``basic`` in devices."""
D = TypeVar("D", ResourceSlice, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate)


def extended_owner(namespace: str, claim: KnownClaim) -> Name | None:
    """Return the pod for whose extended resources a claim in *namespace* was created; None for any other claim."""
    return (namespace, claim.owner[1]) if claim.extended and claim.owner[0] == "Pod" else None


def known_claim(claim: ResourceClaim, spec: ClaimSpec | str) -> KnownClaim:
    """Return *claim*, which has the specification *spec*."""
    status, metadata = claim.status, claim.metadata
    failed, ready = _binding(status)
    controller = next((each for each in metadata.owner_references or () if each.controller), None)
    return KnownClaim(
        spec=spec,
        allocation=None if status.allocation is None else _allocation(status.allocation, waits=not ready),
        deleting=metadata.deletion_timestamp is not None,
        owner=("", "") if controller is None else (_kind(controller.kind, controller.api_version.rpartition("/")[0]), controller.name),
        owner_uid="" if controller is None else controller.uid,
        failed=failed,
        timed=status.allocation is None or status.allocation.allocation_timestamp is not None,
        extended=metadata.annotations.extended_resource_claim == "true",
        uid=metadata.uid,
        users=frozenset(each.uid for each in status.reserved_for or ()),
        consumers=tuple((_kind(each.resource, each.api_group), each.name) for each in status.reserved_for or ()),
    )


def _kind(name: str, group: str) -> str:
    """Return the *name* of a kind or resource; with its API *group* if it is a PodGroup of another one."""
    return f"{name}.{group}" if name in ("PodGroup", "podgroups") and group and not served_versions.serves(group, "PodGroup") else name


def read_device_class(gathered: GatheredObjects) -> tuple[Name, DeviceClass]:
    """Read a device class.  Raises Unusable."""
    return _named(gathered, DeviceClass)


def read_taint_rule(gathered: GatheredObjects) -> tuple[Name, DeviceTaintRuleSpec]:
    """Read a device taint rule.  Raises Unusable."""
    name, rule = _named(gathered, DeviceTaintRule)
    return name, rule.spec


def read_slice(gathered: GatheredObjects) -> tuple[Name, ResourceSlice]:
    """Read a slice whose amounts are readable.  Raises Unusable."""
    name, published = _named(gathered, ResourceSlice)
    device_amounts.check_slice(published.spec)
    for index, each in enumerate(published.spec.devices or ()):
        if each.basic is not None and gathered.api_version != _FLAT:
            raise Unusable(f"spec.devices[{index}].basic: only {_FLAT} has this field; set its fields in the device itself")
    return name, published


def read_resource_claim(gathered: GatheredObjects) -> tuple[Name, ResourceClaim]:
    """Read a claim whose amounts are readable.  Raises Unusable."""
    name, claim = _named(gathered, ResourceClaim)
    _check_claim("spec", claim.spec, gathered.api_version)
    if claim.status.allocation is not None:
        device_amounts.check_allocation(claim.status.allocation)
    return name, claim


def read_claim_template(gathered: GatheredObjects) -> tuple[Name, ResourceClaimTemplate]:
    """Read a template of claims whose amounts are readable.  Raises Unusable."""
    name, template = _named(gathered, ResourceClaimTemplate)
    _check_claim("spec.spec", template.spec.spec, gathered.api_version)
    return name, template


def _check_claim(path: str, spec: ResourceClaimSpec, version: str) -> None:
    """Raise Unusable, with the field path, if an amount of the specification at *path* is unreadable, or *version* has no such request."""
    device_amounts.check_claim(path, spec)
    for index, each in enumerate(spec.devices.requests or ()):
        at = f"{path}.devices.requests[{index}]"
        if each.first_available and (each.exactly is not None or each.device_class_name):
            one = "exactly" if each.exactly is not None else "deviceClassName"
            raise Unusable(f"{at}: set either {one} or firstAvailable, not both")
        if each.exactly is not None and version == _FLAT:
            raise Unusable(f"{at}.exactly: {version} has no such field; set its fields in the request itself")
        if each.device_class_name and version != _FLAT:
            raise Unusable(f"{at}.deviceClassName: only {_FLAT} has this field; in {version} set exactly.deviceClassName")


def _named(gathered: GatheredObjects, model: type[D]) -> tuple[Name, D]:
    if gathered.api_version not in _SERVED:
        raise Unusable(f"{gathered.api_version} is not served; use {_SERVED[0]}")
    decoded = typed(gathered, model)
    return name_in(gathered.kind, decoded.metadata), decoded


def published_slice(name: str, published: ResourceSlice, rules: TaintRules) -> DeviceSlice | None:
    """Return a slice; None if kube-scheduler 1.37 ignores it: a device has compatibility groups, whose gate is off."""
    spec = published.spec
    devices = tuple(_device(spec.driver, spec.pool.name, each, rules) for each in spec.devices or ())
    uses = [use for each in devices for use in each.content.consumes_counters or ()]
    if any(use.compatibility_groups for use in uses):
        return None
    return DeviceSlice(
        name=name,
        driver=spec.driver,
        pool=spec.pool.name,
        generation=spec.pool.generation,
        count=spec.pool.resource_slice_count,
        node=spec.node_name or "",
        selector=spec.node_selector,
        everywhere=bool(spec.all_nodes),
        by_device=bool(spec.per_device_node_selection),
        devices=devices,
        counters=spec.shared_counters or (),
        can_be_invalid=bool(uses or spec.shared_counters) or len({each.name for each in devices}) < len(devices),
    )


def _device(driver: str, pool: str, device: Device, rules: TaintRules) -> Device:
    if not (taints := rules.taints(driver, pool, device.name)):
        return device
    return with_taints(device, taints) if device.basic is None else Device(name=device.name, basic=with_taints(device.basic, taints))


def _allocation(result: AllocationResult, *, waits: bool) -> Allocation:
    return Allocation(tuple(_given(each, waits=waits) for each in result.devices.results or ()), result.node_selector)


def _given(device: DeviceRequestAllocationResult, *, waits: bool) -> GivenDevice:
    consumed = tuple((name, quantity.exact(each)) for name, each in sorted((device.consumed_capacity or {}).items()))
    name = device.driver, device.pool, device.device
    needs_binding = waits and bool(device.binding_conditions)
    return GivenDevice(device.request, name, device.admin_access, device.share_id is not None, consumed, needs_binding)


def _binding(status: ResourceClaimStatus) -> tuple[bool, bool]:
    """Return whether the binding of the devices of a claim failed, and whether it is complete."""
    results: Iterable[DeviceRequestAllocationResult] = status.allocation.devices.results or () if status.allocation is not None else ()
    for device in results:
        if not device.binding_conditions:
            continue
        names = device.driver, device.pool, device.device
        found = next((each for each in status.devices or () if (each.driver, each.pool, each.device) == names), None)
        if found is None:
            return False, False
        true = {each.type for each in found.conditions or () if each.status == "True"}
        if true.intersection(device.binding_failure_conditions or ()):
            return True, False
        if not true.issuperset(device.binding_conditions):
            return False, False
    return False, True
