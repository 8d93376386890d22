"""Results of an attempt to place a root, and of a preemption for it, in kube-scheduler's terms: what its messages state."""

from __future__ import annotations

import enum
from typing import NamedTuple

from kubeapi.base_structs import Record
from scheduler_core.causes.filter_reasons import FilterReason
from scheduler_core.causes.plugin_failures import PluginFailed
from scheduler_core.model.names import Name
from scheduler_core.model.resource_values import Resource
from scheduler_core.model.status import Status


class Feasibility(NamedTuple):
    """Feasibility of a group, with the counts it is derived from."""

    status: Status
    """Success, Wait, Unschedulable, or (by the document only) UnschedulableAndUnresolvable."""
    minimum: int
    """minCount or minGroupCount; 1 for basic groups."""
    scheduled: int
    remaining: int
    """Children that were not tried yet."""
    composite: bool
    unschedulable: int = 0
    """Children that did not fit and that preemption could help."""
    unresolvable: int = 0
    """Children that preemption cannot help."""

    @property
    def success(self) -> bool:
        """Return whether the minimum is met."""
        return self.status is Status.SUCCESS

    @property
    def before_pods(self) -> bool:
        """Return whether it is that of a PodGroup of which no pod was tried."""
        return not self.composite and not self.unschedulable and not self.unresolvable

    @property
    def hopeless(self) -> bool:
        """Return whether the minimum cannot be met any more."""
        return self.status is Status.UNSCHEDULABLE or self.status is Status.UNRESOLVABLE


class AttemptResult(enum.StrEnum):
    """Results of an attempt that need no figures."""

    POD_WITHOUT_NODE = "pod-without-node"
    """A pod of the group fits on no node."""
    NO_PLACEMENT = "no-placement"
    """The plugins generate no placement."""
    NOT_COMPARABLE = "not-comparable"
    """No feasible placement has a pod of the group."""
    NOTHING_NEW = "nothing-new"
    """The minimum is met already, and no further pod has a node."""
    NONE_PENDING_PLACED = "none-pending-placed"
    """The placement of the nominated nodes, which is tried first, meets the minimum without a further pod."""
    STORAGE_EXCEEDED = "storage-exceeded"
    """The claims need more storage together than there is, although each claim fits alone."""
    STATE_NOT_FOUND = "state-not-found"
    """The plugin DynamicResources of kube-scheduler finds no state of its PreFilter, which ends the attempt with an error."""
    VICTIMS_AWAITED = "victims-awaited"
    """The pods are placed when those that were evicted for them have terminated."""


class MembersMissing(Record, frozen=True):
    """Group whose members (pods, or children with the members that they need) cannot reach its minimum on any placement."""

    composite: bool
    minimum: int
    members: int


class NodeWithoutKey(Record, frozen=True):
    """Node on which a member runs, and which does not have the label *key* that its group must share."""

    node: str
    key: str


class MemberDomain(NamedTuple):
    """Domain, by its value of the topology key, and the node of a member there."""

    value: str
    node: str


class MembersApart(Record, frozen=True):
    """Members that run in *number* domains of *key*; *domains* are some of them, each with a node."""

    key: str
    number: int
    domains: tuple[MemberDomain, ...]


class EmptyDomain(Record, frozen=True):
    """Member that runs on a node whose label *key*, which its group must share, has an empty value: no domain."""

    pod: str
    node: str
    key: str


class ChildFailed(Record, frozen=True):
    """Group whose child has a status Error: *error* is that of the child."""

    group: Name
    child: Name
    error: AttemptReason


class AncestorFailed(Record, frozen=True):
    """Group that is not placed because *ancestor*, a group above it, is not; *in_error* is True if the ancestor has the status Error."""

    ancestor: Name
    in_error: bool = False


