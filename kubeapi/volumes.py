"""Claims to volumes, and volumes."""

from __future__ import annotations

from typing import Annotated

import msgspec

from kubeapi.meta import NamespacedName, OwnerReference, Struct
from kubeapi.quantity import Amounts
from kubeapi.redaction import UNREAD, Mark, Name, inner
from kubeapi.selectors import LabelSelector, NodeSelector

Source = dict[str, object]
"""Volume source of which only the presence is read."""


class ClaimAnnotations(Struct, frozen=True, gc=False):
    """Annotations of a PersistentVolumeClaim."""

    bind_completed: str | None = msgspec.field(default=None, name="pv.kubernetes.io/bind-completed")
    storage_class: Name | None = msgspec.field(default=None, name="volume.beta.kubernetes.io/storage-class")
    selected_node: Name | None = msgspec.field(default=None, name="volume.kubernetes.io/selected-node")


class PersistentVolumeClaimMeta(NamespacedName, frozen=True, gc=False):
    """``metadata`` of a PersistentVolumeClaim."""

    uid: Name = ""
    deletion_timestamp: str | None = None
    annotations: ClaimAnnotations = ClaimAnnotations()
    owner_references: Annotated[tuple[OwnerReference, ...] | None, inner(apiVersion=UNREAD)] = None


class VolumeResourceRequirements(Struct, frozen=True, gc=False):
    """``resources`` of a claim."""

    requests: Amounts | None = None


class PersistentVolumeClaimSpec(Struct, frozen=True, gc=False):
    """``spec`` of a PersistentVolumeClaim."""

    volume_name: Name = ""
    storage_class_name: Name | None = None
    access_modes: tuple[str, ...] | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_mode: str | None = None
    volume_attributes_class_name: Name | None = None
    selector: LabelSelector | None = None


class PersistentVolumeClaimStatus(Struct, frozen=True, gc=False):
    """``status`` of a PersistentVolumeClaim or PersistentVolume."""

    phase: str = ""


class PersistentVolumeClaim(Struct, frozen=True, gc=False):
    """core/v1 PersistentVolumeClaim."""

    metadata: PersistentVolumeClaimMeta = PersistentVolumeClaimMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class ClaimTemplateMeta(Struct, frozen=True, gc=False):
    """``metadata`` of the claim template of an ephemeral volume."""

    annotations: ClaimAnnotations = ClaimAnnotations()


class PersistentVolumeClaimTemplate(Struct, frozen=True, gc=False):
    """core/v1 PersistentVolumeClaimTemplate."""

    metadata: ClaimTemplateMeta = ClaimTemplateMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Struct, frozen=True, gc=False):
    """core/v1 EphemeralVolumeSource."""

    volume_claim_template: PersistentVolumeClaimTemplate = PersistentVolumeClaimTemplate()


def ephemeral_source(source: object) -> EphemeralVolumeSource:
    """Return the source of an ephemeral volume, which is parsed JSON.

    Raises:
        ValidationError: a value has the wrong JSON type.

    """
    return msgspec.convert(source, EphemeralVolumeSource)


class VolumeMeta(NamespacedName, frozen=True, gc=False):
    """``metadata`` of a PersistentVolume or of an object about storage."""

    labels: dict[str, Annotated[str, Mark.ZONES]] | None = None
    deletion_timestamp: str | None = None
    annotations: ClaimAnnotations = ClaimAnnotations()


class VolumeNodeAffinity(Struct, frozen=True, gc=False):
    """core/v1 VolumeNodeAffinity."""

    required: NodeSelector | None = None


class ClaimReference(Struct, frozen=True, gc=False):
    """Reference of a PersistentVolume to its claim."""

    namespace: Name = ""
    name: Name = ""
    uid: Name = ""


class CSIPersistentVolumeSource(Struct, frozen=True, gc=False):
    """Source of a volume of a CSI driver."""

    driver: str = ""
    volume_handle: Name = ""


class AzureDiskVolumeSource(Struct, frozen=True, gc=False):
    """Source of an Azure disk."""

    kind: str | None = None


class PersistentVolumeSpec(Struct, frozen=True, gc=False):
    """``spec`` of a PersistentVolume: its offer to claims, its node affinity, its claim, its CSI driver, sources that can migrate."""

    node_affinity: VolumeNodeAffinity | None = None
    claim_ref: ClaimReference | None = None
    aws_elastic_block_store: Source | None = None
    gce_persistent_disk: Source | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    cinder: Source | None = None
    portworx_volume: Source | None = None
    csi: CSIPersistentVolumeSource | None = None
    capacity: Amounts | None = None
    access_modes: tuple[str, ...] | None = None
    storage_class_name: Name = ""
    volume_mode: str | None = None
    volume_attributes_class_name: Name | None = None


class PersistentVolume(Struct, frozen=True, gc=False):
    """core/v1 PersistentVolume."""

    metadata: VolumeMeta = VolumeMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()
