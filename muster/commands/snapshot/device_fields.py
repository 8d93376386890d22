"""Fields of devices and of claims to them that ``simulate`` reads."""

from __future__ import annotations

from muster.commands.snapshot.selector_fields import AMOUNTS, KEPT, NAME, NODE_TERM, UNREAD
from muster.commands.snapshot.shapes import Each, Entries, Fields, ScalarShape, Shape

ENTRIES = Each({"name": NAME, "resourceClaimName": NAME, "resourceClaimTemplateName": NAME})
"""``spec.resourceClaims`` of pods and PodGroups."""
CREATED = Each({"name": NAME, "resourceClaimName": NAME})
"""``status.resourceClaimStatuses`` of pods and PodGroups."""
_OBJECT: Fields = {"name": NAME, "namespace": NAME, "creationTimestamp": KEPT}
NODE_SELECTOR: Fields = {"nodeSelectorTerms": Each(NODE_TERM)}
_SELECTORS = Each({"cel": {"expression": ScalarShape.SELECTOR}})
_TAINT: Fields = {"key": KEPT, "effect": KEPT, "value": NAME}
_TOLERATIONS = Each({"key": KEPT, "operator": KEPT, "value": NAME, "effect": KEPT})
_COUNTERS = Entries(value={"value": KEPT})
_POLICY: Fields = {"default": KEPT, "validValues": Each(KEPT), "validRange": dict.fromkeys(("min", "max", "step"), KEPT)}
_CONTENT: dict[str, Shape] = {
    "attributes": Entries(value={"int": KEPT, "bool": KEPT, "string": ScalarShape.ATTRIBUTE, "version": KEPT}),
    "capacity": Entries(value={"value": KEPT, "requestPolicy": _POLICY}),
    "consumesCounters": Each({"counterSet": NAME, "counters": _COUNTERS, "compatibilityGroups": Each(NAME)}),
    "nodeName": NAME,
    "nodeSelector": NODE_SELECTOR,
    "taints": Each(_TAINT),
    "bindingConditions": Each(KEPT),
    "bindingFailureConditions": Each(KEPT),
    **dict.fromkeys(("allNodes", "bindsToNode", "allowMultipleAllocations"), KEPT),
}
_REQUEST: dict[str, Shape] = {
    # Names of requests are parts of other names: request/alternative.
    **dict.fromkeys(("name", "allocationMode", "count", "adminAccess"), KEPT),
    "deviceClassName": NAME,
    "selectors": _SELECTORS,
    "tolerations": _TOLERATIONS,
    "capacity": {"requests": AMOUNTS},
    "derivedAttributes": Each({}),
}
_CLAIM_SPEC: Fields = {
    "devices": {
        "requests": Each({**_REQUEST, "exactly": _REQUEST, "firstAvailable": Each(_REQUEST)}),
        "constraints": Each({"requests": Each(KEPT), "matchAttribute": KEPT, "distinctAttribute": KEPT}),
    }
}
_ALLOCATED: Fields = {
    "request": KEPT,
    "driver": KEPT,
    "pool": NAME,
    "device": NAME,
    "adminAccess": KEPT,
    "bindingConditions": Each(KEPT),
    "bindingFailureConditions": Each(KEPT),
    "shareID": NAME,
    "consumedCapacity": AMOUNTS,
}
RESOURCE_SLICE: Fields = {
    "metadata": _OBJECT,
    "spec": {
        "driver": KEPT,
        "pool": {"name": NAME, "generation": KEPT, "resourceSliceCount": KEPT},
        "nodeName": NAME,
        "nodeSelector": NODE_SELECTOR,
        "allNodes": KEPT,
        "devices": Each({"name": NAME, **_CONTENT, "basic": _CONTENT}),
        "perDeviceNodeSelection": KEPT,
        "sharedCounters": Each({"name": NAME, "counters": _COUNTERS}),
    },
}
# The configuration of a driver can hold anything, and only the sidecar copies it.
DEVICE_CLASS: Fields = {"metadata": _OBJECT, "spec": {"selectors": _SELECTORS, "extendedResourceName": KEPT, "config": UNREAD}}
DEVICE_TAINT_RULE: Fields = {
    "metadata": _OBJECT,
    "spec": {"taint": _TAINT, "deviceSelector": {"driver": KEPT, "pool": NAME, "device": NAME}},
}
RESOURCE_CLAIM: Fields = {
    "metadata": {
        "name": NAME,
        "namespace": NAME,
        "uid": UNREAD,
        "deletionTimestamp": KEPT,
        "annotations": {"resource.kubernetes.io/extended-resource-claim": KEPT},
        "ownerReferences": Each({"apiVersion": KEPT, "kind": KEPT, "name": NAME, "uid": NAME, "controller": KEPT}),
    },
    "spec": _CLAIM_SPEC,
    "status": {
        "allocation": {"devices": {"results": Each(_ALLOCATED)}, "nodeSelector": NODE_SELECTOR, "allocationTimestamp": KEPT},
        "reservedFor": Each({"apiGroup": KEPT, "resource": KEPT, "name": NAME, "uid": NAME}),
        "devices": Each(
            {"driver": KEPT, "pool": NAME, "device": NAME, "shareID": NAME, "conditions": Each({"type": KEPT, "status": KEPT})}
        ),
    },
}
RESOURCE_CLAIM_TEMPLATE: Fields = {"metadata": _OBJECT, "spec": {"spec": _CLAIM_SPEC}}
KINDS: tuple[tuple[str, Fields], ...] = (
    ("DeviceClass", DEVICE_CLASS),
    ("DeviceTaintRule", DEVICE_TAINT_RULE),
    ("ResourceSlice", RESOURCE_SLICE),
    ("ResourceClaimTemplate", RESOURCE_CLAIM_TEMPLATE),
    ("ResourceClaim", RESOURCE_CLAIM),
)
"""The fields of each kind, in the order in which a snapshot has the kinds."""
