"""Wording of causes that only a live cluster has."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import assert_never

from kubeapi.versions import served_versions
from kubeapi.versions.served_versions import Resource
from scheduler_core.causes.live import (
    Awaited,
    BudgetConflict,
    ClaimsAwaited,
    ClaimsUnreleased,
    ClaimUnreserved,
    DeviatingPod,
    Deviation,
    EvictionRefused,
    EvictionsBlocked,
    ExceededBudget,
    GangUndone,
    LiveCause,
    NodeWithoutHostname,
    ObjectsAwaited,
    OverlappingBudgets,
    PartiallyBound,
    PinnedPodsAwaited,
    PlacementDeviated,
    StaleExtendedClaim,
    UndoReason,
    Unlisted,
    UnlistedReason,
)
from scheduler_core.model.names import HOSTNAME, Name, NamedClaim
from scheduler_core.wording import nouns
from scheduler_core.wording.nouns import counted
from scheduler_core.wording.truncation import cut, listed_within

_MOST_VICTIMS = 3
"""Maximum number of victims that are named for each budget."""
_LONGEST_BLOCKED = 400
_LONGEST_CLAIMS = 300
_LONGEST_DEVIATING = 500
_LONGEST_ERROR = 300
_AWAITED = {
    Awaited.FIRST_ATTEMPT: "waiting for its first scheduling attempt",
    Awaited.DELETION: "waiting until its pods that are being deleted are gone",
}
_UNDONE = {
    UndoReason.PODS_MISSING: "pods that it needs are missing, gated or could not be bound",
    UndoReason.PINNED_PODS_UNBOUND: "its pods were not bound to the nodes to which they are pinned",
}


def live_words(cause: LiveCause) -> str:  # noqa: C901, PLR0911 - one case for each kind of cause
    """Return *cause* in words."""
    match cause:
        case EvictionsBlocked():
            retried = f"retried when a PodDisruptionBudget changes, at the latest after {cause.retry_seconds:.0f} s"
            return f"preemption is blocked: {_blocked(cause.by)}; {retried}"
        case ClaimsUnreleased():
            return f"waiting until the claims of pods that are gone are released: {_claims(cause.claims)}"
        case ClaimsAwaited():
            return f"waiting for claims that get devices when evicted pods are gone: {_claims(cause.claims)}"
        case ObjectsAwaited():
            return f"waiting for objects that {_user(cause.needed_by)} needs: {unlisted_words(cause.kinds)}"
        case PartiallyBound():
            return f"partially bound: {_partially_bound(cause)}"
        case PinnedPodsAwaited():
            deleted = "" if cause.kept else "; then it is deleted" if cause.pods == 1 else "; then they are deleted"
            return f"waiting until {_utc(cause.until)} for the scheduler of its {counted(cause.pods, 'pinned pod')}{deleted}"
        case PlacementDeviated():
            return f"not bound as planned: {listed_within([*map(_deviating, cause.deviating)], longest=_LONGEST_DEVIATING)}"
        case GangUndone():
            deleted = f"the {counted(cause.pods, 'pod')} with a node {'was' if cause.pods == 1 else 'were'} deleted"
            return f"partially bound and not completed: {undo_words(cause.because)}; {deleted}"
        case Awaited():
            return _AWAITED[cause]
        case NodeWithoutHostname():
            return f"node {cause.node} has no label {HOSTNAME}, which is needed to pin pods to it"
        case StaleExtendedClaim():
            return f"the status of pod {cause.pod} names a claim for extended resources, but node {cause.node} has them"
        case ClaimUnreserved():
            return f"claim {cause.claim.full_name} is not reserved for pod {cause.pod}, so its own scheduler can find its devices in use"
    assert_never(cause)


def undo_words(reason: UndoReason) -> str:
    """Return why a gang is undone."""
    return _UNDONE[reason]


def ignored_words(kind: str, used: str) -> str:
    """Return that an object is not used, because the API group *used* has one of its *kind* and name."""
    return f"ignored: {used} has a {kind} of the same name, and that one counts; delete one of the two"


def unlisted_words(kinds: Iterable[tuple[str, Unlisted]]) -> str:
    """Return why *kinds* are not listed and what to do, one clause for each reason and error."""
    by_status: dict[Unlisted, list[str]] = {}
    for kind, status in kinds:
        by_status.setdefault(status, []).append(kind)
    return "; ".join(_unlisted(status, names) for status, names in by_status.items())


def missing_rule(resources: Iterable[Resource]) -> str:
    """Return which rule allows the sidecar to read *resources*."""
    names = [each.rbac_name for each in resources]
    return f"allow the verbs list and watch for {nouns.listed(names, len(names))} in the sidecar's ClusterRole"


def _blocked(by: EvictionRefused | tuple[BudgetConflict, ...]) -> str:
    if isinstance(by, EvictionRefused):
        return cut(f"the eviction of pod {by.pod} was refused: {by.error}", _LONGEST_BLOCKED)
    return listed_within([*map(_conflict, by)], longest=_LONGEST_BLOCKED)


def _conflict(conflict: BudgetConflict) -> str:
    match conflict:
        case ExceededBudget():
            name = f"{conflict.budget.kind} {conflict.budget.namespace}/{conflict.budget.name}"
            victims = f"{counted(len(conflict.victims), 'victim')} ({_victims(conflict.victims)})"
            return f"{name} allows {counted(conflict.disruptions_allowed, 'disruption')} and matches {victims}"
        case OverlappingBudgets():
            names = " and ".join(each.name for each in conflict.budgets)
            return f"pod {conflict.pod} matches PodDisruptionBudgets {names}, and the eviction API refuses a pod with more than one"
    assert_never(conflict)


def _victims(pods: Sequence[str]) -> str:
    more = len(pods) - _MOST_VICTIMS
    return ", ".join(pods[:_MOST_VICTIMS]) + (f" and {more} more" if more > 0 else "")


def _claims(claims: Sequence[NamedClaim]) -> str:
    return listed_within([each.full_name for each in claims], joint=", ", longest=_LONGEST_CLAIMS)


def _user(user: Name) -> str:
    return f"{'pod' if user.kind == 'Pod' else user.kind} {user.namespace}/{user.name}"


def _deviating(pod: DeviatingPod) -> str:
    match pod.deviation:
        case Deviation.BOUND_ELSEWHERE:
            return f"pod {pod.pod} is bound to node {pod.node}, not to {pod.planned_node}"
        case Deviation.NOT_BOUND:
            return f"pod {pod.pod} is not bound to node {pod.planned_node}{f': {cut(pod.error, _LONGEST_ERROR)}' if pod.error else ''}"
        case Deviation.NODE_GONE:
            return f"pod {pod.pod} is not bound, and node {pod.planned_node} no longer exists"
        case Deviation.POD_GONE:
            return f"pod {pod.pod} of node {pod.planned_node} no longer exists"
    assert_never(pod.deviation)


def _partially_bound(cause: PartiallyBound) -> str:
    if cause.kept:
        return f"waiting for the missing pods; the {counted(cause.pods, 'pod')} with a node {'stays' if cause.pods == 1 else 'stay'}"
    if cause.until is None:
        return _AWAITED[Awaited.DELETION]
    deleted = f"the {counted(cause.pods, 'pod')} with a node {'is' if cause.pods == 1 else 'are'} deleted"
    return f"waiting until {_utc(cause.until)} for the missing pods; then {deleted}"


def _utc(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _unlisted(status: Unlisted, kinds: Sequence[str]) -> str:
    names = f"{nouns.listed(kinds, len(kinds))} objects"
    match status.because:
        case UnlistedReason.FORBIDDEN:
            return f"{names} cannot be listed: {missing_rule(each for kind in kinds for each in served_versions.resources(kind))}"
        case UnlistedReason.NOT_SERVED:
            return f"the API server does not serve {names}: look at its flag --runtime-config"
        case UnlistedReason.NOT_YET:
            return f"{names} are not listed yet{f': {cut(status.error, _LONGEST_ERROR)}' if status.error else ''}"
    assert_never(status.because)
