"""The conditions of groups, worded for ``kubectl describe``.

Sources: KEP-4671 and KEP-6012, Status; the words of kube-scheduler 1.37.1.  It writes none on a CompositePodGroup and
never the reason Invalid; both are written here as the API describes them.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.model.decision import GroupCondition, Name, Status
from scheduler_core.model.wording import cut
from validators.model.group import Group
from validators.model.objects import namespace_of

INITIALLY_SCHEDULED = {"PodGroup": "PodGroupInitiallyScheduled", "CompositePodGroup": "CompositePodGroupInitiallyScheduled"}
"""The type of the condition, by kind."""
DISRUPTION_TARGET = "DisruptionTarget"
BARE = "pod group is unschedulable"
"""What every message of the reason Unschedulable begins with."""

_REASONS = {
    Status.UNSCHEDULABLE: "Unschedulable",
    Status.UNRESOLVABLE: "Unschedulable",
    Status.ERROR: "SchedulerError",
    Status.INVALID: "Invalid",
}


def initially_scheduled(kind: str, status: Status, message: str = "") -> GroupCondition:
    """The condition that a group of *kind* gets for *status*, which is not Wait.

    A message for Unschedulable is the cause alone, or begins with ``BARE``.

    Raises:
        KeyError: *status* is Wait, for which nothing is written.
    """
    if status is Status.SUCCESS:
        return GroupCondition(INITIALLY_SCHEDULED[kind], "True", "Scheduled", "")
    reason = _REASONS[status]
    return GroupCondition(INITIALLY_SCHEDULED[kind], "False", reason, cut(unschedulable(message) if reason == "Unschedulable" else message))


def unschedulable(cause: str) -> str:
    """*cause* as kube-scheduler puts it."""
    if not cause:
        return BARE
    return cause if cause.startswith(BARE) else f"{BARE}, {cause}"


def disruption_target(message: str) -> GroupCondition:
    """The condition of a group that is to leave for one of higher priority (KEP-6012, Status)."""
    return GroupCondition(DISRUPTION_TARGET, "True", "PreemptionByScheduler", cut(message))


class Conditions:
    """What groups say of themselves already, and what they come to say after a cycle."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._held: dict[Name, GroupCondition] = {}
        for group in groups:
            for each in group.status.conditions or ():
                if each.type == INITIALLY_SCHEDULED[group.kind]:
                    name = Name(group.kind, namespace_of(group), group.metadata.name)
                    self._held.setdefault(name, GroupCondition(each.type, each.status, each.reason, each.message))

    def conditions_after(self, group: Name, status: Status, message: str = "") -> tuple[GroupCondition, ...]:
        """The conditions of *group* once a cycle said *status*: at most one.

        Once True it stays, whatever comes (KEP-6012, Status: a terminal state).  Wait writes nothing, what is there stays.
        """
        held = self._held.get(group)
        if held is not None and (held.status == "True" or status is Status.WAIT):
            return (held,)
        return () if status is Status.WAIT else (initially_scheduled(group.kind, status, message),)
