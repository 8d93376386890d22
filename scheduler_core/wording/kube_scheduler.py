"""Messages of kube-scheduler: results of attempts and preemptions, and the nodes that refuse a pod.

Messages that differ between versions are worded for a behavior; without one, in the words of 1.37, which our own messages use.
"""

from __future__ import annotations

from collections import Counter
from typing import assert_never

from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.attempts import (
    AncestorFailed,
    AttemptReason,
    AttemptResult,
    ChildFailed,
    EmptyDomain,
    Feasibility,
    FitError,
    MembersApart,
    MembersMissing,
    NodeWithoutKey,
    PlacementsUnavailable,
    PluginReason,
    PreemptionReason,
    PreemptionResult,
    TreeRefused,
    TreeRule,
    VictimsFound,
)
from scheduler_core.causes.plugin_failures import PluginFailed
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.wording.filter_words import failure_words, filter_words
from scheduler_core.wording.nouns import SHOWN

BARE = "pod group is unschedulable"
"""Prefix of messages with reason Unschedulable; the whole message of a root that could place no new pod."""
_NONE_SCHEDULABLE = "no pods were schedulable"
"""The same message without the prefix."""
STORAGE_EXCEEDED = (
    "its claims need more storage together than the CSIStorageCapacities offer, each of which kube-scheduler compares with one claim"
)
VICTIMS_AWAITED = "waiting for pods that terminate on the nominated nodes"
_RESULTS = {
    AttemptResult.POD_WITHOUT_NODE: "a pod of the group fits on no node",
    AttemptResult.NO_PLACEMENT: "no feasible placements found",
    AttemptResult.NOT_COMPARABLE: "no feasible placement has a pod of the group: the placements cannot be compared",
    AttemptResult.NOTHING_NEW: BARE,
    AttemptResult.NONE_PENDING_PLACED: "nominated placement is feasible but no pending pod was scheduled",
    AttemptResult.STORAGE_EXCEEDED: STORAGE_EXCEEDED,
    AttemptResult.STATE_NOT_FOUND: 'error in "DynamicResources" PodGroupPostFilter plugins: not found',
    AttemptResult.VICTIMS_AWAITED: VICTIMS_AWAITED,
}
_PREEMPTIONS = {
    PreemptionResult.NEVER: "not eligible due to preemptionPolicy=Never.",
    PreemptionResult.ONGOING: "ongoing preemption on nominated nodes",
    PreemptionResult.POD_TERMINATING: "not eligible due to a terminating pod on the nominated node.",
    PreemptionResult.NO_VICTIMS: "No preemption victims found for incoming preemptor",
    PreemptionResult.NOT_PROVED: "no placement after the eviction is known",
}
_ELSEWHERE = "node(s) didn't match pod group's topology"
"""Reason for nodes outside the domain that was tried; kube-scheduler omits them from the count."""
_MOST = 2 * SHOWN
"""Maximum number of reasons in a message."""


def attempt_words(  # noqa: C901, PLR0911 - one case for each kind of cause
    reason: AttemptReason | None, behavior: SchedulerBehavior = KUBERNETES_1_37
) -> str:
    """Return why an attempt fails; empty if it does not."""
    match reason:
        case None:
            return ""
        case Feasibility():
            return _feasibility(reason, behavior)
        case AttemptResult():
            return _NONE_SCHEDULABLE if reason is AttemptResult.NOTHING_NEW and not behavior.prefixes_messages else _RESULTS[reason]
        case MembersMissing():
            there = f"{reason.members} children have the members they need" if reason.composite else f"there are {reason.members} members"
            return f"{_bound(reason.minimum, composite=reason.composite)} cannot be satisfied: {there}"
        case NodeWithoutKey() | EmptyDomain() | MembersApart():
            return _no_domain(reason, behavior)
        case ChildFailed() | AncestorFailed():
            return _of_relative(reason, behavior)
        case TreeRefused():
            return _refused(reason)
        case PluginReason():
            return reason.text
        case PluginFailed():
            return failure_words(reason.failure)
        case PlacementsUnavailable():
            return f"0/{reason.tried} placements are available, first placement status: {attempt_words(reason.first, behavior)}"
    assert_never(reason)


def _no_domain(reason: NodeWithoutKey | EmptyDomain | MembersApart, behavior: SchedulerBehavior) -> str:
    """Return why running members have no domain in common."""
    quoted = "" if behavior.empty_value_is_domain else "cannot determine domain for already scheduled pods: "
    match reason:
        case NodeWithoutKey() if quoted:
            return f"{quoted}no topology domain found on node {reason.node}"
        case NodeWithoutKey():
            return f"node {reason.node!r}, where a member runs, has no label {reason.key!r}"
        case EmptyDomain():
            return f"{quoted}empty topology domain found for pod {reason.pod}"
        case MembersApart() if quoted:
            return f"{quoted}more than 1 domain found for pod group: {', '.join(_quoted(each.value) for each in reason.domains[:2])}"
        case MembersApart():
            where = ", ".join(f"{value!r} ({node})" for value, node in reason.domains)
            return f"members run in {reason.number} domains of {reason.key!r}: {where}; a group must be in one"
    assert_never(reason)


def _of_relative(reason: ChildFailed | AncestorFailed, behavior: SchedulerBehavior) -> str:
    """Return the message of a group about the result of another one."""
    if isinstance(reason, ChildFailed):
        words = attempt_words(reason.error, behavior)
        return (
            f"composite pod group {_quoted(reason.group.name)} evaluation failed due to child {_quoted(reason.child.name)} error: {words}"
        )
    ended = "encountered an error" if reason.in_error else "is unschedulable"
    return f"ancestor composite pod group {_quoted(reason.ancestor.name)} {ended}"


