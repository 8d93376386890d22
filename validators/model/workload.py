"""Workload: a tree of templates; and the parts that templates and groups share.

Sources: KEP-4671 "API", KEP-6012 "Changes to the Workload API", KEP-5732; field names as Kubernetes 1.37.1 has them.
"""

from __future__ import annotations

from typing import ClassVar

from validators.model.meta import Empty, Int32, ObjectMeta, Struct

MAX_TEMPLATES = 8
"""Items in one list of templates (KEP-6012, Notes/Constraints)."""
MAX_DEPTH = 4
"""Levels of a tree, of templates and of groups alike (KEP-6012, Notes/Constraints)."""
MAX_CLAIMS = 4
"""Resource claims of a template or group, and their statuses."""
MAX_TOPOLOGY = 1
"""Topology constraints of a template or group (KEP-5732)."""
MAX_PRIORITY = 1_000_000_000
"""The highest priority that a user may define."""


class Basic(Struct, frozen=True, gc=False):
    """Policy: pods are placed one by one.  ``desired_count`` existed in v1alpha1 only."""

    desired_count: Int32 | None = None


class Gang(Struct, frozen=True, gc=False):
    """Policy of a leaf: at least ``min_count`` pods together.  Zero means that it was not given."""

    min_count: Int32 = 0


class CompositeGang(Struct, frozen=True, gc=False):
    """Policy of an inner node: at least ``min_group_count`` child groups together."""

    min_group_count: Int32 = 0


class Policy(Struct, frozen=True, gc=False):
    """A union: exactly one of basic and gang."""

    basic: Basic | None = None
    gang: Gang | None = None


class CompositePolicy(Struct, frozen=True, gc=False):
    """A union: exactly one of basic and gang."""

    basic: Empty | None = None
    gang: CompositeGang | None = None


class DisruptionMode(Struct, frozen=True, gc=False):
    """A union: exactly one of single and all."""

    single: Empty | None = None
    all: Empty | None = None


class TopologyConstraint(Struct, frozen=True, gc=False):
    """All pods below on nodes with one value of this label."""

    key: str = ""


class Constraints(Struct, frozen=True, gc=False):
    """Where the pods below may be placed."""

    topology: tuple[TopologyConstraint, ...] | None = None


class ResourceClaim(Struct, frozen=True, gc=False):
    """A claim that the pods of a leaf share: by name, or made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class Shape(Struct, frozen=True, gc=False):
    """What a template and the group made from it have in common, on every level."""

    scheduling_constraints: Constraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class LeafShape(Shape, frozen=True, gc=False):
    """... on the level of pods."""

    scheduling_policy: Policy = Policy()
    resource_claims: tuple[ResourceClaim, ...] | None = None


class CompositeShape(Shape, frozen=True, gc=False):
    """... on the levels above."""

    scheduling_policy: CompositePolicy = CompositePolicy()


class PodGroupTemplate(LeafShape, frozen=True, gc=False):
    """A leaf of the template tree."""

    name: str = ""


class CompositePodGroupTemplate(CompositeShape, frozen=True, gc=False):
    """An inner node of the template tree."""

    name: str = ""
    pod_group_templates: tuple[PodGroupTemplate, ...] | None = None
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] | None = None


Template = PodGroupTemplate | CompositePodGroupTemplate


class ControllerRef(Struct, frozen=True, gc=False):
    """The object that the Workload describes, in its namespace."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadSpec(Struct, frozen=True, gc=False):
    """A union: templates of leaves, or of composites."""

    controller_ref: ControllerRef | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] | None = None
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] | None = None


class Workload(Struct, frozen=True, gc=False):
    """``scheduling.k8s.io`` Workload."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()
    kind: ClassVar[str] = "Workload"
