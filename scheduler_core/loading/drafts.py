"""Drafts of pods: the parts of a pod object that placement keeps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from scheduler_core.loading.container_requests import Containers
from scheduler_core.loading.gather import Name
from scheduler_core.loading.pod_forms import Images, PodForm
from scheduler_core.model.attach_limits import row_name
from scheduler_core.model.device_claims import DeviceClaim, PodEntry
from scheduler_core.model.pods import Health
from scheduler_core.model.volume_users import NO_NAMED_VOLUMES, Disk, NamedVolumes, VolumeKey, claim_use
from scheduler_core.model.volumes import BoundClaim, PodClaim
from scheduler_core.model.wire import Record
from validators.model.pod import PodWorkloadRef


class Traits(Record, gc=False):
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


class Draft(Record, gc=False):
    """The parts of a pod object that placement keeps."""

    key: str
    """``namespace/name``."""
    namespace: str
    form: PodForm
    traits: Traits
    labels: Mapping[str, str]
    node: str
    nominated: str
    group: str
    created: str
    started: str
    terminating: bool
    uid: str = ""
    """Its uid, if it has claims to devices or requests extended resources that devices can provide."""
    claims: tuple[PodClaim, ...] = ()
    """Its persistent volume claims."""
    bound_claims: tuple[BoundClaim, ...] = ()
    delayed_claims: tuple[str, ...] = ()
    csi_volumes: tuple[VolumeKey, ...] = ()
    """CSI volumes of its claims and disks."""
    single_pod: tuple[str, ...] = ()
    """Its claims with access mode ReadWriteOncePod."""
    disks: tuple[tuple[str, Disk], ...] = ()
    """Its inline disks, each with its field."""
    named_volumes: NamedVolumes = NO_NAMED_VOLUMES
    """Its volumes whose names matter."""
    entries: tuple[PodEntry, ...] = ()
    """Its entries of ``spec.resourceClaims``."""
    device_claims: tuple[DeviceClaim, ...] = ()
    held: str = ""
    """See PodRecord."""
    unresolved: PodForm | None = None
    """Its form before the requirements of its claims were added; None if ``form`` is this form."""

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
    def uses(self) -> tuple[Hashable, ...]:
        """Return the volumes, claims and disks whose users are recorded."""
        claims = (claim_use(self.name[0], each) for each in self.single_pod)
        return (*self.csi_volumes, *claims, *(disk.use for _, disk in self.disks))


def requested_rows(drafts: Iterable[Draft]) -> set[str]:
    """Return the rows of the node table that pods need: resources, and CSI drivers whose volumes count against a limit."""
    drafts = list(drafts)
    rows = {name for form in {draft.form for draft in drafts} for name, _ in form.demand.requests}
    return rows | {row_name(driver) for draft in drafts for driver, _ in draft.named_volumes.shared}
