"""PersistentVolumeClaims, PersistentVolumes and StorageClasses, and their requirements on the nodes of a pod.

The requirements are part of a pod's shape; they do not name bound claims, so that equal pods share one shape.  Claims that the plugins do
not model have no requirement here: ReadWriteOncePod, WaitForFirstConsumer and not bound, volumes that can migrate to a CSI driver, and
volumes of CSI drivers whose volumes on a node are limited.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping

from scheduler_core.model.wire import NodeSelector

ZONE_LABELS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
"""Labels of volumes and nodes with their zone or region."""
Zones = tuple[tuple[str, tuple[str, ...]], ...]
"""Zone and region labels of a volume, each with the values that a node may have."""
PodClaim = tuple[int, str]
"""Index of a volume in the pod's spec, and the name of its claim."""
ClaimName = tuple[str, str]
"""Namespace and name."""


class ClaimState(enum.Enum):
    """State of a claim for the scheduler."""

    BOUND = "bound"
    MISSING = "the claim does not exist"
    LOST = "its volume was deleted"
    DELETING = "being deleted"
    UNBOUND = "not bound, or not completely, and its class does not wait for a pod"
    VOLUME_MISSING = "bound to a volume that does not exist"


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeNeed:
    """Requirement of one claim on nodes.

    Attributes:
        field: the pod's field, such as ``spec.volumes[0].persistentVolumeClaim``.
        state: any state but BOUND excludes all nodes.
        claim: name of the claim if the reason in *state* names it, else empty.
        volume: name of the volume if the reason in *state* names it, else empty.
        affinity: required node affinity of the bound volume.
        zones: zones of the bound volume.

    """

    field: str
    state: ClaimState = ClaimState.BOUND
    claim: str = ""
    volume: str = ""
    affinity: NodeSelector | None = None
    zones: Zones = ()

    @property
    def restricts(self) -> bool:
        """Return whether it can exclude a node."""
        return self.state is not ClaimState.BOUND or self.affinity is not None or bool(self.zones)


@dataclasses.dataclass(frozen=True, slots=True)
class BoundClaim:
    """Claim of a pod with its volume, whose requirement is *need*."""

    claim: str
    volume: str
    need: VolumeNeed


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim; *volume* is the name in its spec, and *bound* whether the binding is complete."""

    uid: str
    volume: str
    bound: bool
    lost: bool
    deleting: bool
    storage_class: str
    single_pod: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume.

    Attributes:
        affinity: its required node affinity.
        zones: its zone and region labels.
        migrates: whether a CSI driver can be responsible for its source.
        claim: the claim that it is reserved for; None if none.
        claim_uid: the uid of that claim; empty if not known.
        driver: its CSI driver; empty if none.

    """

    affinity: NodeSelector | None
    zones: Zones
    migrates: bool
    claim: ClaimName | None
    claim_uid: str
    driver: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class PodVolumes:
    """Requirements of a pod's claims.

    Attributes:
        needs: requirements that can exclude a node, in the order of the pod's volumes.
        modelled: fields of the pod that are modelled.
        bound: the bound claims with requirements, by name.

    """

    needs: tuple[VolumeNeed, ...]
    modelled: frozenset[str]
    bound: tuple[BoundClaim, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeObjects:
    """Objects that decide the requirements of claims.

    Attributes:
        claims: claims by namespace and name.
        volumes: volumes by name.
        classes: volume binding modes of the storage classes by name.
        completes: whether a claim counts as bound while its volume is reserved for it: the PersistentVolume controller completes the
            binding within seconds.
        limited: CSI drivers with a limit of volumes on some node, or that must be on a node; None if this is not known.

    """

    claims: Mapping[ClaimName, Claim] = dataclasses.field(default_factory=dict)
    volumes: Mapping[str, Volume] = dataclasses.field(default_factory=dict)
    classes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    completes: bool = True
    limited: frozenset[str] | None = frozenset()

    def of_pod(self, namespace: str, claims: Iterable[PodClaim]) -> PodVolumes:
        """Return the requirements of the *claims* of a pod in *namespace*."""
        named = [(name, self._need((namespace, name), f"spec.volumes[{index}].persistentVolumeClaim")) for index, name in claims]
        modelled = [(name, need) for name, need in named if need is not None]
        bound = (
            BoundClaim(name, self.claims[namespace, name].volume, need)
            for name, need in modelled
            if need.restricts and need.state is ClaimState.BOUND
        )
        needs = tuple(need for _, need in modelled if need.restricts)
        return PodVolumes(needs, frozenset(need.field for _, need in modelled), tuple(bound))

    def _need(self, name: ClaimName, field: str) -> VolumeNeed | None:
        """Return the requirement of a claim; None if it is not modelled."""
        if (claim := self.claims.get(name)) is None:
            return VolumeNeed(field, ClaimState.MISSING, name[1])
        if claim.lost:
            return VolumeNeed(field, ClaimState.LOST, name[1], claim.volume)
        if claim.deleting:
            return VolumeNeed(field, ClaimState.DELETING, name[1])
        volume = self.volumes.get(claim.volume)
        if not claim.bound and not (self.completes and _reserved(volume, name, claim)):
            delayed = not claim.volume and self.classes.get(claim.storage_class) == "WaitForFirstConsumer"
            return None if delayed else VolumeNeed(field, ClaimState.UNBOUND)
        if volume is not None and volume.driver and (self.limited is None or volume.driver in self.limited):
            return None
        return _bound(claim, volume, field)


def _reserved(volume: Volume | None, name: ClaimName, claim: Claim) -> bool:
    return volume is not None and volume.claim == name and volume.claim_uid in ("", claim.uid)


def _bound(claim: Claim, volume: Volume | None, field: str) -> VolumeNeed | None:
    if volume is None:
        return VolumeNeed(field, ClaimState.VOLUME_MISSING, volume=claim.volume)
    return None if claim.single_pod or volume.migrates else VolumeNeed(field, affinity=volume.affinity, zones=volume.zones)