def _refused(reason: TreeRefused) -> str:
    """Return why kube-scheduler refuses a tree."""
    subject, other = _key(reason.object), _key(reason.other)
    match reason.rule:
        case TreeRule.DEPTH:
            return f"hierarchy depth exceeds maximum allowed depth {reason.expected} at {subject}"
        case TreeRule.WORKLOAD:
            values = _both(_quoted(reason.value), subject, _quoted(reason.expected), other)
            return f"pod group workload does not match root workload, got: {values}"
        case TreeRule.BASIC_CHILD:
            return f"gang parent {other} cannot have basic child {subject}"
        case TreeRule.SINGLE_CHILD:
            return f"parent {other} with All disruption mode cannot have child {subject} with Single disruption mode"
        case TreeRule.SCHEDULER:
            values = _both(_quoted(reason.value), subject, _quoted(reason.expected), other)
            return f"all pods in a pod group hierarchy should have the same .spec.schedulerName set, got: {values}"
        case TreeRule.GROUP_PRIORITY | TreeRule.POD_PRIORITY:
            same = "priority as the root pod group's priority"
        case TreeRule.GROUP_POLICY | TreeRule.POD_POLICY:
            same = "preemption policy"
    parts = "pods in a pod group hierarchy" if reason.object.kind == "Pod" else "pod groups in a hierarchy"
    return f"all {parts} should have the same {same}, got {_both(reason.value, subject, reason.expected, other)}"


def _both(value: str, subject: str, expected: str, other: str) -> str:
    """Return two values with the names of the objects that have them; *other* is empty if *expected* is not that of one object."""
    return f"{value} ({subject}) and {expected} ({other})" if other else f"{value} ({subject}) and {expected}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _key(name: Name | None) -> str:
    """Return a name as kube-scheduler quotes it: that of a pod, or the key of a group."""
    if name is None:
        return ""
    return _quoted(name.name if name.kind == "Pod" else f"{name.kind.lower()}/{name.namespace}/{name.name}")


def unschedulable(reason: AttemptReason | None, behavior: SchedulerBehavior = KUBERNETES_1_37) -> str:
    """Return the message of a group with reason Unschedulable."""
    if not behavior.tries_placements:
        if isinstance(reason, Feasibility) and not reason.before_pods:
            return attempt_words(reason, behavior)
        if isinstance(reason, PlacementsUnavailable):
            reason = AttemptResult.NOTHING_NEW
    elif isinstance(reason, Feasibility):
        # A group without a topology constraint has one placement.
        reason = PlacementsUnavailable(1, reason)
    if not behavior.prefixes_messages:
        return attempt_words(AttemptResult.NOTHING_NEW if reason is None else reason, behavior)
    return BARE if reason is None or reason is AttemptResult.NOTHING_NEW else f"{BARE}, {attempt_words(reason, behavior)}"


def pod_unschedulable(group: Name) -> str:
    """Return the message of a pod of *group* that fits or was not tried."""
    return f'parent pod group "{group.name}" is unschedulable'


def preemption_words(reason: PreemptionReason, behavior: SchedulerBehavior = KUBERNETES_1_37) -> str:
    """Return how a preemption ended."""
    match reason:
        case PreemptionResult():
            return _PREEMPTIONS[reason]
        case VictimsFound():
            placement = f"potential placement for pod on node {reason.node}" if reason.node else "placement for podgroup"
            return f"found a {placement}, preempting {reason.pods} victims"
        case FitError():
            return fit_error(reason)
        case _:
            return attempt_words(reason, behavior)


def fit_error(error: FitError) -> str:
    """Return kube-scheduler's message, counted over all nodes of the cluster."""
    if error.pre_filter:
        return f"0/{error.nodes} nodes are available: {error.pre_filter}."
    counts = Counter[str]()
    for each in error.reasons:
        # kube-scheduler counts equal reasons of several plugins together.
        counts[filter_words(each.message)] += each.nodes
    distinct = list(counts.items()) if len(counts) == len(error.reasons) else sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{count} {text}" for text, count in distinct[:_MOST]]
    if rest := distinct[_MOST:]:
        shown.append(f"{sum(count for _, count in rest)} node(s) for {len(rest)} more reasons")
    if error.outside:
        shown.append(f"{error.outside} {_ELSEWHERE}")
    return f"0/{error.nodes} nodes are available: {', '.join(shown)}." if shown else f"0/{error.nodes} nodes are available."


def _feasibility(judged: Feasibility, behavior: SchedulerBehavior) -> str:
    """Return the message in kube-scheduler's words; empty for Success."""
    if judged.success:
        return ""
    if behavior.counts_failed_children:
        ended = "is not yet" if judged.status is Status.WAIT else "cannot be"
        counts = (
            f"{judged.scheduled} scheduled, {judged.unschedulable + judged.unresolvable} unschedulable, {judged.remaining} not-evaluated"
        )
        return f"scheduling policy's minimum threshold ({judged.minimum}) {ended} satisfied: {counts}"
    counts = f"{judged.scheduled} scheduled, {judged.remaining} remaining"
    bound = _bound(judged.minimum, composite=judged.composite)
    if judged.status is Status.WAIT:
        return f"{bound} is not yet satisfied: {counts}"
    if judged.status is Status.UNSCHEDULABLE:
        return f"{bound} cannot be satisfied: {counts}"
    failed = f"{judged.unschedulable} unschedulable, {judged.unresolvable} unresolvable"
    return f"{bound} cannot be satisfied: {counts}, {failed}: no eviction could help"


def _bound(minimum: int, *, composite: bool) -> str:
    return f"{'minGroupCount' if composite else 'minCount'} ({minimum})"
