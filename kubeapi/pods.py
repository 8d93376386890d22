"""Pods and pod templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from kubeapi.affinity import Affinity
from kubeapi.decode import section
from kubeapi.meta import Condition, Int32, ObjectMeta, OwnerReference, Struct
from kubeapi.quantity import Amounts
from kubeapi.redaction import UNREAD, Labels, Mark, Name, Only, Unread, WithoutEmpty, inner
from kubeapi.selectors import LabelSelector

DEFAULT_SCHEDULER = "default-scheduler"
POD_GROUP_LABEL = "scheduling.muster.dev/pod-group"
"""Label that names the PodGroup of a pod, for API servers whose pods have no ``spec.schedulingGroup``; the field wins over the label."""
COSCHEDULING_LABEL = "scheduling.x-k8s.io/pod-group"
"""Label of the coscheduling plugin that names the PodGroup of a pod."""
PLACEMENT_GATE = "muster.dev/placement"
"""Scheduling gate of pods that Muster's sidecar places, and whose binding it leaves to another scheduler; the sidecar removes the gate.

An annotation of this name has the node to which the sidecar pins an ungated pod.
"""
PodImage = Annotated[str, Mark.POD_IMAGE]
_READ_CONDITIONS = ("PodResizePending", "Ready", "DisruptionTarget")


class PodResourceClaim(Struct, frozen=True, gc=False):
    """core/v1 PodResourceClaim: a resource claim of a pod or of a PodGroup, an existing one or one created from a template."""

    name: Name = ""
    resource_claim_name: Name | None = None
    resource_claim_template_name: Name | None = None


class PodResourceClaimStatus(Struct, frozen=True, gc=False):
    """core/v1 PodResourceClaimStatus: the claim that was created for an entry of ``spec.resourceClaims`` of a pod or of a PodGroup."""

    name: Name = ""
    resource_claim_name: Name | None = None


class PodSchedulingGroup(Struct, frozen=True, gc=False):
    """core/v1 PodSchedulingGroup.  Union with one member so far: the PodGroup of the pod."""

    pod_group_name: Name | None = None


class PodWorkloadRef(Struct, frozen=True, gc=False):
    """Reference of v1alpha1 from a pod to a group of a Workload (KEP-4671, Associating Pod into PodGroups)."""

    name: Name = ""
    pod_group: Name = ""
    pod_group_replica_key: Name = ""


class EvictionResponder(Struct, frozen=True, gc=False):
    """core/v1 EvictionResponder; its presence excludes a scheduling group."""


class PodSchedulingGate(Struct, frozen=True, gc=False):
    """core/v1 PodSchedulingGate."""

    name: str = ""


class Toleration(Struct, frozen=True, gc=False):
    """core/v1 Toleration; an empty key with ``Exists`` tolerates every taint, an empty effect every effect."""

    key: str = ""
    operator: str = ""
    value: Name = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Struct, frozen=True, gc=False):
    """core/v1 TopologySpreadConstraint."""

    max_skew: Int32
    topology_key: str
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None


class ContainerPort(Struct, frozen=True, gc=False):
    """core/v1 ContainerPort; constrains a node only if it uses a host port."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: Name = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class ContainerClaim(Struct, frozen=True, gc=False):
    """core/v1 ResourceClaim: entry of the pod's ``resourceClaims`` that a container uses; all its devices, or those of one request."""

    name: Name = ""
    request: str = ""


class ResourceRequirements(Struct, frozen=True, gc=False):
    """core/v1 ResourceRequirements, of a container or of a pod."""

    requests: Amounts | None = None
    limits: Amounts | None = None
    claims: tuple[ContainerClaim, ...] | None = None


class VolumeMount(Struct, frozen=True, gc=False, omit_defaults=True):
    """core/v1 VolumeMount."""

    bind_mount_options: tuple[str, ...] | None = None


VolumeMounts = Annotated[tuple[VolumeMount, ...] | None, WithoutEmpty()]


class ContainerRestartRule(Struct, frozen=True, gc=False):
    """core/v1 ContainerRestartRule."""

    action: str = ""


class EphemeralContainer(Struct, frozen=True, gc=False):
    """core/v1 EphemeralContainer."""

    volume_mounts: VolumeMounts = None


class Container(Struct, frozen=True, gc=False):
    """core/v1 Container: a container, an init container, or a sidecar (an init container with ``restartPolicy: Always``)."""

    name: Name = ""
    image: PodImage = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] | None = None
    volume_mounts: VolumeMounts = None


