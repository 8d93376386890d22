"""Claims, volumes, storage classes, storage capacities and limits of CSI drivers, unique by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from scheduler_core.loading.gather import GatheredObjects, Name
from scheduler_core.loading.read_claim_requests import claim_request, provisioner, storage_capacity, volume_offer
from scheduler_core.loading.read_objects import name_in, one_each, typed
from scheduler_core.model.delayed_claims import Provisioner, StorageCapacity
from scheduler_core.model.problem import Problem
from scheduler_core.model.volumes import ZONE_LABELS, Claim, Volume, VolumeObjects
from scheduler_core.model.wire_volumes import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass

_DELIMITER = "__"
"""Between the zones of a volume with several zones."""
V = TypeVar("V", PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, CSIDriver, CSIStorageCapacity)


def read_volumes(kinds: Mapping[str, list[GatheredObjects]], problems: list[Problem]) -> VolumeObjects:
    """Return the usable claims, volumes and classes, and the limited drivers, of the objects by kind."""
    claims = one_each(kinds["PersistentVolumeClaim"], read_claim, problems).good
    volumes = one_each(kinds["PersistentVolume"], read_volume, problems).good
    classes = one_each(kinds["StorageClass"], read_class, problems).good
    limits = one_each(kinds["CSINode"], read_limited_drivers, problems)
    required = one_each(kinds["CSIDriver"], read_driver, problems)
    provisioners = one_each(kinds["StorageClass"], read_provisioner, []).good
    measured = one_each(kinds["CSIDriver"], read_measured, []).good
    limited = frozenset().union(*limits.good.values(), (name for (_, name), each in required.good.items() if each))
    return VolumeObjects(
        claims,
        {name: each for (_, name), each in volumes.items()},
        {name: each for (_, name), each in classes.items()},
        # An object that cannot be used may have a limit of any driver.
        limited=None if limits.unusable or required.unusable else limited,
        provisioners={name: each for (_, name), each in provisioners.items()},
        capacities=one_each(kinds["CSIStorageCapacity"], read_capacity, problems).good,
        measured=frozenset(name for (_, name), each in measured.items() if each),
    )


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
    sources = (spec.aws_elastic_block_store, spec.gce_persistent_disk, spec.azure_disk, spec.cinder, spec.portworx_volume)
    return name, Volume(
        affinity=spec.node_affinity.required if spec.node_affinity else None,
        zones=tuple(_zones(volume.metadata.labels or {})),
        migrates=any(each is not None for each in sources),
        claim=(reference.namespace, reference.name) if reference else None,
        claim_uid=reference.uid if reference else "",
        driver=spec.csi.driver if spec.csi else "",
        offer=volume_offer(volume),
    )


def read_class(gathered: GatheredObjects) -> tuple[Name, str]:
    """Return the name of a storage class, and its volume binding mode.  Raises Unusable."""
    name, storage_class = _named(gathered, StorageClass)
    return name, storage_class.volume_binding_mode or "Immediate"


def read_provisioner(gathered: GatheredObjects) -> tuple[Name, Provisioner]:
    """Return the name of a storage class, and how it provisions volumes.  Raises Unusable."""
    name, storage_class = _named(gathered, StorageClass)
    return name, provisioner(storage_class)


def read_capacity(gathered: GatheredObjects) -> tuple[Name, StorageCapacity]:
    """Return the name of a storage capacity, and the capacity.  Raises Unusable."""
    name, capacity = _named(gathered, CSIStorageCapacity)
    return name, storage_capacity(capacity)


def read_limited_drivers(gathered: GatheredObjects) -> tuple[Name, frozenset[str]]:
    """Return the name of a node, and the drivers that can attach a limited number of volumes to it.  Raises Unusable."""
    name, node = _named(gathered, CSINode)
    drivers = node.spec.drivers or ()
    return name, frozenset(each.name for each in drivers if each.allocatable is not None and each.allocatable.count is not None)


def read_driver(gathered: GatheredObjects) -> tuple[Name, bool]:
    """Return the name of a CSI driver, and whether a node without it excludes pods with its volumes.  Raises Unusable."""
    name, driver = _named(gathered, CSIDriver)
    return name, driver.spec.prevent_pod_scheduling_if_missing


def read_measured(gathered: GatheredObjects) -> tuple[Name, bool]:
    """Return the name of a CSI driver, and whether its storage capacity is compared.  Raises Unusable."""
    name, driver = _named(gathered, CSIDriver)
    return name, driver.spec.storage_capacity


def _named(gathered: GatheredObjects, model: type[V]) -> tuple[Name, V]:
    decoded = typed(gathered, model)
    return name_in(gathered.kind, decoded.metadata), decoded


def _zones(labels: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield zone labels with their values; a label with an empty zone is ignored."""
    for key in ZONE_LABELS:
        zones = sorted({zone.strip() for zone in labels[key].split(_DELIMITER)}) if key in labels else [""]
        if zones[0]:
            yield key, tuple(zones)
