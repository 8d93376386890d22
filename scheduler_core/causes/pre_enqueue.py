"""Causes that keep a root out of the scheduling queue: gates, missing members and parents, and trees that break a rule."""

from __future__ import annotations

import enum
from typing import NamedTuple

from kubeapi.base_structs import Record
from scheduler_core.model.names import Name


class SchedulingGated(Record, frozen=True):
    """Pod with scheduling gates."""

    gates: tuple[str, ...]


class ClaimMissing(Record, frozen=True):
    """Pod without one of its resource claims; *reason* is kube-scheduler's text."""

    reason: str


class PodGroupAwaited(Record, frozen=True):
    """Pod whose PodGroup *group* does not exist, or *exists* but cannot be used; kube-scheduler says that it can be an ancestor since 1.38."""

    group: Name
    exists: bool
    or_ancestor: bool = False


class ParentAwaited(Record, frozen=True):
    """Group *child* whose *parent* does not exist, or *exists* but cannot be used; kube-scheduler names the child since 1.38."""

    parent: Name
    child: Name
    exists: bool
    names_child: bool = False


class QuorumShortage(Record, frozen=True):
    """Group that lacks members and so prevents its root from being tried.

    Attributes:
        group: the group.
        minimum: minCount or minGroupCount; 1 for basic groups.
        available: members, or ready children.

    """

    group: Name
    minimum: int
    available: int


class RootPolicy(enum.StrEnum):
    """Scheduling policy of a root."""

    GANG = "gang"
    BASIC = "basic"


class QuorumAwaited(Record, frozen=True):
    """Root without its quorum, from the top down; its *policy*, gang or basic, if kube-scheduler tells it (since 1.38)."""

    root: Name
    shortages: tuple[QuorumShortage, ...]
    policy: RootPolicy | None = None


class GroupBeingDeleted(Record, frozen=True):
    """Group that is being deleted, so that no more of its members can be created; *missing* is the number that its minimum lacks."""

    group: Name
    missing: int = 0


class GatedPod(NamedTuple):
    """Pod with its scheduling gates."""

    pod: str
    gates: tuple[str, ...]


class MembersGated(Record, frozen=True):
    """Members with scheduling gates."""

    gated_pods: tuple[GatedPod, ...]


class PodWithoutClaim(NamedTuple):
    """Pod without one of its resource claims; *message* is kube-scheduler's text."""

    pod: str
    message: str


class MembersWithoutClaims(Record, frozen=True):
    """Members without one of their resource claims, with kube-scheduler's text for each."""

    pods_without_claim: tuple[PodWithoutClaim, ...]


class RuleViolation(Record, frozen=True):
    """Field of a group that breaks a rule about trees; *detail* is the text of the rule."""

    field: str
    detail: str
    rule: str


class PriorityMismatch(Record, frozen=True):
    """Pods whose priority, *priority* for the first of them, is not that of their root."""

    pod_names: tuple[str, ...]
    priority: int
    root_priority: int
    rule: str


TreeViolation = RuleViolation | PriorityMismatch


class GroupViolations(Record, frozen=True):
    """Violations of the rules about trees by *group*."""

    group: Name
    violations: tuple[TreeViolation, ...]


class InvalidTree(Record, frozen=True):
    """Tree that breaks rules, by group."""

    groups: tuple[GroupViolations, ...]


class PodField(enum.StrEnum):
    """Fields in which all pods of a group must be equal."""

    SCHEDULER = "schedulerName"
    PREEMPTION_POLICY = "preemptionPolicy"


class PodsDiffer(Record, frozen=True):
    """Pods of one group that are unlike *expected* in *field*: *pod* has *value*, and there are *more* such pods.

    *of_group* is True if the group has a policy of its own, from which that of the pod differs.
    """

    field: PodField
    pod: str
    value: str
    expected: str
    more: int
    of_group: bool = False


PreEnqueueCause = (
    SchedulingGated
    | ClaimMissing
    | PodGroupAwaited
    | ParentAwaited
    | QuorumShortage
    | QuorumAwaited
    | GroupBeingDeleted
    | MembersGated
    | MembersWithoutClaims
    | RuleViolation
    | PriorityMismatch
    | InvalidTree
    | PodsDiffer
)
"""Why a root, one of its groups or a pod is not tried."""


class NotARoot(Record, frozen=True):
    """Name in a requested order of roots that is not the name of a root.

    Attributes:
        spelling: the name as it was requested.
        object: the group or pod of this name; None if there is none.
        group: the PodGroup of the pod; None for groups.
        root: the root of its tree; None for a pod whose PodGroup does not exist.
        similar: roots with a similar name, if there is no such object.
        no_roots: True if there are no roots at all.

    """

    spelling: str
    object: Name | None = None
    group: Name | None = None
    root: Name | None = None
    similar: tuple[Name, ...] = ()
    no_roots: bool = False
