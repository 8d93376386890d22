"""Messages of kube-scheduler 1.37.1: results of attempts and preemptions, and the nodes that refuse a pod."""

from __future__ import annotations

from collections import Counter
from typing import assert_never

from scheduler_core.causes.attempts import (
    AttemptReason,
    AttemptResult,
    Feasibility,
    FitError,
    MembersApart,
    MembersMissing,
    NodeWithoutKey,
    PlacementsUnavailable,
    PluginReason,
    PreemptionReason,
    PreemptionResult,
    VictimsFound,
)
from scheduler_core.causes.plugin_failures import PluginFailed
from scheduler_core.model.status import Status
from scheduler_core.wording.filter_words import failure_words, filter_words
from scheduler_core.wording.nouns import SHOWN

BARE = "pod group is unschedulable"
"""Prefix of every message with reason Unschedulable; the whole message of a root that could place no new pod."""
STORAGE_EXCEEDED = (
    "its claims need more storage together than the CSIStorageCapacities offer, each of which kube-scheduler compares with one claim"
)
VICTIMS_AWAITED = "waiting for pods that terminate on the nominated nodes"
_RESULTS = {
    AttemptResult.POD_WITHOUT_NODE: "a pod of the group fits on no node",
    AttemptResult.NO_PLACEMENT: "no feasible placements found",
    AttemptResult.NOT_COMPARABLE: "no feasible placement has a pod of the group: the placements cannot be compared",
    AttemptResult.NOTHING_NEW: BARE,
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


def attempt_words(reason: AttemptReason | None) -> str:  # noqa: PLR0911 - one case for each kind of cause
    """Return why an attempt fails; empty if it does not."""
    match reason:
        case None:
            return ""
        case Feasibility():
            return _feasibility(reason)
        case AttemptResult():
            return _RESULTS[reason]
        case MembersMissing():
            there = f"{reason.members} children have the members they need" if reason.composite else f"there are {reason.members} members"
            return f"{_bound(reason.minimum, composite=reason.composite)} cannot be satisfied: {there}"
        case NodeWithoutKey():
            return f"node {reason.node!r}, where a member runs, has no label {reason.key!r}"
        case MembersApart():
            where = ", ".join(f"{value!r} ({node})" for value, node in reason.domains)
            return f"members run in {reason.number} domains of {reason.key!r}: {where}; a group must be in one"
        case PluginReason():
            return reason.text
        case PluginFailed():
            return failure_words(reason.failure)
        case PlacementsUnavailable():
            return f"0/{reason.tried} placements are available, first placement status: {attempt_words(reason.first)}"
    assert_never(reason)


def unschedulable(reason: AttemptReason | None) -> str:
    """Return the message of a group with reason Unschedulable."""
    return BARE if reason is None or reason is AttemptResult.NOTHING_NEW else f"{BARE}, {attempt_words(reason)}"


def preemption_words(reason: PreemptionReason) -> str:
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
            return attempt_words(reason)


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


def _feasibility(judged: Feasibility) -> str:
    """Return the message in kube-scheduler's words; empty for Success."""
    if judged.success:
        return ""
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
