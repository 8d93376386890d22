"""Volumes, claims and storage classes as the API encodes them, as far as placement reads them (core/v1, storage.k8s.io/v1).

Decoding is typed as in ``wire``.
"""

from __future__ import annotations

import msgspec

from kubeapi.meta import Struct
from kubeapi.quantity import Amount
from scheduler_core.model.wire import Amounts, Int32, LabelSelector, NodeSelector

Source = dict[str, object]
"""Volume source of which only the presence is read."""


class ClaimAnnotations(Struct, frozen=True, gc=False):
    """Annotations of a PersistentVolumeClaim."""

    bind_completed: str | None = msgspec.field(default=None, name="pv.kubernetes.io/bind-completed")
    storage_class: str | None = msgspec.field(default=None, name="volume.beta.kubernetes.io/storage-class")
    selected_node: str | None = msgspec.field(default=None, name="volume.kubernetes.io/selected-node")


class OwnerReference(Struct, frozen=True, gc=False):
    """Owner of a claim."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ClaimMeta(Struct, frozen=True, gc=False):
    """``metadata`` of a PersistentVolumeClaim."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    annotations: ClaimAnnotations = ClaimAnnotations()
    owner_references: tuple[OwnerReference, ...] | None = None


class ClaimResources(Struct, frozen=True, gc=False):
    """``resources`` of a claim."""

    requests: Amounts | None = None


class ClaimSpec(Struct, frozen=True, gc=False):
    """``spec`` of a PersistentVolumeClaim."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] | None = None
    resources: ClaimResources = ClaimResources()
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    selector: LabelSelector | None = None


class ClaimStatus(Struct, frozen=True, gc=False):
    """``status`` of a PersistentVolumeClaim or PersistentVolume."""

    phase: str = ""


class PersistentVolumeClaim(Struct, frozen=True, gc=False):
    """core/v1 PersistentVolumeClaim."""

    metadata: ClaimMeta = ClaimMeta()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class TemplateMeta(Struct, frozen=True, gc=False):
    """``metadata`` of the claim template of an ephemeral volume."""

    annotations: ClaimAnnotations = ClaimAnnotations()


class ClaimTemplate(Struct, frozen=True, gc=False):
    """core/v1 PersistentVolumeClaimTemplate."""

    metadata: TemplateMeta = TemplateMeta()
    spec: ClaimSpec = ClaimSpec()


class EphemeralSource(Struct, frozen=True, gc=False):
    """core/v1 EphemeralVolumeSource."""

    volume_claim_template: ClaimTemplate = ClaimTemplate()


def ephemeral_source(source: object) -> EphemeralSource:
    """Return the source of an ephemeral volume, which is parsed JSON.

    Raises:
        ValidationError: a value has the wrong JSON type.

    """
    return msgspec.convert(source, EphemeralSource)


class VolumeMeta(Struct, frozen=True, gc=False):
    """``metadata`` of a PersistentVolume or of a cluster-scoped object."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None
    annotations: ClaimAnnotations = ClaimAnnotations()


class VolumeNodeAffinity(Struct, frozen=True, gc=False):
    """core/v1 VolumeNodeAffinity."""

    required: NodeSelector | None = None


class ClaimReference(Struct, frozen=True, gc=False):
    """Reference of a PersistentVolume to its claim."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiSource(Struct, frozen=True, gc=False):
    """Source of a volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""


class AzureDisk(Struct, frozen=True, gc=False):
    """Source of an Azure disk."""

    kind: str | None = None


class VolumeSpec(Struct, frozen=True, gc=False):
    """``spec`` of a PersistentVolume: its offer to claims, its node affinity, its claim, its CSI driver, sources that can migrate."""

    node_affinity: VolumeNodeAffinity | None = None
    claim_ref: ClaimReference | None = None
    aws_elastic_block_store: Source | None = None
    gce_persistent_disk: Source | None = None
    azure_disk: AzureDisk | None = None
    cinder: Source | None = None
    portworx_volume: Source | None = None
    csi: CsiSource | None = None
    capacity: Amounts | None = None
    access_modes: tuple[str, ...] | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolume(Struct, frozen=True, gc=False):
    """core/v1 PersistentVolume."""

    metadata: VolumeMeta = VolumeMeta()
    spec: VolumeSpec = VolumeSpec()
    status: ClaimStatus = ClaimStatus()


class DriverLimits(Struct, frozen=True, gc=False):
    """``allocatable`` of a driver on a node."""

    count: Int32 | None = None


class NodeDriver(Struct, frozen=True, gc=False):
    """A CSI driver on a node."""

    name: str = ""
    allocatable: DriverLimits | None = None


class NodeDrivers(Struct, frozen=True, gc=False):
    """``spec`` of a CSINode."""

    drivers: tuple[NodeDriver, ...] | None = None


class NodeAnnotations(Struct, frozen=True, gc=False):
    """Annotations of a CSINode."""

    migrated_plugins: str | None = msgspec.field(default=None, name="storage.alpha.kubernetes.io/migrated-plugins")


class NodeMeta(Struct, frozen=True, gc=False):
    """``metadata`` of a CSINode."""

    name: str = ""
    namespace: str = ""
    annotations: NodeAnnotations = NodeAnnotations()


class CSINode(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 CSINode."""

    metadata: NodeMeta = NodeMeta()
    spec: NodeDrivers = NodeDrivers()


class DriverSpec(Struct, frozen=True, gc=False):
    """``spec`` of a CSIDriver."""

    prevent_pod_scheduling_if_missing: bool = False
    storage_capacity: bool = False


class CSIDriver(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 CSIDriver."""

    metadata: VolumeMeta = VolumeMeta()
    spec: DriverSpec = DriverSpec()


class TopologyExpression(Struct, frozen=True, gc=False):
    """core/v1 TopologySelectorLabelRequirement."""

    key: str
    values: tuple[str, ...] | None = None


class TopologyTerm(Struct, frozen=True, gc=False):
    """core/v1 TopologySelectorTerm."""

    match_label_expressions: tuple[TopologyExpression, ...] | None = None


class StorageClass(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 StorageClass."""

    metadata: VolumeMeta = VolumeMeta()
    volume_binding_mode: str | None = None
    provisioner: str = ""
    allowed_topologies: tuple[TopologyTerm, ...] | None = None


class CSIStorageCapacity(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 CSIStorageCapacity."""

    metadata: VolumeMeta = VolumeMeta()
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Amount | None = None
    maximum_volume_size: Amount | None = None


class AttachmentSource(Struct, frozen=True, gc=False):
    """``source`` of a VolumeAttachment."""

    persistent_volume_name: str | None = None


class AttachmentSpec(Struct, frozen=True, gc=False):
    """``spec`` of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(Struct, frozen=True, gc=False):
    """storage.k8s.io/v1 VolumeAttachment."""

    metadata: VolumeMeta = VolumeMeta()
    spec: AttachmentSpec = AttachmentSpec()
