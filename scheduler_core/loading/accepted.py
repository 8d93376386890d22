"""Objects as parsed JSON, if loading uses them: only their values have the types of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubeapi.decode import Json
from kubeapi.gathered import GatheredObjects, Unusable
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.pods import Pod
from kubeapi.resource_claims import ResourceClaimTemplate
from kubeapi.workloads import Workload
from scheduler_core.loading import read_devices, read_groups, read_nodes, read_volumes
from scheduler_core.loading.read_objects import typed

_READERS: Mapping[str, Callable[[GatheredObjects], object]] = {
    "Node": read_nodes.read_node,
    "Pod": lambda gathered: typed(gathered, Pod),
    "PodGroup": lambda gathered: read_groups.read_one(gathered, PodGroup),
    "CompositePodGroup": lambda gathered: read_groups.read_one(gathered, CompositePodGroup),
    "Workload": lambda gathered: read_groups.read_one(gathered, Workload),
    "PersistentVolumeClaim": read_volumes.read_claim,
    "PersistentVolume": read_volumes.read_volume,
    "StorageClass": read_volumes.read_class,
    "CSINode": read_volumes.read_drivers,
    "CSIDriver": read_volumes.read_driver,
    "CSIStorageCapacity": read_volumes.read_capacity,
    "DeviceClass": read_devices.read_device_class,
    "DeviceTaintRule": read_devices.read_taint_rule,
    "ResourceClaim": read_devices.read_resource_claim,
    "ResourceClaimTemplate": lambda gathered: typed(gathered, ResourceClaimTemplate),
    "ResourceSlice": read_devices.read_slice,
}
"""Reader of each kind whose objects hypothetical changes edit."""


def accepted_content(gathered: GatheredObjects) -> dict[str, Json] | None:
    """Return the parsed object without nulls; None if loading leaves it out, or if it is of a kind that is not edited."""
    try:
        if (read := _READERS.get(gathered.kind)) is None:
            return None
        read(gathered)
        return gathered.content()
    except Unusable:
        return None
