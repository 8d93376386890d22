"""Storage classes, CSI drivers, and what they offer on nodes (storage.k8s.io)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from kubeapi.meta import Int32, NamespacedName, Struct
from kubeapi.quantity import Amount
from kubeapi.redaction import KEPT, Name, Names, inner
from kubeapi.selectors import LabelSelector
from kubeapi.volumes import VolumeMeta


class VolumeNodeResources(Struct, frozen=True, gc=False):
    """``allocatable`` of a driver on a node."""

    count: Int32 | None = None


class CSINodeDriver(Struct, frozen=True, gc=False):
    """A CSI driver on a node."""

    name: str = ""
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct, frozen=True, gc=False):
    """``spec`` of a CSINode."""

    drivers: tuple[CSINodeDriver, ...] | None = None


class CSINodeAnnotations(Struct, frozen=True, gc=False):
    """Annotations of a CSINode."""

    migrated_plugins: str | None = msgspec.field(default=None, name="storage.alpha.kubernetes.io/migrated-plugins")


class CSINodeMeta(NamespacedName, frozen=True, gc=False):
    """``metadata`` of a CSINode."""

    annotations: CSINodeAnnotations = CSINodeAnnotations()


class CSINode(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 CSINode."""

    metadata: CSINodeMeta = CSINodeMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True, gc=False):
    """``spec`` of a CSIDriver."""

    prevent_pod_scheduling_if_missing: bool = False
    storage_capacity: bool = False


class CSIDriver(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 CSIDriver."""

    metadata: Annotated[VolumeMeta, inner(name=KEPT)] = VolumeMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class TopologySelectorLabelRequirement(Struct, frozen=True, gc=False):
    """core/v1 TopologySelectorLabelRequirement."""

    key: str
    values: Names | None = None


class TopologySelectorTerm(Struct, frozen=True, gc=False):
    """core/v1 TopologySelectorTerm."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] | None = None


class StorageClass(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 StorageClass."""

    metadata: VolumeMeta = VolumeMeta()
    volume_binding_mode: str | None = None
    provisioner: str = ""
    allowed_topologies: tuple[TopologySelectorTerm, ...] | None = None


class CSIStorageCapacity(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 CSIStorageCapacity."""

    metadata: VolumeMeta = VolumeMeta()
    storage_class_name: Name = ""
    node_topology: LabelSelector | None = None
    capacity: Amount | None = None
    maximum_volume_size: Amount | None = None


class VolumeAttachmentSource(Struct, frozen=True, gc=False):
    """``source`` of a VolumeAttachment."""

    persistent_volume_name: Name | None = None


class VolumeAttachmentSpec(Struct, frozen=True, gc=False):
    """``spec`` of a VolumeAttachment."""

    attacher: str = ""
    node_name: Name = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 VolumeAttachment."""

    metadata: VolumeMeta = VolumeMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
