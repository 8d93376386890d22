"""PersistentVolumeClaims, PersistentVolumes and StorageClasses, and their requirements on the nodes of a pod.

The requirements are part of a pod's shape; they name neither bound claims nor claims that one pod waits for, so that equal pods share one
shape.  Claims to volumes that cannot migrate to their CSI driver are not modelled; they have no requirement here.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Container, Iterable, Mapping

from kubeapi.base_structs import Record, record_field, replaced
from kubeapi.selectors import NodeSelector
from scheduler_core.model.attach_limits import AttachLimits
from scheduler_core.model.delayed_claims import ClaimRequest, Provisioner, StorageCapacity, VolumeOffer
from scheduler_core.model.migrated_volumes import MigratedVolume
from scheduler_core.model.volume_users import VolumeKey, VolumeUsers

ZONE_LABELS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
"""Labels of volumes and nodes with their zone or region."""
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
"""Reason of kube-scheduler for a node without volumes for a claim."""
Zones = tuple[tuple[str, tuple[str, ...]], ...]
"""Zone and region labels of a volume, each with the values that a node may have."""
ClaimName = tuple[str, str]
"""Namespace and name."""


class ClaimState(enum.Enum):
    """State of a claim for the scheduler."""

    BOUND = "bound"
    MISSING = "missing"
    """The claim does not exist."""
    LOST = "lost"
    """Its volume was deleted."""
    DELETING = "deleting"
    UNBOUND = "unbound"
    """Not bound, and its class does not wait for a pod."""
    NO_CLASS = "no-class"
    """Not bound, and its class does not exist."""
    BINDING = "binding"
    """It names a volume, but the binding is not complete."""
    VOLUME_MISSING = "volume-missing"
    """Bound to a volume that does not exist."""
    NOT_CREATED = "not-created"
    """The claim of an ephemeral volume does not exist yet."""
    NOT_OWNED = "not-owned"
    """The claim of an ephemeral volume belongs to another owner."""
    DELAYED = "delayed"
    """Not bound, and its class waits for a pod."""


class VolumeNeed(Record, frozen=True):
    """Requirement of one claim on nodes.

    Attributes:
        field: the pod's field, such as ``spec.volumes[0].persistentVolumeClaim``.
        state: any state but BOUND and DELAYED excludes all nodes.
        claim: name of the claim if the reason in *state* names it, else empty.
        volume: name of the volume if the reason in *state* names it, else empty.
        affinity: required node affinity of the bound volume.
        zones: zones of the bound volume.
        pod: name of the pod if the reason in *state* names it, else empty.
        request: specification of the claim if it is DELAYED.
        driver: CSI driver that a node must have; empty if none.
        storage_class: name of its class if it is UNBOUND or NO_CLASS, else empty.
        migrated: node affinity of the bound volume where its in-tree plugin is migrated; None if it is the same everywhere.

    """

    field: str
    state: ClaimState = ClaimState.BOUND
    claim: str = ""
    volume: str = ""
    affinity: NodeSelector | None = None
    zones: Zones = ()
    pod: str = ""
    request: ClaimRequest | None = None
    driver: str = ""
    storage_class: str = ""
    migrated: MigratedVolume | None = None

    @property
    def restricts(self) -> bool:
        """Return whether it can exclude a node."""
        return self.state is not ClaimState.BOUND or any((self.affinity, self.zones, self.driver, self.migrated))


class BoundClaim(Record, frozen=True):
    """Claim of a pod with its volume, whose requirement is *need*."""

    claim: str
    volume: str
    need: VolumeNeed


class Claim(Record, frozen=True):
    """A PersistentVolumeClaim.

    Attributes:
        volume: the name in its spec.
        bound: whether the binding is complete.
        owners: kind and name of each controller.
        request: its specification.

    """

    uid: str
    volume: str
    bound: bool
    lost: bool
    deleting: bool
    storage_class: str
    single_pod: bool
    owners: tuple[tuple[str, str], ...] = ()
    request: ClaimRequest = record_field(default_factory=lambda: ClaimRequest(""))


class PodClaim(Record, frozen=True):
    """Claim of a pod.

    Attributes:
        index: index of the volume in the pod's spec.
        name: name of the claim.
        template: the claim that an ephemeral volume creates; None for a PersistentVolumeClaim volume.

    """

    index: int
    name: str
    template: Claim | None = None

    @property
    def field(self) -> str:
        """Return the field of the pod."""
        return f"spec.volumes[{self.index}].{'persistentVolumeClaim' if self.template is None else 'ephemeral'}"


class Volume(Record, frozen=True):
    """A PersistentVolume.

    Attributes:
        affinity: its required node affinity.
        zones: its zone and region labels.
        claim: the claim that it is reserved for; None if none.
        claim_uid: the uid of that claim; empty if not known.
        key: its CSI driver and volume handle; None if it is not a CSI volume.
        offer: what it offers to claims.
        migrated: its in-tree plugin; None if it has none that is migrated.

    """

    affinity: NodeSelector | None
    zones: Zones
    claim: ClaimName | None
    claim_uid: str
    key: VolumeKey | None = None
    offer: VolumeOffer = record_field(default_factory=VolumeOffer)
    migrated: MigratedVolume | None = None

    @property
    def driver(self) -> str:
        """Return its CSI driver, also if it is migrated; empty if there is none."""
        return self.key[0] if self.key else self.migrated.driver if self.migrated else ""


class PodVolumes(Record, frozen=True):
    """Requirements of a pod's claims.

    Attributes:
        needs: requirements that can exclude a node, in the order of the pod's volumes.
        modelled: fields of the pod that are modelled.
        bound: the bound claims with requirements, by name.
        delayed: names of the claims that wait for the pod, in the order of *needs*.

    """

    needs: tuple[VolumeNeed, ...]
    modelled: frozenset[str]
    bound: tuple[BoundClaim, ...]
    delayed: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class VolumeObjects:
    """Objects that decide the requirements of claims.

    Attributes:
        claims: claims by namespace and name.
        volumes: volumes by name.
        classes: volume binding modes of the storage classes by name.
        completes: whether a claim counts as bound while its volume is reserved for it: the PersistentVolume controller completes the
            binding within seconds.
        provisioners: how the storage classes provision volumes, by name.
        capacities: storage capacities by namespace and name.
        measured: CSI drivers whose storage capacity is compared.
        attach: limits of the volumes of nodes; None if they are not known, so that CSI volumes are not modelled.
        users: pods that use volumes.
        reserved: names of the volumes that are reserved for a claim, by claim.

    """

    claims: Mapping[ClaimName, Claim] = dataclasses.field(default_factory=dict)
    volumes: Mapping[str, Volume] = dataclasses.field(default_factory=dict)
    classes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    completes: bool = True
    provisioners: Mapping[str, Provisioner] = dataclasses.field(default_factory=dict)
    capacities: Mapping[ClaimName, StorageCapacity] = dataclasses.field(default_factory=dict)
    measured: Container[str] = frozenset()
    attach: AttachLimits | None = dataclasses.field(default_factory=AttachLimits)
    users: VolumeUsers = dataclasses.field(default_factory=VolumeUsers)
    reserved: Mapping[ClaimName, Iterable[str]] = dataclasses.field(default_factory=dict)

    def of_pod(self, pod: ClaimName, claims: Iterable[PodClaim], shared: Container[ClaimName] = ()) -> PodVolumes:
        """Return the requirements of the *claims* of *pod* (namespace and name); *shared* are claims that several pods use."""
        namespace = pod[0]
        named = [(each.name, self._need(pod, each, shared)) for each in claims]
        modelled = [(name, need) for name, need in named if need is not None]
        bound = (
            BoundClaim(name, self.claims[namespace, name].volume, need)
            for name, need in modelled
            if need.restricts and need.state is ClaimState.BOUND
        )
        needs = tuple(need for _, need in modelled if need.restricts)
        delayed = tuple(name for name, need in modelled if need.state is ClaimState.DELAYED)
        return PodVolumes(needs, frozenset(need.field for _, need in modelled), tuple(bound), delayed)

    def claim(self, name: ClaimName, of_pod: PodClaim) -> Claim | None:
        """Return a claim; the ephemeral volume controller creates a missing one before the pod is scheduled."""
        return self.claims.get(name) or (of_pod.template if self.completes else None)

    def _need(self, pod: ClaimName, of_pod: PodClaim, shared: Container[ClaimName]) -> VolumeNeed | None:
        """Return the requirement of a claim; None if it is not modelled."""
        field, name = of_pod.field, (pod[0], of_pod.name)
        claim = self.claim(name, of_pod)
        if claim is None or (unusable := _unusable(pod, of_pod, claim)) is not None:
            missing = ClaimState.MISSING if of_pod.template is None else ClaimState.NOT_CREATED
            return VolumeNeed(field, missing, name[1]) if claim is None else unusable
        volume = self.volumes.get(claim.volume)
        if not claim.bound and not (self.completes and _reserved(volume, name, claim)):
            delayed = not claim.volume and self.classes.get(claim.storage_class) == "WaitForFirstConsumer"
            return self._delayed(name, claim, field, shared) if delayed else self._unbound(claim, field)
        driver = "" if volume is None else volume.driver
        if driver and (self.attach is None or (volume is not None and volume.migrated and driver in self.attach.required)):
            # kube-scheduler does not require the driver of a migrated volume on nodes without a CSINode.
            return None
        need = _bound(claim, volume, field, self._required(driver))
        # VolumeZone does not read ephemeral volumes.
        return need if need is None or of_pod.template is None else replaced(need, zones=())

    def _unbound(self, claim: Claim, field: str) -> VolumeNeed:
        """Return the requirement of a claim that the PersistentVolume controller must bind first."""
        if claim.volume:
            return VolumeNeed(field, ClaimState.BINDING)
        known = not claim.storage_class or claim.storage_class in self.classes
        return VolumeNeed(field, ClaimState.UNBOUND if known else ClaimState.NO_CLASS, storage_class=claim.storage_class)

    def _delayed(self, name: ClaimName, claim: Claim, field: str, shared: Container[ClaimName]) -> VolumeNeed | None:
        """Return the requirement of a claim that waits for its first consumer; None if it is not modelled."""
        provisioner = self.provisioners.get(claim.storage_class, Provisioner())
        if self.attach is None or (provisioner.migrates and provisioner.driver in self.attach.required):
            return None
        used = "/".join(name) if name in shared else ""
        request = replaced(claim.request, reserved=self._volume_reserved_for(name, claim), shared=used)
        return VolumeNeed(field, ClaimState.DELAYED, request=request, driver=self._required(provisioner.name))

    def _required(self, driver: str) -> str:
        return driver if self.attach is not None and driver in self.attach.required else ""

    def _volume_reserved_for(self, name: ClaimName, claim: Claim) -> str:
        """Return the volume that is reserved for a claim, the first by name; empty if there is none."""
        found = (each for each in sorted(self.reserved.get(name, ())) if _reserved(self.volumes[each], name, claim))
        return next((each for each in found if self.volumes[each].offer.suits(claim.request)), "")


def _unusable(pod: ClaimName, of_pod: PodClaim, claim: Claim) -> VolumeNeed | None:
    """Return the requirement of a claim that no pod, or not this pod, can use; None if *pod* can use it."""
    if claim.lost:
        return VolumeNeed(of_pod.field, ClaimState.LOST, of_pod.name, claim.volume)
    if claim.deleting:
        return VolumeNeed(of_pod.field, ClaimState.DELETING, of_pod.name)
    if of_pod.template is not None and of_pod.template is not claim and ("Pod", pod[1]) not in claim.owners:
        return VolumeNeed(of_pod.field, ClaimState.NOT_OWNED, f"{pod[0]}/{of_pod.name}", pod="/".join(pod))
    return None


def _reserved(volume: Volume | None, name: ClaimName, claim: Claim) -> bool:
    return volume is not None and volume.claim == name and volume.claim_uid in ("", claim.uid)


def _bound(claim: Claim, volume: Volume | None, field: str, driver: str) -> VolumeNeed | None:
    if volume is None:
        return VolumeNeed(field, ClaimState.VOLUME_MISSING, volume=claim.volume)
    if (migrated := volume.migrated) is not None and not migrated.driver:
        return None
    migrated = migrated if migrated is not None and migrated.affinity != volume.affinity else None
    return VolumeNeed(field, affinity=volume.affinity, zones=volume.zones, driver=driver, migrated=migrated)
