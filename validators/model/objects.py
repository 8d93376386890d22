"""Kinds that rules validate or look up, by name."""

from __future__ import annotations

from kubeapi.meta import ObjectMeta, Struct
from validators.model.cluster import Node, PriorityClass
from validators.model.controllers import Controller
from validators.model.devices import DeviceClass, DeviceResourceClaim, DeviceTaintRule, ResourceClaimTemplate, ResourceSlice
from validators.model.group import CompositePodGroup, PodGroup
from validators.model.jobset import JobSet
from validators.model.pod import Job, Pod
from validators.model.workload import Workload


class Named(Struct, frozen=True, gc=False):
    """Object of which only the name is known: it exists, but its content cannot be read."""

    kind: str
    metadata: ObjectMeta = ObjectMeta()


Object = (
    Workload
    | PodGroup
    | CompositePodGroup
    | Pod
    | Job
    | JobSet
    | PriorityClass
    | Node
    | DeviceResourceClaim
    | ResourceClaimTemplate
    | DeviceClass
    | ResourceSlice
    | DeviceTaintRule
    | Controller
    | Named
)

KINDS: dict[str, type[Object]] = {
    "Workload": Workload,
    "PodGroup": PodGroup,
    "CompositePodGroup": CompositePodGroup,
    "Pod": Pod,
    "Job": Job,
    "JobSet": JobSet,
    "PriorityClass": PriorityClass,
    "Node": Node,
    "ResourceClaim": DeviceResourceClaim,
    "ResourceClaimTemplate": ResourceClaimTemplate,
    "DeviceClass": DeviceClass,
    "ResourceSlice": ResourceSlice,
    "DeviceTaintRule": DeviceTaintRule,
}
CLUSTER_SCOPED = frozenset(
    {
        *("PriorityClass", "Node", "Namespace", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment"),
        "RuntimeClass",
        *("ResourceSlice", "DeviceClass", "DeviceTaintRule"),
    }
)


def namespace_of(item: Object) -> str:
    """Return the namespace of an object: empty for cluster-scoped kinds, ``default`` if none is written."""
    return "" if item.kind in CLUSTER_SCOPED else item.metadata.namespace or "default"
