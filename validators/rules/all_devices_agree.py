"""A constraint of a claim does not split the devices of a request for all devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeapi.resource_claims import DeviceConstraint
from validators import field
from validators.field import FieldError
from validators.model.views import Device, DeviceClass, DeviceRequest, DeviceSubRequest, ResourceClaim, ResourceSlice
from validators.rules.base import CLAIMS, About, Context, Example, Profile, Rule, Severity

_Named = tuple[str, ResourceSlice, Device]
"""Device with its name in messages, and its slice."""


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at constraints that known devices of one node do not satisfy.

    No errors without a compiler of expressions, and for a claim that is allocated.
    """
    path, claim = context.device_claim
    constraints = [(index, each) for index, each in enumerate(claim.constraints or ()) if each.match_attribute or each.distinct_attribute]
    if not constraints or (isinstance(context.new, ResourceClaim) and context.new.status.allocation is not None):
        return
    for request in claim.requests or ():
        for _, each in request.alternatives(path):
            nodes = _devices_by_node(context, each) if each.allocation_mode == "All" else {}
            for index, constraint in constraints:
                name, attribute = _attribute(constraint)
                pairs = (_split(devices, attribute, distinct=name == "distinctAttribute") for devices in nodes.values())
                if _applies(constraint, request, each) and (pair := next(filter(None, pairs), None)):
                    yield field.invalid(path.join(("constraints", index, name)), attribute, _detail(request, *pair, name))


def _attribute(constraint: DeviceConstraint) -> tuple[str, str]:
    """Return the field of *constraint*, and the attribute in it."""
    if constraint.match_attribute:
        return "matchAttribute", constraint.match_attribute
    return "distinctAttribute", constraint.distinct_attribute or ""


def _applies(constraint: DeviceConstraint, request: DeviceRequest, each: DeviceSubRequest) -> bool:
    names = {request.name} | ({f"{request.name}/{each.name}"} if request.first_available else set())
    return not constraint.requests or not names.isdisjoint(constraint.requests)


def _devices_by_node(context: Context, request: DeviceSubRequest) -> Mapping[str, Sequence[_Named]]:
    """Return the devices that *request* selects, by node, of nodes without tainted devices; empty if the class is not known."""
    selectors, known = context.settings.selectors, context.lookup.get("DeviceClass", "", request.device_class_name)
    if selectors is None or not isinstance(known, DeviceClass):
        return {}
    expressions = [each.cel.expression for each in (*(known.spec.selectors or ()), *(request.selectors or ())) if each.cel is not None]
    found: dict[str, list[_Named]] = {}
    for each in sorted(_local_slices(context), key=lambda each: each.metadata.name):
        devices = selectors.matching(expressions, each)
        found.setdefault(each.spec.node_name or "", []).extend((f"{each.spec.pool.name}/{device.name}", each, device) for device in devices)
    return {node: devices for node, devices in sorted(found.items()) if not any(device.content.taints for _, _, device in devices)}


def _local_slices(context: Context) -> Iterator[ResourceSlice]:
    for each in context.lookup.list_kind("ResourceSlice") or ():
        if isinstance(each, ResourceSlice) and each.spec.node_name:
            yield each


def _split(devices: Sequence[_Named], attribute: str, *, distinct: bool) -> tuple[str, str] | None:
    """Return the first device that cannot be chosen, and the one before it that is the reason; one device twice if it has no attribute."""
    values: dict[object, str] = {}
    for name, published, device in devices:
        value = _value(published, device, attribute)
        if value is None:
            return name, name
        if distinct and value in values:
            return values[value], name
        if not distinct and values and value not in values:
            return next(iter(values.values())), name
        values.setdefault(value, name)
    return None


def _value(published: ResourceSlice, device: Device, attribute: str) -> object:
    domain, _, own = attribute.partition("/")
    attributes = device.content.attributes or {}
    return attributes.get(attribute) or (attributes.get(own) if domain == published.spec.driver else None)


def _detail(request: DeviceRequest, first: str, second: str, name: str) -> str:
    values = "the same value" if name == "distinctAttribute" else "different values"
    why = f"device {first} does not have it" if first == second else f"devices {first} and {second} have {values}"
    return (
        f"request {request.name} is for all devices, and {why}: kube-scheduler ends each attempt with an error;"
        " request a number of devices, or drop the constraint"
    )


_CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: whole-node}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.example.com, allocationMode: All}}
    constraints:
    - matchAttribute: gpu.example.com/numa
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpus}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {numa: {int: 0}}}
  - {name: gpu-1, attributes: {numa: {int: 0}}}
"""

RULE = Rule(
    id="all-devices-agree",
    kinds=CLAIMS,
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="One node whose devices do not satisfy the constraint ends the whole attempt of a pod or gang with an error, also if other nodes fit.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, plugin DynamicResources, k8s.io/dynamic-resource-allocation/structured",
    check=check,
    good=(
        Example(_CLAIM),
        Example(_CLAIM.replace("{int: 0}}}\n  - {name: gpu-1", "{int: 1}}}\n  - {name: gpu-1").replace("allocationMode: All", "count: 2")),
    ),
    bad=(
        Example(
            _CLAIM.replace("gpu-1, attributes: {numa: {int: 0}}", "gpu-1, attributes: {numa: {int: 1}}"),
            at=("spec.devices.constraints[0].matchAttribute",),
        ),
        Example(_CLAIM.replace("matchAttribute", "distinctAttribute"), at=("spec.devices.constraints[0].distinctAttribute",)),
    ),
)
