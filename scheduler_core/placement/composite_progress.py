"""How the children of a composite fare so far, and whether trying on makes sense."""

from __future__ import annotations

import dataclasses

from scheduler_core.model.decision import Status
from scheduler_core.placement.feasibility import Feasibility, judge, judge_by_document
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest


@dataclasses.dataclass(slots=True)
class CompositeProgress:
    """Children counted by what became of them (KEP-6012, PlacementFeasible: S, R, U, UU)."""

    minimum: int
    remaining: int
    by_document: bool
    scheduled: int = 0
    unschedulable: int = 0
    unresolvable: int = 0

    def add(self, outcome: PlacementOutcome) -> None:
        """One child has been tried."""
        self.remaining -= 1
        if outcome.success:
            self.scheduled += 1
        elif outcome.status is Status.UNRESOLVABLE:
            self.unresolvable += 1
        else:
            self.unschedulable += 1

    def skip(self) -> None:
        """One child is inadmissible, and is not tried."""
        self.remaining -= 1
        self.unresolvable += 1

    def judged(self) -> Feasibility:
        """What can still become of the composite."""
        if not self.by_document:
            return judge(self.minimum, self.scheduled, self.remaining, composite=True)
        return judge_by_document(self.minimum, self.scheduled, self.remaining, self.unschedulable, self.unresolvable, composite=True)


def inadmissible(form: PlacementRequest) -> str:
    """Why a group cannot reach its minimum with the members it has, wherever they go; empty if it can (KEP-6012, Inadmissible child groups)."""
    entity = form.entity
    if form.leaf:
        members = len(entity.running) + len(entity.waiting)
        return "" if members >= entity.minimum else f"minCount ({entity.minimum}) cannot be satisfied: there are {members} members"
    able = sum(not inadmissible(child) for child in form.children)
    return (
        ""
        if able >= entity.minimum
        else f"minGroupCount ({entity.minimum}) cannot be satisfied: {able} children have the members they need"
    )
