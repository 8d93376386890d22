"""Scheduled, failed and remaining children of a composite group."""

from __future__ import annotations

import dataclasses

from scheduler_core.causes.attempts import Feasibility, MembersMissing
from scheduler_core.model.status import Status
from scheduler_core.placement.feasibility import judge, judge_by_document
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(slots=True)
class CompositeProgress:
    """Children counted by their result (KEP-6012, PlacementFeasible: S, R, U, UU)."""

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
            return judge(self.minimum, self.scheduled, self.remaining, composite=True)
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