class ImageVolumeSource(Struct, frozen=True, gc=False):
    """core/v1 ImageVolumeSource."""

    reference: PodImage = ""


class Volume(Struct, frozen=True, gc=False):
    """core/v1 Volume: sources that can exclude a node, and images; other kinds constrain nothing."""

    name: Unread = ""
    image: ImageVolumeSource | None = None
    persistent_volume_claim: dict[str, object] | None = None
    ephemeral: dict[str, object] | None = None
    csi: dict[str, object] | None = None
    aws_elastic_block_store: dict[str, object] | None = None
    gce_persistent_disk: dict[str, object] | None = None
    azure_disk: dict[str, object] | None = None
    azure_file: dict[str, object] | None = None
    cinder: dict[str, object] | None = None
    portworx_volume: dict[str, object] | None = None
    vsphere_volume: dict[str, object] | None = None
    iscsi: dict[str, object] | None = None
    rbd: dict[str, object] | None = None


class PodSpec(Struct, frozen=True, gc=False):
    """core/v1 PodSpec, of a pod or of a pod template."""

    node_name: Name = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: Name = ""
    preemption_policy: str | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] | None = None
    scheduling_group: PodSchedulingGroup | None = None
    workload_ref: PodWorkloadRef | None = None
    eviction_responders: tuple[EvictionResponder, ...] | None = None
    node_selector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    ephemeral_containers: tuple[EphemeralContainer, ...] | None = None
    overhead: Amounts | None = None
    resources: ResourceRequirements | None = None
    volumes: tuple[Volume, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    host_network: bool = False
    host_users: bool | None = None


class ContainerStatus(Struct, frozen=True, gc=False):
    """core/v1 ContainerStatus: resources that the node allocates to a container, and those it has (KEP-1287, in-place resize)."""

    name: Name = ""
    allocated_resources: Amounts | None = None
    resources: ResourceRequirements | None = None


class PodStatus(Struct, frozen=True, gc=False):
    """core/v1 PodStatus."""

    phase: str = ""
    start_time: str | None = None
    nominated_node_name: Name = ""
    conditions: Annotated[tuple[Condition, ...] | None, Only(_READ_CONDITIONS), inner(message=UNREAD)] = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    allocated_resources: Amounts | None = None
    resources: ResourceRequirements | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None
    extended_resource_claim_status: Annotated[dict[str, object] | None, UNREAD] = None


class PodMeta(ObjectMeta, frozen=True, gc=False):
    """``metadata`` of a pod."""

    # Claims to devices belong to a pod by uid.
    uid: Name = ""
    owner_references: Annotated[tuple[OwnerReference, ...] | None, inner(uid=UNREAD)] = None


class Pod(Struct, frozen=True, gc=False):
    """core/v1 Pod."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
    kind: ClassVar[str] = "Pod"

    @property
    def group(self) -> str:
        """The name of the pod's PodGroup; empty if none."""
        return group_name(self.spec, self.metadata.labels)


class PodTemplateMeta(Struct, frozen=True, gc=False):
    """``metadata`` of a pod template, of which only the labels are read."""

    labels: Labels | None = None


class PodTemplateSpec(Struct, frozen=True, gc=False):
    """core/v1 PodTemplateSpec."""

    metadata: PodTemplateMeta = PodTemplateMeta()
    spec: PodSpec = PodSpec()

    @property
    def group(self) -> str:
        """The name of the PodGroup of its pods; empty if none."""
        return group_name(self.spec, self.metadata.labels)


def group_name(spec: PodSpec, labels: Mapping[str, str] | None) -> str:
    """Return the name of the PodGroup of pods with this specification and these labels; empty if none."""
    named = spec.scheduling_group.pod_group_name if spec.scheduling_group is not None else None
    return named or (labels.get(POD_GROUP_LABEL, "") if labels else "")


def group_in(pod: object) -> str:
    """Return the name of the PodGroup of a pod, or of the pods of a template, in parsed JSON; empty if none."""
    name = section(pod, "spec", "schedulingGroup").get("podGroupName") or section(pod, "metadata", "labels").get(POD_GROUP_LABEL)
    return name if isinstance(name, str) else ""


def has_tag(image: str) -> bool:
    """Return whether the name of an image has a tag or a digest; kube-scheduler adds ``:latest`` to other names in pods, but not in nodes."""
    return image.rfind(":") > image.rfind("/")
