"""PlacementFeasible: can the minimum of a group still be met, asked before the first child and after each.

Children are the pods of a PodGroup or the child groups of a CompositePodGroup.  Two forms: ``judge`` as kube-scheduler
1.37.1 has it, with three statuses, and ``judge_by_document`` with the four of KEP-6012 (GangScheduling Plugin Changes).
"""

from __future__ import annotations

from typing import NamedTuple

from scheduler_core.model.decision import Status


class Feasibility(NamedTuple):
    """What can still become of a group, and from which counts that follows."""

    status: Status
    """Success, Wait, Unschedulable, or (by the document only) UnschedulableAndUnresolvable."""
    minimum: int
    """minCount or minGroupCount; 1 for basic groups."""
    scheduled: int
    remaining: int
    """Children not tried yet."""
    composite: bool
    unschedulable: int = 0
    """Children that found no room, which eviction could make."""
    unresolvable: int = 0
    """Children that no eviction could help."""

    @property
    def success(self) -> bool:
        """Whether the minimum is met."""
        return self.status is Status.SUCCESS

    @property
    def hopeless(self) -> bool:
        """Whether trying the remaining children is in vain."""
        return self.status is Status.UNSCHEDULABLE or self.status is Status.UNRESOLVABLE

    @property
    def message(self) -> str:
        """In kube-scheduler's words, which end with the counts; empty for Success."""
        if self.success:
            return ""
        counts = f"{self.scheduled} scheduled, {self.remaining} remaining"
        bound = f"{'minGroupCount' if self.composite else 'minCount'} ({self.minimum})"
        if self.status is Status.WAIT:
            return f"{bound} is not yet satisfied: {counts}"
        if self.status is Status.UNSCHEDULABLE:
            return f"{bound} cannot be satisfied: {counts}"
        failed = f"{self.unschedulable} unschedulable, {self.unresolvable} unresolvable"
        return f"{bound} cannot be satisfied: {counts}, {failed}: no eviction could help"


def judge(minimum: int, scheduled: int, remaining: int, *, composite: bool) -> Feasibility:
    """As kube-scheduler 1.37.1 judges: what failed does not count, so what eviction could not help is Unschedulable too."""
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
    """As KEP-6012 judges: Unschedulable only where eviction for the children that found no room could reach the minimum.

    Of a PodGroup's pods all that failed count as *unschedulable* (KEP-6012, the note below the counts).  The unresolvable
    ones take no part but in the message: they are those that no sum contains.
    """
    status = judge(minimum, scheduled, remaining, composite=composite).status
    if status is Status.UNSCHEDULABLE and scheduled + remaining + unschedulable < minimum:
        status = Status.UNRESOLVABLE
    return Feasibility(status, minimum, scheduled, remaining, composite, unschedulable, unresolvable)
