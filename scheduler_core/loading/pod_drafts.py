"""Drafts of pods: the parts of a pod object that placement keeps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from kubeapi.gather import Name
from kubeapi.meta import Struct, replaced
from kubeapi.pods import PodWorkloadRef
from kubeapi.record import MutableRecord
from scheduler_core.loading.extended_requests import Containers
from scheduler_core.loading.pod_forms import Images, PodForm
from scheduler_core.model.attach_limits import row_name
from scheduler_core.model.device_claims import DeviceClaim, PodEntry
from scheduler_core.model.pods import Health
from scheduler_core.model.volume_users import NO_NAMED_VOLUMES, Disk, NamedVolumes, VolumeKey, claim_use
from scheduler_core.model.volumes import BoundClaim, PodClaim


class Traits(MutableRecord, gc=False):
    """The parts of a draft that equal pods share; see the properties of ``Draft``."""

    priority: int | None
    class_name: str
    policy: str | None
    reference: PodWorkloadRef | None
    scheduler: str
    preempted: bool
    gates: tuple[str, ...]
    health: Health
    images: Images
    controller: tuple[str, str]
    containers: Containers


class Attached(Struct, frozen=True, gc=False):
    """Volumes and devices of a draft, and its nomination; see the properties of ``Draft``."""

    nominated: str = ""
    claims: tuple[PodClaim, ...] = ()
    bound_claims: tuple[BoundClaim, ...] = ()
    delayed_claims: tuple[str, ...] = ()
    csi_volumes: tuple[VolumeKey, ...] = ()
    single_pod: tuple[str, ...] = ()
    disks: tuple[tuple[str, Disk], ...] = ()
    named_volumes: NamedVolumes = NO_NAMED_VOLUMES
    entries: tuple[PodEntry, ...] = ()
    device_claims: tuple[DeviceClaim, ...] = ()
    held: str = ""
    unresolved: PodForm | None = None


NOTHING_ATTACHED = Attached()
"""What most pods have."""


class Draft(MutableRecord, gc=False):
    """The parts of a pod object that placement keeps; a cluster has hundreds of thousands, so that fields which few need are apart."""

    key: str
    """``namespace/name``."""
    namespace: str
    form: PodForm
    traits: Traits
    labels: Mapping[str, str]
    node: str
    group: str
    created: str
    started: str
    terminating: bool
    uid: str
    """Its uid, if it has claims to devices or requests extended resources that devices can provide."""
    attached: Attached

    def with_attached(self, form: PodForm | None = None, **changes: object) -> Draft:
        """Return a copy with other fields of ``attached``, and with *form* unless that is None."""
        return replaced(self, form=form or self.form, attached=replaced(self.attached, **changes))

    @property
    def name(self) -> Name:
        """Return namespace and name."""
        return self.namespace, self.key[len(self.namespace) + 1 :]

    @property
    def priority(self) -> int | None:
        """Return ``spec.priority``."""
        return self.traits.priority

    @property
    def class_name(self) -> str:
        """Return ``spec.priorityClassName``."""
        return self.traits.class_name

    @property
    def policy(self) -> str | None:
        """Return ``spec.preemptionPolicy``."""
        return self.traits.policy

    @property
    def reference(self) -> PodWorkloadRef | None:
        """Return the group reference of v1alpha1; None if the pod names a PodGroup."""
        return self.traits.reference

    @property
    def scheduler(self) -> str:
        """Return the name of its scheduler."""
        return self.traits.scheduler

    @property
    def preempted(self) -> bool:
        """Return whether its conditions say that it is preempted."""
        return self.traits.preempted

    @property
    def gates(self) -> tuple[str, ...]:
        """Return its scheduling gates."""
        return self.traits.gates

    @property
    def health(self) -> Health:
        """Return its health."""
        return self.traits.health

    @property
    def images(self) -> Images:
        """Return its images."""
        return self.traits.images

    @property
    def controller(self) -> tuple[str, str]:
        """Return its controller, see PodRecord."""
        return self.traits.controller

    @property
    def containers(self) -> Containers:
        """Return the extended resources of its containers."""
        return self.traits.containers

    @property
    def nominated(self) -> str:
        """Return ``status.nominatedNodeName``."""
        return self.attached.nominated

    @property
    def claims(self) -> tuple[PodClaim, ...]:
        """Return its persistent volume claims."""
        return self.attached.claims

    @property
    def bound_claims(self) -> tuple[BoundClaim, ...]:
        """Return its bound claims, see PodRecord."""
        return self.attached.bound_claims

    @property
    def delayed_claims(self) -> tuple[str, ...]:
        """Return its claims that wait for their first consumer, see PodRecord."""
        return self.attached.delayed_claims

    @property
    def csi_volumes(self) -> tuple[VolumeKey, ...]:
        """Return the CSI volumes of its claims and disks."""
        return self.attached.csi_volumes

    @property
    def single_pod(self) -> tuple[str, ...]:
        """Return its claims with access mode ReadWriteOncePod."""
        return self.attached.single_pod

    @property
    def disks(self) -> tuple[tuple[str, Disk], ...]:
        """Return its inline disks, each with its field."""
        return self.attached.disks

    @property
    def named_volumes(self) -> NamedVolumes:
        """Return its volumes whose names matter."""
        return self.attached.named_volumes

    @property
    def entries(self) -> tuple[PodEntry, ...]:
        """Return its entries of ``spec.resourceClaims``."""
        return self.attached.entries

    @property
    def device_claims(self) -> tuple[DeviceClaim, ...]:
        """Return its claims to devices, see PodRecord."""
        return self.attached.device_claims

    @property
    def held(self) -> str:
        """Return the reason to keep it out of the scheduling queue, see PodRecord."""
        return self.attached.held

    @property
    def unresolved(self) -> PodForm | None:
        """Return its form before the requirements of its claims were added; None if ``form`` is this form."""
        return self.attached.unresolved

    @property
    def uses(self) -> tuple[Hashable, ...]:
        """Return the volumes, claims and disks whose users are recorded."""
        claims = (claim_use(self.name[0], each) for each in self.single_pod)
        return (*self.csi_volumes, *claims, *(disk.use for _, disk in self.disks))


def requested_rows(drafts: Iterable[Draft]) -> set[str]:
    """Return the rows of the node table that pods need: resources, and CSI drivers whose volumes count against a limit."""
    drafts = list(drafts)
    rows = {name for form in {draft.form for draft in drafts} for name, _ in form.demand.requests}
    with_volumes = (draft for draft in drafts if draft.attached is not NOTHING_ATTACHED)
    return rows | {row_name(driver) for draft in with_volumes for driver, _ in draft.named_volumes.shared}
