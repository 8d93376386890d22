"""PlacementFeasible: evaluated before the first child of a group and after each child.

Children are the pods of a PodGroup or the child groups of a CompositePodGroup.  There are two variants: ``judge`` with the three statuses
of kube-scheduler 1.37.1, and ``judge_by_document`` with the four statuses of KEP-6012 (GangScheduling Plugin Changes).
"""

from __future__ import annotations

from scheduler_core.causes.attempts import Feasibility
from scheduler_core.model.status import Status


def judge(minimum: int, scheduled: int, remaining: int, *, composite: bool) -> Feasibility:
    """Return the verdict of kube-scheduler 1.37.1: Unschedulable also if preemption cannot help."""
    if scheduled >= minimum:
        status = Status.SUCCESS
    elif scheduled + remaining >= minimum:
        status = Status.WAIT
    else:
        status = Status.UNSCHEDULABLE
    return Feasibility(status, minimum, scheduled, remaining, composite)


def judge_by_document(
    minimum: int, scheduled: int, remaining: int, unschedulable: int, unresolvable: int = 0, *, composite: bool
) -> Feasibility:
    """Return the verdict of KEP-6012: Unschedulable only if preemption for the *unschedulable* children could reach the minimum.

    All failed pods of a PodGroup count as *unschedulable* (KEP-6012, the note below the counts).  *unresolvable* children appear only in
    the message.
    """
    status = judge(minimum, scheduled, remaining, composite=composite).status
    if status is Status.UNSCHEDULABLE and scheduled + remaining + unschedulable < minimum:
        status = Status.UNRESOLVABLE
    return Feasibility(status, minimum, scheduled, remaining, composite, unschedulable, unresolvable)
