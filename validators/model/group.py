"""PodGroup and CompositePodGroup: the runtime leaf and the runtime inner node (KEP-4671, KEP-6012)."""

from __future__ import annotations

from typing import ClassVar

from validators.model.meta import Int64, ObjectMeta, Struct
from validators.model.workload import CompositeShape, LeafShape


class WorkloadRef(Struct, frozen=True, gc=False):
    """The Workload and the template in it that a group was made from."""

    workload_name: str = ""
    template_name: str = ""


class PodGroupSpec(LeafShape, frozen=True, gc=False):
    """A gang of pods, or pods placed one by one."""

    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadRef | None = None


class CompositePodGroupSpec(CompositeShape, frozen=True, gc=False):
    """A gang of groups, or groups placed one by one."""

    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadRef | None = None


class Condition(Struct, frozen=True, gc=False):
    """metav1.Condition."""

    type: str = ""
    status: str = ""
    observed_generation: Int64 = 0
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class ResourceClaimStatus(Struct, frozen=True, gc=False):
    """The claim that was made for an entry of ``spec.resourceClaims``."""

    name: str = ""
    resource_claim_name: str | None = None


class GroupStatus(Struct, frozen=True, gc=False):
    """Status of a group; ``resource_claim_statuses`` exists on PodGroups only."""

    conditions: tuple[Condition, ...] | None = None
    resource_claim_statuses: tuple[ResourceClaimStatus, ...] | None = None


class PodGroup(Struct, frozen=True, gc=False):
    """``scheduling.k8s.io`` PodGroup."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: GroupStatus = GroupStatus()
    kind: ClassVar[str] = "PodGroup"


class CompositePodGroup(Struct, frozen=True, gc=False):
    """``scheduling.k8s.io`` CompositePodGroup."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CompositePodGroupSpec = CompositePodGroupSpec()
    status: GroupStatus = GroupStatus()
    kind: ClassVar[str] = "CompositePodGroup"


Group = PodGroup | CompositePodGroup
