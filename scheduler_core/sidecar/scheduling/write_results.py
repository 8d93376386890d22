"""What follows from what became of a write, and what is done about a root without deciding on it anew."""

from __future__ import annotations

from scheduler_core.model.conditions import INITIALLY_SCHEDULED
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.queue import backoff
from scheduler_core.sidecar.queue.entities import EntityState, Phase
from scheduler_core.sidecar.queue.next_action import Action, RootQueue
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.scheduling.apply_decision import DecisionApplier
from scheduler_core.sidecar.scheduling.binding import NORMAL, WARNING, Binder
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.writes import (
    Bind,
    Evict,
    Nominate,
    Remove,
    SetCondition,
    Tell,
    Ungate,
    Write,
    WriteOutcome,
)


class WriteResults:
    """Hears of the ends of writes."""

    def __init__(
        self, queue: RootQueue, binder: Binder, preemption: PreemptionPlans, assumed: AssumedPods, outcomes: DecisionApplier
    ) -> None:
        self._queue, self._binder, self._preemption, self._assumed = queue, binder, preemption, assumed
        self._outcomes = outcomes

    def handle_result(self, write: Write, outcome: WriteOutcome, why: str, now: float) -> tuple[Write, ...]:
        """What is to be written next."""
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

    def chore(self, task: Action, state: EntityState, survey: RootStatus, now: float) -> tuple[Write, ...]:
        """What is written for a *task* that needs no decision."""
        queue = self._queue
        if task is Action.COMMIT:
            return self._binder.committed(survey, queue.decisions.get(state.root))
        if task is Action.REBIND:
            binds = tuple(state.unsure.values())
            state.unsure = {}
            self._outcomes.launch(state, binds)
            return binds
        state.failures = 0
        # What cannot be deleted is not asked for again at once.
        state.hanging_since = None
        queue.back_off(state, now)
        return self._binder.undone(
            survey, "what it still needs did not come" if survey.loose else "its pods were not bound where they are pinned to"
        )

    def _bound(self, write: Bind | Ungate, outcome: WriteOutcome, now: float) -> tuple[Write, ...]:
        queue, ref = self._queue, write.pod
        root = queue.flights.get(ref)
        state = queue.turns.states.get(root) if root is not None else None
        if state is not None and state.flying.get(ref, write) != write:
            # It was begun before a restart; of the bind that was begun since nothing is known yet.
            return ()
        queue.flights.pop(ref, None)
        mine = state is not None and state.flying.pop(ref, None) is not None
        if outcome is WriteOutcome.DONE:
            self._assumed.acknowledge(ref)
        elif outcome is not WriteOutcome.FAILED or state is None or not mine:
            self._assumed.forget(ref)
        else:
            # It may have been carried out: nobody else gets the room before that is known.
            state.unsure[ref] = write
        if state is None or not mine:
            return ()
        state.broken |= outcome is not WriteOutcome.DONE
        return () if state.flying else self._landed(state, write, now)

    def _landed(self, state: EntityState, write: Bind | Ungate, now: float) -> tuple[Write, ...]:
        """All binds of a root have ended."""
        queue, broken = self._queue, state.broken
        if broken:
            state.failures += 1
            queue.back_off(state, now)
        else:
            state.failures = state.attempts = 0
        state.broken = False
        queue.turns.set_phase(state, Phase.BACKOFF)
        survey = queue.survey(state.root)
        writes: tuple[Write, ...] = ()
        if survey is not None and not state.unsure:
            if (live := queue.store.group(state.root.kind, state.root.namespace, state.root.name)) is not None:
                live.landed |= bool(survey.finished) and survey.finished[0] is live
            writes = self._binder.committed(survey, state.decision)
        if state.root.kind == "Pod" and not broken:
            writes = (*writes, *_of_single(write))
        queue.reconsider(state.root, now, hint=True)
        return writes

    def _told(self, write: SetCondition, outcome: WriteOutcome, now: float) -> None:
        if outcome is WriteOutcome.DONE:
            return
        queue, target, condition = self._queue, write.target, write.condition
        self._assumed.unpresume(target, condition.type)
        root = queue.store.book.root_of((target.kind, target.namespace, target.name))
        commits = condition.status == "True" and condition.type == INITIALLY_SCHEDULED.get(target.kind)
        if root is None or outcome is WriteOutcome.GONE or not commits:
            return
        state = queue.turns.states.get(root)
        if state is None:
            queue.reconsider(root, now, hint=False)
            state = queue.turns.states.get(root)
        # The conditions of a tree are written together, and fail together.
        if state is not None and now >= state.commit_after:
            state.commit_failures += 1
            state.commit_after = now + backoff.seconds(state.commit_failures, 1)
        queue.reconsider(root, now, hint=False)

    def _nominated(self, write: Nominate, outcome: WriteOutcome) -> None:
        """A nomination that could not be written is none, but what a plan has promised holds as long as the plan."""
        queue = self._queue
        if outcome is not WriteOutcome.DONE and not any(write.pod.key in plan.nominations for plan in queue.plans.values()):
            self._assumed.unpromise(write.pod)

    def _evicted(self, write: Evict, outcome: WriteOutcome, now: float) -> tuple[Write, ...]:
        if outcome in {WriteOutcome.DONE, WriteOutcome.GONE}:
            return ()
        queue, ref = self._queue, write.pod
        self._assumed.cancel_deletion(ref)
        writes: list[Write] = []
        for root, plan in list(queue.plans.items()):
            state = queue.turns.states.get(root)
            if state is None or plan.victims.get(ref.key) != ref:
                continue
            writes += self._preemption.stays(plan, ref)
            if not plan.victims:
                # What was to leave besides has left, or stays: what is left is planned anew, in time.
                queue.close(state)
                queue.back_off(state, now)
                self._outcomes.refused(state, frozenset({ref}), now)
        return tuple(writes)


def _failure(write: Bind | Ungate, outcome: WriteOutcome, why: str) -> tuple[Write, ...]:
    """The event of a bind that failed."""
    if outcome in {WriteOutcome.DONE, WriteOutcome.GONE, WriteOutcome.DROPPED}:
        return ()
    return (Tell(write.pod, WARNING, "FailedScheduling", f"binding {write.pod.key} to {write.node} failed: {why}"),)


def _of_single(write: Bind | Ungate) -> tuple[Write, ...]:
    """The event of a single pod that was bound; of one that is pinned only, its scheduler tells."""
    if isinstance(write, Ungate):
        return ()
    return (Tell(write.pod, NORMAL, "Scheduled", f"Successfully assigned {write.pod.key} to {write.node}"),)
