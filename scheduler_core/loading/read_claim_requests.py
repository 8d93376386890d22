"""Specifications of claims and volumes: what a claim requests, what a volume, a class or a storage capacity offers."""

from __future__ import annotations

from decimal import Decimal

from kubeapi import quantity
from kubeapi.decode import ValidationError
from kubeapi.gathered import Unusable
from kubeapi.quantity import Amount
from kubeapi.selectors import LabelSelector, Requirement
from kubeapi.storage import CSIStorageCapacity, StorageClass
from kubeapi.volumes import ClaimAnnotations, PersistentVolume, PersistentVolumeClaimSpec, ephemeral_source
from scheduler_core.model.delayed_claims import FILESYSTEM, ClaimRequest, Expressions, Provisioner, StorageCapacity, VolumeOffer
from scheduler_core.model.volumes import Claim

_STORAGE = "storage"
_FREE = ("", "Available")
"""Phases of a volume that is free; objects in files often have no status."""


def claim_request(annotations: ClaimAnnotations, spec: PersistentVolumeClaimSpec) -> ClaimRequest:
    """Return the specification of a claim.  Raises Unusable."""
    requested = (spec.resources.requests or {}).get(_STORAGE)
    size = _bytes(requested, "spec.resources.requests[storage]")
    return ClaimRequest(
        storage_class=_class(annotations, spec.storage_class_name),
        size=size,
        rounding=_rounding(requested, size),
        mode=spec.volume_mode or FILESYSTEM,
        attributes=spec.volume_attributes_class_name or "",
        access_modes=tuple(sorted(spec.access_modes or ())),
        selector=_expressions(spec.selector),
        selected_node=annotations.selected_node or "",
    )


def volume_offer(volume: PersistentVolume) -> VolumeOffer:
    """Return what *volume* offers to claims.  Raises Unusable."""
    metadata, spec = volume.metadata, volume.spec
    return VolumeOffer(
        storage_class=_class(metadata.annotations, spec.storage_class_name),
        size=_bytes((spec.capacity or {}).get(_STORAGE), "spec.capacity[storage]") or 0,
        mode=spec.volume_mode or FILESYSTEM,
        attributes=spec.volume_attributes_class_name or "",
        access_modes=tuple(sorted(spec.access_modes or ())),
        labels=tuple(sorted((metadata.labels or {}).items())),
        available=volume.status.phase in _FREE,
        deleting=metadata.deletion_timestamp is not None,
    )


def template_claim(source: object, field: str) -> Claim:
    """Return the claim that an ephemeral volume creates.

    Raises:
        ValueError: a value is unusable; the text names the field.

    """
    try:
        template = ephemeral_source(source).volume_claim_template
        request = claim_request(template.metadata.annotations, template.spec)
    except (ValidationError, Unusable) as error:
        raise ValueError(f"{field}.volumeClaimTemplate: {error}") from None
    single_pod = "ReadWriteOncePod" in request.access_modes
    return Claim(
        "", "", bound=False, lost=False, deleting=False, storage_class=request.storage_class, single_pod=single_pod, request=request
    )


def provisioner(storage_class: StorageClass) -> Provisioner:
    """Return how *storage_class* provisions volumes."""
    terms = storage_class.allowed_topologies or ()
    return Provisioner(
        storage_class.provisioner,
        tuple(tuple(Requirement(each.key, "In", each.values) for each in term.match_label_expressions or ()) for term in terms),
    )


def storage_capacity(capacity: CSIStorageCapacity) -> StorageCapacity:
    """Return the content of *capacity*.  Raises Unusable."""
    total, largest = _bytes(capacity.capacity, "capacity"), _bytes(capacity.maximum_volume_size, "maximumVolumeSize")
    limit = (capacity.capacity, total) if largest is None else (capacity.maximum_volume_size, largest)
    nodes = _expressions(capacity.node_topology)
    return StorageCapacity(capacity.storage_class_name, nodes, total, largest, _rounding(*limit))


def _class(annotations: ClaimAnnotations, name: str | None) -> str:
    return (name or "") if annotations.storage_class is None else annotations.storage_class


def _bytes(written: Amount | None, field: str) -> int | None:
    """Return *written* in bytes, None if it is absent.  Raises Unusable."""
    if written is None:
        return None
    try:
        return quantity.value(written)
    except ValueError as error:
        raise Unusable(f"{field}: {error}") from None


def _rounding(written: Amount | None, size: int | None) -> Decimal:
    """Return how much more *size*, in whole bytes, is than the quantity *written*."""
    return Decimal(0) if written is None or size is None else size - quantity.exact(written)


def _expressions(selector: LabelSelector | None) -> Expressions | None:
    if selector is None:
        return None
    pairs = sorted((selector.match_labels or {}).items())
    return (*(Requirement(key, "In", (value,)) for key, value in pairs), *(selector.match_expressions or ()))
