"""Nomination of a job, that is, whether Kueue admits it now: flavors for its parts, preemption, or fewer pods.

Source: Kueue 0.17.0, ``pkg/scheduler``, nominate and getAssignments.
"""

from __future__ import annotations

from expansion.kueue.assign_flavors import Assignment, FlavorAssigner, Mode
from expansion.kueue.pending import PendingJob
from expansion.kueue.preemption import Preemption
from expansion.kueue.queues import Queue, Queues, Reserved
from kubeapi.base_structs import Record


class Nomination(Record, frozen=True):
    """Flavors of a job, and the Workloads that are preempted for it; it is admitted at once if all of its parts fit."""

    assignment: Assignment
    preempted: tuple[Reserved, ...] = ()

    @property
    def is_admitted(self) -> bool:
        """Return whether the job gets its quota now."""
        return self.assignment.mode is Mode.FITS


def nominate(queues: Queues, queue: Queue, job: PendingJob) -> Nomination:
    """Return the best that Kueue can do for *job* in an active *queue*.

    With fewer pods only where a part has a minimum, and neither quota nor preemption suffices for all.
    """
    preemption = Preemption(queues, queue, job)
    assigner = FlavorAssigner(queues, queue, job, preemption.possibility)
    whole = _nominated(assigner.assign(), preemption)
    if whole.is_admitted or whole.preempted:
        return whole
    return _reduced(job, assigner, preemption) or whole


def _nominated(assignment: Assignment, preemption: Preemption) -> Nomination:
    if not Mode.NO_FIT < assignment.mode < Mode.FITS:
        return Nomination(assignment)
    return Nomination(assignment, tuple(preemption.targets(assignment.short, +assignment.usage)))


def _reduced(job: PendingJob, assigner: FlavorAssigner, preemption: Preemption) -> Nomination | None:
    """Return the nomination with the largest numbers of pods that can be admitted; None if there is none.

    It is searched as Kueue does, by bisection: if fewer pods do not fit where more do, it may find none.
    """
    deltas = [each.count - (each.count if each.minimum is None else each.minimum) for each in job.pod_sets]
    total = sum(deltas)
    if total <= 0:
        return None
    best: tuple[int, Nomination | None] = (-1, None)
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = [each.count - delta * middle // total for each, delta in zip(job.pod_sets, deltas, strict=True)]
        found = _nominated(assigner.assign(counts), preemption)
        if found.is_admitted or found.preempted:
            best, high = (middle, found), middle
        else:
            low = middle + 1
    return best[1] if best[0] == low else None


def reserve(queue: Queue, nomination: Nomination) -> None:
    """Count what an admitted job uses, for those after it."""
    queue.node.add(nomination.assignment.usage)
