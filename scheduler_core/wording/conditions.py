"""Conditions of groups after a cycle, as ``kubectl describe`` shows them.

Sources: KEP-4671 and KEP-6012, Status; wording of kube-scheduler.  kube-scheduler 1.37 writes no condition on a CompositePodGroup and never
the reason Invalid; here both follow the API documentation.
"""

from __future__ import annotations

from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
from scheduler_core.causes.attempts import AttemptReason, AttemptResult, Feasibility, PlacementsUnavailable, PreemptionReason, TreeRefused
from scheduler_core.causes.groups import GroupUnschedulable
from scheduler_core.model.conditions import DISRUPTION_TARGET
from scheduler_core.model.decision import Decision, GroupCondition, GroupDecision
from scheduler_core.model.status import Status
from scheduler_core.wording.decision_words import causes_words
from scheduler_core.wording.kube_scheduler import attempt_words, preemption_words, unschedulable
from scheduler_core.wording.truncation import cut, with_note

_FAILED = (Status.UNSCHEDULABLE, Status.UNRESOLVABLE)


def conditions(decision: Decision, group: GroupDecision) -> tuple[GroupCondition, ...]:
    """Return the conditions of one group of *decision* after the cycle: at most one.

    A condition that is True never changes (KEP-6012, Status: a terminal state).  Wait keeps the present condition.  A single pod has none.
    """
    if group.group.kind not in INITIALLY_SCHEDULED:
        return ()
    before, kind = group.present, group.group.kind
    if before is not None and (before.status == "True" or group.status is Status.WAIT):
        return (_noted(before, group),)
    if group.status is Status.WAIT:
        return ()
    if group.status is Status.SUCCESS:
        return (scheduled(kind),)
    text = cut(_text(decision, group))
    return (_noted(GroupCondition(INITIALLY_SCHEDULED[kind], "False", _reason(decision, group), text), group),)


def scheduler_message(decision: Decision, group: GroupDecision) -> str:
    """Return kube-scheduler's own message about a group of *decision* with reason Unschedulable; empty for other groups."""
    stated = scheduler_causes(decision, group)
    return "" if stated is None else _unschedulable(*stated, decision.behavior)


def scheduler_causes(decision: Decision, group: GroupDecision) -> tuple[GroupUnschedulable, PreemptionReason | None] | None:
    """Return the result of a group, and of the preemption for it, that ``scheduler_message`` states; None without a message."""
    final = group.present is not None and group.present.status == "True"
    if group.group.kind not in INITIALLY_SCHEDULED or group.status not in _FAILED or final:
        return None
    alone = group.causes == (AttemptResult.NOTHING_NEW,) and decision.behavior.prefixes_messages
    stated = GroupUnschedulable() if alone else GroupUnschedulable(_stated_reason(decision, group))
    return stated, None if alone else decision.post_filter or group.retried


def scheduled(kind: str) -> GroupCondition:
    """Return the condition of a group of *kind* that is placed."""
    return GroupCondition(INITIALLY_SCHEDULED[kind], "True", "Scheduled", "")


def disruption_target(message: str) -> GroupCondition:
    """Return the condition of a group that is preempted by one of higher priority (KEP-6012, Status)."""
    return GroupCondition(DISRUPTION_TARGET, "True", "PreemptionByScheduler", cut(message))


def _noted(condition: GroupCondition, group: GroupDecision) -> GroupCondition:
    if condition.status != "False" or not group.notes:
        return condition
    text = condition.message
    for note in group.notes:
        text = with_note(text, causes_words((note,)))
    return GroupCondition(condition.type, condition.status, condition.reason, text)


def _reason(decision: Decision, group: GroupDecision) -> str:
    if group.status in _FAILED:
        return "Unschedulable"
    is_invalid = group.status is Status.INVALID or isinstance(group.reason, TreeRefused)
    return decision.behavior.invalid_reason(group.group.kind) if is_invalid else "SchedulerError"


def _text(decision: Decision, group: GroupDecision) -> str:
    """Return the reason of a condition that is False.  It begins with kube-scheduler's message, which users and tools search for."""
    stated = _stated_reason(decision, group)
    own = causes_words(group.causes) if group.causes != (stated,) else ""
    if group.status in _FAILED:
        result = _unschedulable(GroupUnschedulable(stated), decision.post_filter or group.retried, decision.behavior)
    else:
        result = attempt_words(group.reason, decision.behavior)
        own = own if group.status is Status.INVALID or not result else ""
    return "; ".join(filter(None, (result, own)))


def _stated_reason(decision: Decision, group: GroupDecision) -> AttemptReason | None:
    """Return the reason that kube-scheduler states; 1.37 does not say why none of the pods was tried on a placement."""
    behavior, reason = decision.behavior, group.reason
    if not behavior.prefixes_messages or not behavior.tries_placements:
        return reason
    unavailable = PlacementsUnavailable(1, reason) if isinstance(reason, Feasibility) else reason
    if isinstance(unavailable, PlacementsUnavailable) and isinstance(unavailable.first, Feasibility) and unavailable.first.before_pods:
        return PlacementsUnavailable(unavailable.tried, AttemptResult.NOTHING_NEW)
    return reason


def _unschedulable(result: GroupUnschedulable, post_filter: PreemptionReason | None, behavior: SchedulerBehavior) -> str:
    preemption = f", pod group preemption: {preemption_words(post_filter, behavior)}" if post_filter is not None else ""
    return f"{unschedulable(result.reason, behavior)}{preemption}"
