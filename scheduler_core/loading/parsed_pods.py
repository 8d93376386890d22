"""ParsedPods of pods: the parts of a pod object that placement keeps."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

from kubeapi.base_structs import MutableRecord
from kubeapi.gather import Name
from kubeapi.meta import Struct, replaced
from kubeapi.pods import PodWorkloadRef
from scheduler_core.loading.extended_requests import Containers
from scheduler_core.loading.parsed_pod_specs import Images, ParsedPodSpec
from scheduler_core.model.attach_limits import row_name
from scheduler_core.model.device_claims import DeviceClaim, PodEntry
from scheduler_core.model.pods import Health
from scheduler_core.model.volume_users import NO_NAMED_VOLUMES, Disk, NamedVolumes, VolumeKey, claim_use
from scheduler_core.model.volumes import BoundClaim, PodClaim


class Traits(MutableRecord, gc=False):
    """The parts of a parsed pod that equal pods share."""

    priority: int | None
    class_name: str
    policy: str | None
    """Its preemption policy."""
    reference: PodWorkloadRef | None
    """The group reference of v1alpha1; None if the pod names a PodGroup."""
    scheduler: str
    preempted: bool
    """Whether its conditions say that it is preempted."""
    gates: tuple[str, ...]
    health: Health
    images: Images
    controller: tuple[str, str]
    """See PodRecord."""
    containers: Containers
    """The extended resources of its containers."""


class Attached(Struct, frozen=True, gc=False):
    """Volumes and devices of a parsed pod, and its nomination; see also PodRecord."""

    nominated: str = ""
    claims: tuple[PodClaim, ...] = ()
    """Its persistent volume claims."""
    bound_claims: tuple[BoundClaim, ...] = ()
    delayed_claims: tuple[str, ...] = ()
    csi_volumes: tuple[VolumeKey, ...] = ()
    """The CSI volumes of its claims and disks."""
    single_pod: tuple[str, ...] = ()
    """Its claims with access mode ReadWriteOncePod."""
    disks: tuple[tuple[str, Disk], ...] = ()
    """Its inline disks, each with its field."""
    named_volumes: NamedVolumes = NO_NAMED_VOLUMES
    entries: tuple[PodEntry, ...] = ()
    """Its entries of ``spec.resourceClaims``."""
    device_claims: tuple[DeviceClaim, ...] = ()
    held: str = ""
    unresolved: ParsedPodSpec | None = None
    """Its form before the requirements of its claims were added; None if ``form`` is this form."""


NOTHING_ATTACHED = Attached()
"""What most pods have."""


def _part(path: str) -> Any:
    return property(operator.attrgetter(path))


class ParsedPod(MutableRecord, gc=False):
    """The parts of a pod object that placement keeps; a cluster has hundreds of thousands, so that fields which few need are apart."""

    key: str
    """``namespace/name``."""
    namespace: str
    form: ParsedPodSpec
    traits: Traits
    labels: Mapping[str, str]
    node: str
    group: str
    created: str
    started: str
    terminating: bool
    uid: str
    """Its uid, if it has a node, or claims to devices, or requests extended resources that devices can provide."""
    attached: Attached

    # Fields of its parts are read as its own.
    priority: ClassVar[int | None] = _part("traits.priority")
    class_name: ClassVar[str] = _part("traits.class_name")
    policy: ClassVar[str | None] = _part("traits.policy")
    reference: ClassVar[PodWorkloadRef | None] = _part("traits.reference")
    scheduler: ClassVar[str] = _part("traits.scheduler")
    preempted: ClassVar[bool] = _part("traits.preempted")
    gates: ClassVar[tuple[str, ...]] = _part("traits.gates")
    health: ClassVar[Health] = _part("traits.health")
    images: ClassVar[Images] = _part("traits.images")
    controller: ClassVar[tuple[str, str]] = _part("traits.controller")
    containers: ClassVar[Containers] = _part("traits.containers")
    nominated: ClassVar[str] = _part("attached.nominated")
    claims: ClassVar[tuple[PodClaim, ...]] = _part("attached.claims")
    bound_claims: ClassVar[tuple[BoundClaim, ...]] = _part("attached.bound_claims")
    delayed_claims: ClassVar[tuple[str, ...]] = _part("attached.delayed_claims")
    csi_volumes: ClassVar[tuple[VolumeKey, ...]] = _part("attached.csi_volumes")
    single_pod: ClassVar[tuple[str, ...]] = _part("attached.single_pod")
    disks: ClassVar[tuple[tuple[str, Disk], ...]] = _part("attached.disks")
    named_volumes: ClassVar[NamedVolumes] = _part("attached.named_volumes")
    entries: ClassVar[tuple[PodEntry, ...]] = _part("attached.entries")
    device_claims: ClassVar[tuple[DeviceClaim, ...]] = _part("attached.device_claims")
    held: ClassVar[str] = _part("attached.held")
    unresolved: ClassVar[ParsedPodSpec | None] = _part("attached.unresolved")

    def with_attached(self, form: ParsedPodSpec | None = None, **changes: object) -> ParsedPod:
        """Return a copy with other fields of ``attached``, and with *form* unless that is None."""
        return replaced(self, form=form or self.form, attached=replaced(self.attached, **changes))

    def share_texts(self, key: str, uid: str, before: ParsedPod | None) -> None:
        """Use *key*, *uid*, and the texts and labels of *before*, an earlier state of this pod, that are equal to its own."""
        self.key = key
        if self.uid == uid:
            self.uid = uid
        if before is None:
            return
        if self.created == before.created:
            self.created = before.created
        if self.started == before.started:
            self.started = before.started
        if self.labels == before.labels:
            self.labels = before.labels

    @property
    def name(self) -> Name:
        """Return namespace and name."""
        return self.namespace, self.key[len(self.namespace) + 1 :]

    @property
    def uses(self) -> tuple[Hashable, ...]:
        """Return the volumes, claims and disks whose users are recorded."""
        claims = (claim_use(self.name[0], each) for each in self.single_pod)
        return (*self.csi_volumes, *claims, *(disk.use for _, disk in self.disks))


def requested_rows(parsed_pods: Iterable[ParsedPod]) -> set[str]:
    """Return the rows of the node table that pods need: resources, and CSI drivers whose volumes count against a limit."""
    parsed_pods = list(parsed_pods)
    rows = {name for form in {parsed_pod.form for parsed_pod in parsed_pods} for name, _ in form.demand.requests}
    with_volumes = (parsed_pod for parsed_pod in parsed_pods if parsed_pod.attached is not NOTHING_ATTACHED)
    return rows | {row_name(driver) for parsed_pod in with_volumes for driver, _ in parsed_pod.named_volumes.shared}
