"""PlacementFeasible: evaluated before the first child of a group and after each child.

Children are the pods of a PodGroup or the child groups of a CompositePodGroup.  There are two variants: ``judge`` with the three statuses
of kube-scheduler 1.37.1, and ``judge_by_document`` with the four statuses of KEP-6012 (GangScheduling Plugin Changes).
"""

from __future__ import annotations

from typing import NamedTuple

from scheduler_core.model.decision import Status


class Feasibility(NamedTuple):
    """Feasibility of a group, with the counts it is derived from."""

    status: Status
    """Success, Wait, Unschedulable, or (by the document only) UnschedulableAndUnresolvable."""
    minimum: int
    """minCount or minGroupCount; 1 for basic groups."""
    scheduled: int
    remaining: int
    """Children that were not tried yet."""
    composite: bool
    unschedulable: int = 0
    """Children that did not fit and that preemption could help."""
    unresolvable: int = 0
    """Children that preemption cannot help."""

    @property
    def success(self) -> bool:
        """Return whether the minimum is met."""
        return self.status is Status.SUCCESS

    @property
    def hopeless(self) -> bool:
        """Return whether the minimum cannot be met any more."""
        return self.status is Status.UNSCHEDULABLE or self.status is Status.UNRESOLVABLE

    @property
    def message(self) -> str:
        """Return the message in kube-scheduler's words; empty for Success."""
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
