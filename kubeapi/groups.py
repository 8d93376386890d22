"""PodGroup and CompositePodGroup: leaf and inner node of a tree of groups (KEP-4671, KEP-6012)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from kubeapi.meta import Condition, ObjectMeta, Struct
from kubeapi.pods import PodResourceClaimStatus
from kubeapi.redaction import Name, Only
from kubeapi.workloads import CompositeShape, LeafShape

TREE_KINDS = ("Workload", "CompositePodGroup", "PodGroup")
"""Kinds of a Workload and its groups, parents first."""
PROTECTION_FINALIZERS = {
    "PodGroup": "scheduling.k8s.io/podgroup-protection",
    "CompositePodGroup": "scheduling.k8s.io/compositepodgroup-protection",
}
"""Finalizer of each kind while a pod or a group below needs it (KEP-4671 and KEP-6012, Object ownership)."""
INITIALLY_SCHEDULED = {"PodGroup": "PodGroupInitiallyScheduled", "CompositePodGroup": "CompositePodGroupInitiallyScheduled"}
"""Type of the condition that a group is placed, by kind."""


class WorkloadRef(Struct, frozen=True, gc=False):
    """Reference to the Workload and its template from which a group was created."""

    workload_name: Name = ""
    template_name: Name = ""


class PodGroupSpec(LeafShape, frozen=True, gc=False):
    """``spec`` of a PodGroup: a gang of pods, or pods placed one by one."""

    parent_composite_pod_group_name: Name | None = None
    workload_ref: WorkloadRef | None = None


class CompositePodGroupSpec(CompositeShape, frozen=True, gc=False):
    """``spec`` of a CompositePodGroup: a gang of groups, or groups placed one by one."""

    parent_composite_pod_group_name: Name | None = None
    workload_ref: WorkloadRef | None = None


class GroupStatus(Struct, frozen=True, gc=False):
    """``status`` of a group; only PodGroups have ``resource_claim_statuses``."""

    conditions: Annotated[tuple[Condition, ...] | None, Only(tuple(INITIALLY_SCHEDULED.values()))] = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None


class PodGroup(Struct, frozen=True, gc=False):
    """``scheduling.k8s.io`` PodGroup."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: GroupStatus = GroupStatus()
    api_version: str = ""
    kind: ClassVar[str] = "PodGroup"


class CompositePodGroup(Struct, frozen=True, gc=False):
    """``scheduling.k8s.io`` CompositePodGroup."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CompositePodGroupSpec = CompositePodGroupSpec()
    status: GroupStatus = GroupStatus()
    api_version: str = ""
    kind: ClassVar[str] = "CompositePodGroup"


Group = PodGroup | CompositePodGroup
