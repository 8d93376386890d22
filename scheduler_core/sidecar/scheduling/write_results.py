"""Handles results of API writes, and tasks on a root that need no decision."""

from __future__ import annotations

from scheduler_core.model.conditions import INITIALLY_SCHEDULED
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.next_action import Action
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.states import Backoff, Binding, Preempting
from scheduler_core.sidecar.scheduling.binding import NORMAL, WARNING, Binder
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.writes import (
    Bind,
    Evict,
    Nominate,
    RecordEvent,
    Remove,
    SetCondition,
    Ungate,
    Write,
    WriteOutcome,
)


class WriteResults:
    """Hears of the ends of writes."""

    def __init__(self, queue: SchedulingQueue, binder: Binder, preemption: PreemptionPlans, assumed: AssumedPods) -> None:
        self._queue, self._binder, self._preemption, self._assumed = queue, binder, preemption, assumed

    def handle_result(self, write: Write, outcome: WriteOutcome, why: str, now: float) -> tuple[Write, ...]:
        """Return the next writes."""
        match write:
            case Bind() | Ungate():
                return (*_failure(write, outcome, why), *self._bound(write, outcome, now))
            case SetCondition():
                self._told(write, outcome, now)
            case Nominate():
                self._nominated(write, outcome)
            case Evict():
                return self._evicted(write, outcome, now)
            case Remove():
                if outcome not in {WriteOutcome.DONE, WriteOutcome.GONE}:
                    self._assumed.cancel_deletion(write.pod)
            case _:
                pass
        return ()

    def chore(self, task: Action, entity: QueuedEntity, survey: RootStatus, now: float) -> tuple[Write, ...]:
        """Return the writes of a *task* that needs no decision.

        Raises:
            ValueError: it needs one, or there is no bind to repeat.

        """
        queue = self._queue
        match task, entity.waiting:
            case Action.REBIND, Backoff(unconfirmed, decision) if unconfirmed:
                writes: tuple[Write, ...] = tuple(unconfirmed.values())
                queue.bind(entity, unconfirmed, decision)
            case Action.COMMIT, _:
                writes = self._binder.committed(survey, queue.decisions.get(entity.root))
                queue.reconsider(entity.root, now, hint=False, status=survey.recorded())
            case Action.UNDO, _:
                why = "what it still needs did not come" if survey.loose else "its pods were not bound where they are pinned to"
                writes = self._binder.undone(survey, why)
                queue.undone(entity, now)
            case _:
                raise ValueError(f"internal error: {task} of {entity.root} in {entity.state}")
        return writes

    def _bound(self, write: Bind | Ungate, outcome: WriteOutcome, now: float) -> tuple[Write, ...]:
        ended = self._queue.bind_ended(write, outcome, now)
        return self._landed(*ended, write, now) if ended is not None else ()

    def _landed(self, entity: QueuedEntity, binding: Binding, write: Bind | Ungate, now: float) -> tuple[Write, ...]:
        """All binds of a root have ended."""
        queue, root = self._queue, entity.root
        survey = queue.survey(root)
        writes: tuple[Write, ...] = ()
        if survey is not None and not binding.unconfirmed:
            if (live := queue.store.group(root.kind, root.namespace, root.name)) is not None:
                live.binds_acknowledged |= bool(survey.finished) and survey.finished[0] is live
            writes = self._binder.committed(survey, binding.decision)
            survey = survey.recorded()
        if root.kind == "Pod" and not binding.failed:
            writes = (*writes, *_of_single(write))
        queue.reconsider(root, now, hint=True, status=survey)
        return writes

    def _told(self, write: SetCondition, outcome: WriteOutcome, now: float) -> None:
        if outcome is WriteOutcome.DONE:
            return
        target, condition = write.target, write.condition
        self._assumed.forget_condition(target, condition.type)
        root = self._queue.store.group_cache.root_of((target.kind, target.namespace, target.name))
        commits = condition.status == "True" and condition.type == INITIALLY_SCHEDULED.get(target.kind)
        if root is not None and outcome is not WriteOutcome.GONE and commits:
            self._queue.record_failed(root, now)

    def _nominated(self, write: Nominate, outcome: WriteOutcome) -> None:
        """A nomination that could not be written is none, but what a plan has promised holds as long as the plan."""
        queue = self._queue
        if outcome is not WriteOutcome.DONE and not any(write.pod.key in plan.nominations for plan in queue.entities.plans.values()):
            self._assumed.forget_nomination(write.pod)

    def _evicted(self, write: Evict, outcome: WriteOutcome, now: float) -> tuple[Write, ...]:
        if outcome in {WriteOutcome.DONE, WriteOutcome.GONE}:
            return ()
        queue, victim = self._queue, write.pod
        self._assumed.cancel_deletion(victim)
        writes: list[Write] = []
        for root, plan in [*queue.entities.plans.items()]:
            entity = queue.get(root)
            if entity is None or plan.victims.get(victim.key) != victim:
                continue
            if isinstance(entity.state, Preempting):
                left, more = self._preemption.stays(entity.state, victim)
                queue.victim_stays(entity, left, victim, now)
                writes += more
        return tuple(writes)


def _failure(write: Bind | Ungate, outcome: WriteOutcome, why: str) -> tuple[Write, ...]:
    """The event of a bind that failed."""
    if outcome in {WriteOutcome.DONE, WriteOutcome.GONE, WriteOutcome.DROPPED}:
        return ()
    return (RecordEvent(write.pod, WARNING, "FailedScheduling", f"binding {write.pod.key} to {write.node} failed: {why}"),)


def _of_single(write: Bind | Ungate) -> tuple[Write, ...]:
    """The event of a single pod that was bound; of one that is pinned only, its scheduler tells."""
    if isinstance(write, Ungate):
        return ()
    return (RecordEvent(write.pod, NORMAL, "Scheduled", f"Successfully assigned {write.pod.key} to {write.node}"),)