class TreeRule(enum.StrEnum):
    """Rules by which kube-scheduler validates a tree in each cycle, from 1.38 on, in the order in which it checks them."""

    DEPTH = "depth"
    """A CompositePodGroup is so deep that a PodGroup below it is deeper than allowed."""
    WORKLOAD = "workload"
    """All groups have the Workload of the root."""
    GROUP_PRIORITY = "group-priority"
    """All groups have the priority of the root."""
    GROUP_POLICY = "group-policy"
    """All groups with a preemptionPolicy have that of the root, or of the first pod."""
    BASIC_CHILD = "basic-child"
    """A gang has no child with the policy Basic."""
    SINGLE_CHILD = "single-child"
    """A group with disruption mode All has no child with the mode Single."""
    SCHEDULER = "scheduler"
    """All pods have one schedulerName."""
    POD_PRIORITY = "pod-priority"
    """All pods have the priority of the root."""
    POD_POLICY = "pod-policy"
    """All pods have one preemptionPolicy, that of the groups."""


class TreeRefused(Record, frozen=True):
    """Tree that kube-scheduler refuses whole, because *object*, a group or pod, breaks *rule*.

    Attributes:
        value: its value that breaks the rule; empty if the rule is about no value.
        other: the group or pod that it is compared with; None if there is none.
        expected: the value of that group or pod, or the limit.

    """

    rule: TreeRule
    object: Name
    value: str = ""
    other: Name | None = None
    expected: str = ""


class PluginReason(Record, frozen=True):
    """Text of a plugin that rejects a placement."""

    text: str


class PlacementsUnavailable(Record, frozen=True):
    """Group with *tried* placements of which none is feasible; *first* is the result of the first of them."""

    tried: int
    first: AttemptReason | None


AttemptReason = (
    Feasibility
    | AttemptResult
    | MembersMissing
    | NodeWithoutKey
    | EmptyDomain
    | MembersApart
    | ChildFailed
    | AncestorFailed
    | TreeRefused
    | PluginReason
    | PluginFailed
    | PlacementsUnavailable
)
NOTHING_NEW: tuple[AttemptReason, ...] = (
    AttemptResult.NOTHING_NEW,
    PlacementsUnavailable(1, AttemptResult.NONE_PENDING_PLACED),
)
"""Results of a group that has its minimum and no node for another pod, as kube-scheduler states them: the second one with a nominated pod."""
"""Why an attempt to place a group fails."""


class ReasonCount(NamedTuple):
    """Reason of a filter, with the number of nodes that it refuses.

    Attributes:
        message: the reason.
        nodes: number of nodes.
        plugin: name of the plugin; empty for a field that is not modelled, and for a preemption.
        resource: resource of which the nodes have too little for NodeResourcesFit; None for other reasons.

    """

    message: FilterReason
    nodes: int
    plugin: str = ""
    resource: Resource | None = None


class FitError(Record, frozen=True):
    """Nodes that refuse a pod, counted by kube-scheduler's reason (its FitError).

    Attributes:
        nodes: number of all nodes of the cluster.
        reasons: reasons with their number of nodes, most first, then by text; plugins with an equal one are apart.
        outside: number of nodes outside the domain that was tried.
        pre_filter: the reason that excludes all nodes without a look at them; empty if there is none.

    """

    nodes: int
    reasons: tuple[ReasonCount, ...] = ()
    outside: int = 0
    pre_filter: str = ""


class PreemptionResult(enum.StrEnum):
    """Results of a preemption that need no figures."""

    NEVER = "never"
    """The preemptionPolicy is Never."""
    ONGOING = "ongoing"
    """Pods on the nominated nodes are being evicted."""
    POD_TERMINATING = "pod-terminating"
    """A pod on the nominated node of a single pod is being evicted."""
    NO_VICTIMS = "no-victims"
    """No pod has a lower priority."""
    NOT_PROVED = "not-proved"
    """No placement after an eviction is known."""


class VictimsFound(Record, frozen=True):
    """Pods whose eviction makes room, including those whose eviction has begun; *node* is that of a single pod."""

    pods: int
    node: str = ""


PreemptionReason = AttemptReason | FitError | PreemptionResult | VictimsFound
"""How a preemption ended."""
