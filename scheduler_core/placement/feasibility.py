"""PlacementFeasible: evaluated before the first child of a group and after each child.

Children are the pods of a PodGroup or the child groups of a CompositePodGroup.  There are two variants: ``judge`` with the three statuses
of kube-scheduler, and ``judge_by_document`` with the four statuses of KEP-6012 (GangScheduling Plugin Changes).
"""

from __future__ import annotations

import dataclasses

from scheduler_core.causes.attempts import Feasibility, MembersMissing
from scheduler_core.model.status import Status
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest


def judge(minimum: int, scheduled: int, remaining: int, unschedulable: int = 0, *, composite: bool) -> Feasibility:
    """Return the verdict of kube-scheduler: Unschedulable also if preemption cannot help; *unschedulable* only for the message."""
    if scheduled >= minimum:
        status = Status.SUCCESS
    elif scheduled + remaining >= minimum:
        status = Status.WAIT
    else:
        status = Status.UNSCHEDULABLE
    return Feasibility(status, minimum, scheduled, remaining, composite, unschedulable)


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


@dataclasses.dataclass(slots=True)
class CompositeProgress:
    """Children counted by their result (KEP-6012, PlacementFeasible: S, R, U, UU).

    With *by_document* there are four statuses.
    """

    minimum: int
    remaining: int
    by_document: bool
    scheduled: int = 0
    unschedulable: int = 0
    unresolvable: int = 0

    def add(self, outcome: PlacementOutcome) -> None:
        """Record the result of one child."""
        self.remaining -= 1
        if outcome.success:
            self.scheduled += 1
        elif outcome.status is Status.UNRESOLVABLE:
            self.unresolvable += 1
        else:
            self.unschedulable += 1

    def skip(self) -> None:
        """Record one inadmissible child, which is not tried."""
        self.remaining -= 1
        self.unresolvable += 1

    def judged(self) -> Feasibility:
        """Return the feasibility of the composite."""
        if not self.by_document:
            return judge(self.minimum, self.scheduled, self.remaining, self.unschedulable, composite=True)
        return judge_by_document(self.minimum, self.scheduled, self.remaining, self.unschedulable, self.unresolvable, composite=True)


def inadmissible(request: PlacementRequest) -> MembersMissing | None:
    """Return why the members of a group cannot reach its minimum on any placement; None if they can (KEP-6012, Inadmissible child
    groups).
    """
    entity = request.entity
    if request.leaf:
        members = len(entity.running) + len(entity.waiting)
    else:
        members = sum(not inadmissible(child) for child in request.children)
    return MembersMissing(not request.leaf, entity.minimum, members) if members < entity.minimum else None
