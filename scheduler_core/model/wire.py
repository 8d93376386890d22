"""Pods as the API encodes them, as far as placement reads them, and the decoders.

``validators`` reads the groups, ``cluster_objects`` has nodes and other kinds; this module has what decides where a pod can run.
Decoding is typed: a value of a wrong JSON type is a ``ValidationError``, unknown fields are ignored.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Final

import msgspec

from kubeapi.meta import Struct
from kubeapi.quantity import Amount
from scheduler_core.model.pod_meta import PodMeta, PodResourceClaim, PodResourceClaimStatus
from validators.model.group import Condition
from validators.model.pod import PodWorkloadRef, SchedulingGroup

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Amounts = dict[str, Amount]


class Record(msgspec.Struct, gc=False):
    """Struct of this package, which may be changed: smaller than other objects, and faster to make."""


class Requirement(Struct, frozen=True, gc=False):
    """An expression of a label selector or of a node selector."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class LabelSelector(Struct, frozen=True, gc=False):
    """metav1.LabelSelector: all parts must match; an empty selector matches everything, an absent one nothing."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Requirement, ...] | None = None


class NodeSelectorTerm(Struct, frozen=True, gc=False):
    """Term of a node selector: all expressions must match; an empty term matches no node."""

    match_expressions: tuple[Requirement, ...] | None = None
    match_fields: tuple[Requirement, ...] | None = None


class NodeSelector(Struct, frozen=True, gc=False):
    """core/v1 NodeSelector: one of the terms must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class PreferredNodes(Struct, frozen=True, gc=False):
    """core/v1 PreferredSchedulingTerm: matching nodes score *weight* more."""

    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Struct, frozen=True, gc=False):
    """core/v1 NodeAffinity."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredNodes, ...] | None = None


class PodAffinityTerm(Struct, frozen=True, gc=False):
    """Pods selected by label and namespace, in the same value of a node label."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class WeightedPodAffinityTerm(Struct, frozen=True, gc=False):
    """Preferred affinity term."""

    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Struct, frozen=True, gc=False):
    """core/v1 PodAffinity and PodAntiAffinity, which have the same fields."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] | None = None


class Affinity(Struct, frozen=True, gc=False):
    """core/v1 Affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Taint(Struct, frozen=True, gc=False):
    """core/v1 Taint: repels pods that do not tolerate it."""

    key: str
    effect: str = ""
    value: str = ""


class Toleration(Struct, frozen=True, gc=False):
    """core/v1 Toleration; an empty key with ``Exists`` tolerates every taint, an empty effect every effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
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
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class Resources(Struct, frozen=True, gc=False):
    """Requests and limits as written."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class VolumeMount(Struct, frozen=True, gc=False, omit_defaults=True):
    """core/v1 VolumeMount."""

    bind_mount_options: tuple[str, ...] | None = None


class RestartRule(Struct, frozen=True, gc=False):
    """core/v1 ContainerRestartRule."""

    action: str = ""


class EphemeralContainer(Struct, frozen=True, gc=False):
    """core/v1 EphemeralContainer."""

    volume_mounts: tuple[VolumeMount, ...] | None = None


class Container(Struct, frozen=True, gc=False):
    """Container, init container, or sidecar (an init container with ``restartPolicy: Always``)."""

    name: str = ""
    image: str = ""
    resources: Resources = Resources()
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[RestartRule, ...] | None = None
    volume_mounts: tuple[VolumeMount, ...] | None = None


class ImageVolume(Struct, frozen=True, gc=False):
    """core/v1 ImageVolumeSource."""

    reference: str = ""


class Volume(Struct, frozen=True, gc=False):
    """Volume sources that can exclude a node, and images; other kinds constrain nothing."""

    name: str = ""
    image: ImageVolume | None = None
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


class Named(Struct, frozen=True, gc=False):
    """Object of which only the name is read: a scheduling gate."""

    name: str = ""


class PodSpec(Struct, frozen=True, gc=False):
    """``spec`` of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    scheduling_gates: tuple[Named, ...] | None = None
    scheduling_group: SchedulingGroup | None = None
    workload_ref: PodWorkloadRef | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    ephemeral_containers: tuple[EphemeralContainer, ...] | None = None
    overhead: Amounts | None = None
    resources: Resources | None = None
    volumes: tuple[Volume, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    host_network: bool = False
    host_users: bool | None = None


class ContainerStatus(Struct, frozen=True, gc=False):
    """Resources that the node allocates to a container, and those it has (KEP-1287, in-place resize)."""

    name: str = ""
    allocated_resources: Amounts | None = None
    resources: Resources | None = None


class PodStatus(Struct, frozen=True, gc=False):
    """``status`` of a pod."""

    phase: str = ""
    start_time: str | None = None
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    allocated_resources: Amounts | None = None
    resources: Resources | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None
    extended_resource_claim_status: dict[str, object] | None = None


class Pod(Struct, frozen=True, gc=False):
    """core/v1 Pod."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class _Decoders(dict[type, msgspec.json.Decoder[Any]]):
    def __missing__(self, model: type) -> msgspec.json.Decoder[Any]:
        decoder = self[model] = msgspec.json.Decoder(model)
        return decoder


def _float(text: str) -> float | str:
    """Return the number of *text*; the text itself if it is too large for a double, so that a typed decoder refuses it."""
    number = float(text)
    return number if math.isfinite(number) else text


# For modules that do not import msgspec.
DECODERS: Final = _Decoders()
"""Decoder of each struct, created on first use."""
ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
WHOLE: Final = msgspec.json.Decoder(float_hook=_float)
"""Decoder of any value, with all values in it.  It reads every text that ``json_values.refusal`` does not refuse."""
VALUE: Final = msgspec.json.Decoder(msgspec.Raw)
ENCODER: Final = msgspec.json.Encoder(order="deterministic")
ValidationError = msgspec.ValidationError
Text = bytes | bytearray | memoryview | msgspec.Raw
