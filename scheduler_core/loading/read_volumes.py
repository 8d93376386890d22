"""Claims, volumes, storage classes, storage capacities and limits of CSI drivers, unique by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from kubeapi.base_structs import Record
from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects
from kubeapi.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment
from kubeapi.volumes import PersistentVolume, PersistentVolumeClaim
from scheduler_core.loading.read_claim_requests import claim_request, provisioner, storage_capacity, volume_offer
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.loading.translate_volumes import migrated_volume
from scheduler_core.model.delayed_claims import Provisioner, StorageCapacity
from scheduler_core.model.migrated_volumes import MIGRATED_DRIVERS
from scheduler_core.model.volume_users import VolumeKey
from scheduler_core.model.volumes import ZONE_LABELS, Claim, Volume

_DELIMITER = "__"
"""Between the zones of a volume with several zones."""
V = TypeVar("V", PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment)


class VolumeClass(Record, frozen=True):
    """A storage class: its volume binding mode, and how it provisions volumes."""

    mode: str
    provisioner: Provisioner


class VolumeDriver(Record, frozen=True):
    """A CSI driver: whether a node without it excludes pods with its volumes, and whether its storage capacity is compared."""

    required: bool
    measured: bool


Attachment = tuple[str, str, str]
"""Node, CSI driver and PersistentVolume of a VolumeAttachment."""


def read_claim(gathered: GatheredObjects) -> tuple[Name, Claim]:
    """Return the name of a claim, and the claim.  Raises Unusable."""
    name, claim = _named(gathered, PersistentVolumeClaim)
    metadata, spec = claim.metadata, claim.spec
    request = claim_request(metadata.annotations, spec)
    controllers = (each for each in metadata.owner_references or () if each.controller)
    return name, Claim(
        uid=metadata.uid,
        volume=spec.volume_name,
        bound=bool(spec.volume_name) and metadata.annotations.bind_completed is not None,
        lost=claim.status.phase == "Lost",
        deleting=metadata.deletion_timestamp is not None,
        storage_class=request.storage_class,
        single_pod="ReadWriteOncePod" in request.access_modes,
        owners=tuple((each.kind, each.name) for each in controllers),
        request=request,
    )


def read_volume(gathered: GatheredObjects) -> tuple[Name, Volume]:
    """Return the name of a volume, and the volume.  Raises Unusable."""
    name, volume = _named(gathered, PersistentVolume)
    spec, reference = volume.spec, volume.spec.claim_ref
    return name, Volume(
        affinity=spec.node_affinity.required if spec.node_affinity else None,
        zones=tuple(_zones(volume.metadata.labels or {})),
        claim=(reference.namespace, reference.name) if reference else None,
        claim_uid=reference.uid if reference else "",
        key=(spec.csi.driver, spec.csi.volume_handle) if spec.csi and spec.csi.driver and spec.csi.volume_handle else None,
        offer=volume_offer(volume),
        migrated=migrated_volume(spec, volume.metadata.labels or {}),
    )


def read_class(gathered: GatheredObjects) -> tuple[Name, VolumeClass]:
    """Return the name of a storage class, and the class.  Raises Unusable."""
    name, storage_class = _named(gathered, StorageClass)
    return name, VolumeClass(storage_class.volume_binding_mode or "Immediate", provisioner(storage_class))


def read_capacity(gathered: GatheredObjects) -> tuple[Name, StorageCapacity]:
    """Return the name of a storage capacity, and the capacity.  Raises Unusable."""
    name, capacity = _named(gathered, CSIStorageCapacity)
    return name, storage_capacity(capacity)


def read_drivers(gathered: GatheredObjects) -> tuple[Name, dict[str, int | None]]:
    """Return the name of a node, and its drivers, each with the number of volumes that it can attach, or None.  Raises Unusable.

    In-tree plugins that are migrated on the node are drivers without a number.
    """
    name, node = _named(gathered, CSINode)
    plugins = dict.fromkeys(set((node.metadata.annotations.migrated_plugins or "").split(",")).intersection(MIGRATED_DRIVERS))
    return name, plugins | {each.name: each.allocatable.count if each.allocatable else None for each in node.spec.drivers or ()}


def read_attachment(gathered: GatheredObjects) -> tuple[Name, Attachment]:
    """Return the name of a VolumeAttachment, and what it attaches.  Raises Unusable."""
    name, attachment = _named(gathered, VolumeAttachment)
    spec = attachment.spec
    return name, (spec.node_name, spec.attacher, spec.source.persistent_volume_name or "")


def attached_volume(attachment: Attachment, volumes: Mapping[str, Volume]) -> tuple[str, VolumeKey] | None:
    """Return the node and the volume of *attachment*; None if its volume is unknown or not a CSI volume."""
    node, driver, name = attachment
    volume = volumes.get(name)
    return (node, (driver, volume.key[1])) if driver and volume is not None and volume.key is not None else None


def read_driver(gathered: GatheredObjects) -> tuple[Name, VolumeDriver]:
    """Return the name of a CSI driver, and the driver.  Raises Unusable."""
    name, driver = _named(gathered, CSIDriver)
    return name, VolumeDriver(driver.spec.prevent_pod_scheduling_if_missing, driver.spec.storage_capacity)


def _named(gathered: GatheredObjects, model: type[V]) -> tuple[Name, V]:
    decoded = typed(gathered, model)
    return name_in(gathered.kind, decoded.metadata), decoded


def _zones(labels: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield zone labels with their values; a label with an empty zone is ignored."""
    for key in ZONE_LABELS:
        zones = sorted({zone.strip() for zone in labels[key].split(_DELIMITER)}) if key in labels else [""]
        if zones[0]:
            yield key, tuple(zones)
