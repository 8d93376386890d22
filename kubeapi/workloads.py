"""Workload, a tree of templates, and the structs that templates and groups share.

Sources: KEP-4671 "API", KEP-6012 "Changes to the Workload API", KEP-5732; field names of Kubernetes 1.37.1.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from kubeapi.meta import Empty, Int32, ObjectMeta, Struct
from kubeapi.pods import PodResourceClaim
from kubeapi.redaction import Name, WasScalar

MAX_TEMPLATES = 8
"""Maximum items in one list of templates (KEP-6012, Notes/Constraints)."""
MAX_DEPTH = 4
"""Maximum levels of a tree of templates or groups (KEP-6012, Notes/Constraints)."""
MAX_CLAIMS = 4
"""Maximum resource claims of a template or group, and of their statuses."""
MAX_TOPOLOGY = 1
"""Maximum topology constraints of a template or group (KEP-5732)."""
MAX_PRIORITY = 1_000_000_000
"""The highest user-defined priority."""


class Basic(Struct, frozen=True, gc=False):
    """Policy: pods are placed one by one.  Only v1alpha1 has ``desired_count``."""

    desired_count: Int32 | None = None


class Gang(Struct, frozen=True, gc=False):
    """Policy of a leaf: at least ``min_count`` pods together.  Zero means absent."""

    min_count: Int32 = 0


class CompositeGang(Struct, frozen=True, gc=False):
    """Policy of an inner node: at least ``min_group_count`` child groups together."""

    min_group_count: Int32 = 0


class Policy(Struct, frozen=True, gc=False):
    """Union: exactly one of basic and gang."""

    basic: Basic | None = None
    gang: Gang | None = None


class CompositePolicy(Struct, frozen=True, gc=False):
    """Union: exactly one of basic and gang."""

    basic: Empty | None = None
    gang: CompositeGang | None = None


class DisruptionMode(Struct, frozen=True, gc=False):
    """Union: exactly one of single and all."""

    single: Empty | None = None
    all: Empty | None = None


class TopologyConstraint(Struct, frozen=True, gc=False):
    """Constraint that all pods of the subtree run on nodes with one value of this label."""

    key: str = ""


class Constraints(Struct, frozen=True, gc=False):
    """Placement constraints of the pods of the subtree."""

    topology: tuple[TopologyConstraint, ...] | None = None


class Shape(Struct, frozen=True, gc=False):
    """Fields that a template and its groups share, on every level."""

    scheduling_constraints: Constraints | None = None
    disruption_mode: Annotated[DisruptionMode | None, WasScalar()] = None
    priority_class_name: Name = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class LeafShape(Shape, frozen=True, gc=False):
    """Fields that a leaf template and its PodGroups share."""

    scheduling_policy: Policy = Policy()
    resource_claims: tuple[PodResourceClaim, ...] | None = None


class CompositeShape(Shape, frozen=True, gc=False):
    """Fields that a composite template and its CompositePodGroups share."""

    scheduling_policy: CompositePolicy = CompositePolicy()


class PodGroupTemplate(LeafShape, frozen=True, gc=False):
    """Leaf of the template tree."""

    name: Name = ""


class CompositePodGroupTemplate(CompositeShape, frozen=True, gc=False):
    """Inner node of the template tree."""

    name: Name = ""
    pod_group_templates: tuple[PodGroupTemplate, ...] | None = None
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] | None = None

    @property
    def children(self) -> tuple[Template, ...]:
        """The templates of the level below, leaves first."""
        return (*(self.pod_group_templates or ()), *(self.composite_pod_group_templates or ()))


Template = PodGroupTemplate | CompositePodGroupTemplate


class ControllerRef(Struct, frozen=True, gc=False):
    """Reference to the object that the Workload describes, in the same namespace."""

    api_group: str = ""
    kind: str = ""
    name: Name = ""


class WorkloadSpec(Struct, frozen=True, gc=False):
    """``spec`` of a Workload.  Union: leaf templates, or composite templates."""

    controller_ref: ControllerRef | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] | None = None
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] | None = None


class Workload(Struct, frozen=True, gc=False):
    """``scheduling.k8s.io`` Workload."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()
    api_version: str = ""
    kind: ClassVar[str] = "Workload"
