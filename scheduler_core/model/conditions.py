"""Conditions of groups as ``kubectl describe`` shows them.

Sources: KEP-4671 and KEP-6012, Status; wording of kube-scheduler 1.37.1.  kube-scheduler writes no condition on a
CompositePodGroup and never the reason Invalid; here both follow the API documentation.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.model.decision import GroupCondition, Name, Status
from scheduler_core.model.wording import cut
from validators.model.group import Group
from validators.model.objects import namespace_of

INITIALLY_SCHEDULED = {"PodGroup": "PodGroupInitiallyScheduled", "CompositePodGroup": "CompositePodGroupInitiallyScheduled"}
"""Condition type by kind."""
DISRUPTION_TARGET = "DisruptionTarget"
WAITING = "Waiting"
"""Reason of a group that is not attempted until its members, parents or gates change."""
BARE = "pod group is unschedulable"
"""Prefix of every message with reason Unschedulable; the whole message of a root that could place no new pod."""

_REASONS = {
    Status.UNSCHEDULABLE: "Unschedulable",
    Status.UNRESOLVABLE: "Unschedulable",
    Status.ERROR: "SchedulerError",
    Status.INVALID: "Invalid",
}


def initially_scheduled(kind: str, status: Status, message: str = "") -> GroupCondition:
    """Return the condition of a group of *kind* for *status*, which must not be Wait.

    A message for Unschedulable is the cause alone, or begins with ``BARE``.

    Raises:
        KeyError: *status* is Wait, for which no condition is written.

    """
    if status is Status.SUCCESS:
        return GroupCondition(INITIALLY_SCHEDULED[kind], "True", "Scheduled", "")
    reason = _REASONS[status]
    return GroupCondition(INITIALLY_SCHEDULED[kind], "False", reason, cut(unschedulable(message) if reason == "Unschedulable" else message))


def unschedulable(cause: str) -> str:
    """Return *cause* in the wording of kube-scheduler."""
    if not cause:
        return BARE
    return cause if cause.startswith(BARE) else f"{BARE}, {cause}"


def disruption_target(message: str) -> GroupCondition:
    """Return the condition of a group that is preempted by one of higher priority (KEP-6012, Status)."""
    return GroupCondition(DISRUPTION_TARGET, "True", "PreemptionByScheduler", cut(message))


class Conditions:
    """Conditions of groups before and after a cycle."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._current: dict[Name, GroupCondition] = {}
        for group in groups:
            for each in group.status.conditions or ():
                if each.type == INITIALLY_SCHEDULED[group.kind]:
                    name = Name(group.kind, namespace_of(group), group.metadata.name)
                    self._current.setdefault(name, GroupCondition(each.type, each.status, each.reason, each.message))

    def conditions_after(self, group: Name, status: Status, message: str = "") -> tuple[GroupCondition, ...]:
        """Return the conditions of *group* after a cycle with result *status*: at most one.

        A condition that is True never changes (KEP-6012, Status: a terminal state).  Wait keeps the present condition.
        """
        current = self._current.get(group)
        if current is not None and (current.status == "True" or status is Status.WAIT):
            return (current,)
        return () if status is Status.WAIT else (initially_scheduled(group.kind, status, message),)
