"""Volumes that a pod uses: CSI volumes that can count against a limit, and ReadWriteOncePod claims."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.model.delayed_claims import Provisioner
from scheduler_core.model.volume_users import VolumeKey
from scheduler_core.model.volumes import ClaimName, PodClaim, VolumeObjects


def csi_volumes(objects: VolumeObjects, namespace: str, claims: Iterable[PodClaim]) -> set[VolumeKey]:
    """Return the CSI volumes of the *claims* of a pod in *namespace*."""
    found = (_csi_volume(objects, (namespace, each.name), each) for each in claims)
    return {volume for volume in found if volume is not None}


def single_pod_claims(objects: VolumeObjects, namespace: str, claims: Iterable[PodClaim]) -> tuple[str, ...]:
    """Return the ReadWriteOncePod claims of a pod in *namespace*; those of ephemeral volumes do not count."""
    names = sorted({each.name for each in claims if each.template is None})
    return tuple(name for name in names if (claim := objects.claims.get((namespace, name))) is not None and claim.single_pod)


def is_modelled(objects: VolumeObjects, volume: VolumeKey | None) -> bool:
    """Return whether an inline disk is modelled that counts as *volume*; None if it does not count."""
    return volume is None or (objects.attach is not None and volume[0] not in objects.attach.required)


def _csi_volume(objects: VolumeObjects, name: ClaimName, of_pod: PodClaim) -> VolumeKey | None:
    """Return the CSI volume of a claim, by the provisioner of its class if it has none; None for a volume of another kind."""
    if (claim := objects.claim(name, of_pod)) is None:
        return None
    if (volume := objects.volumes.get(claim.volume)) is not None:
        return volume.key
    provisioner = objects.provisioners.get(claim.storage_class, Provisioner())
    return (provisioner.name, f"claim {'/'.join(name)}") if provisioner.name and not provisioner.migrates else None
