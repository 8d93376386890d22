"""What follows from what became of a write, and what is done about a root without deciding on it anew."""

from __future__ import annotations

from scheduler_core.model.conditions import INITIALLY_SCHEDULED
from scheduler_core.sidecar.queue import backoff
from scheduler_core.sidecar.queue.entities import EntityState, Phase
from scheduler_core.sidecar.queue.next_action import Action, NextAction
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.scheduling.apply_decision import DecisionApplier
from scheduler_core.sidecar.scheduling.binding import NORMAL, WARNING
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

    def __init__(self, desk: NextAction, outcomes: DecisionApplier) -> None:
        self._desk, self._outcomes = desk, outcomes

    def of(self, write: Write, outcome: WriteOutcome, why: str, now: float) -> tuple[Write, ...]:
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
                    self._desk.assumed.stay(write.pod)
            case _:
                pass
        return ()

    def chore(self, task: Action, state: EntityState, survey: RootStatus, now: float) -> tuple[Write, ...]:
        """What is written for a *task* that needs no decision."""
        desk = self._desk
        if task is Action.COMMIT:
            return desk.placer.committed(survey, desk.decisions.get(state.root))
        if task is Action.REBIND:
            binds = tuple(state.unsure.values())
            state.unsure = {}
            self._outcomes.launch(state, binds)
            return binds
        state.failures = 0
        # What cannot be deleted is not asked for again at once.
        state.hanging_since = None
        desk.back_off(state, now)
        return desk.placer.undone(
            survey, "what it still needs did not come" if survey.loose else "its pods were not bound where they are pinned to"
        )

    def _bound(self, write: Bind | Ungate, outcome: WriteOutcome, now: float) -> tuple[Write, ...]:
        desk, ref = self._desk, write.pod
        root = desk.flights.get(ref)
        state = desk.turns.states.get(root) if root is not None else None
        if state is not None and state.flying.get(ref, write) != write:
            # It was begun before a restart; of the bind that was begun since nothing is known yet.
            return ()
        desk.flights.pop(ref, None)
        mine = state is not None and state.flying.pop(ref, None) is not None
        if outcome is WriteOutcome.DONE:
            desk.assumed.acknowledge(ref)
        elif outcome is not WriteOutcome.FAILED or state is None or not mine:
            desk.assumed.forget(ref)
        else:
            # It may have been carried out: nobody else gets the room before that is known.
            state.unsure[ref] = write
        if state is None or not mine:
            return ()
        state.broken |= outcome is not WriteOutcome.DONE
        return () if state.flying else self._landed(state, write, now)

    def _landed(self, state: EntityState, write: Bind | Ungate, now: float) -> tuple[Write, ...]:
        """All binds of a root have ended."""
        desk, broken = self._desk, state.broken
        if broken:
            state.failures += 1
            desk.back_off(state, now)
        else:
            state.failures = state.attempts = 0
        state.broken = False
        desk.turns.put(state, Phase.BACKOFF)
        survey = desk.survey(state.root)
        writes: tuple[Write, ...] = ()
        if survey is not None and not state.unsure:
            if (live := desk.store.group(state.root.kind, state.root.namespace, state.root.name)) is not None:
                live.landed |= bool(survey.finished) and survey.finished[0] is live
            writes = desk.placer.committed(survey, state.decision)
        if state.root.kind == "Pod" and not broken:
            writes = (*writes, *_of_single(write))
        desk.look(state.root, now, hint=True)
        return writes

    def _told(self, write: SetCondition, outcome: WriteOutcome, now: float) -> None:
        if outcome is WriteOutcome.DONE:
            return
        desk, target, condition = self._desk, write.target, write.condition
        desk.assumed.unpresume(target, condition.type)
        root = desk.store.book.root_of((target.kind, target.namespace, target.name))
        commits = condition.status == "True" and condition.type == INITIALLY_SCHEDULED.get(target.kind)
        if root is None or outcome is WriteOutcome.GONE or not commits:
            return
        state = desk.turns.states.get(root)
        if state is None:
            desk.look(root, now, hint=False)
            state = desk.turns.states.get(root)
        # The conditions of a tree are written together, and fail together.
        if state is not None and now >= state.commit_after:
            state.commit_failures += 1
            state.commit_after = now + backoff.seconds(state.commit_failures, 1)
        desk.look(root, now, hint=False)

    def _nominated(self, write: Nominate, outcome: WriteOutcome) -> None:
        """A nomination that could not be written is none, but what a plan has promised holds as long as the plan."""
        desk = self._desk
        if outcome is not WriteOutcome.DONE and not any(write.pod.key in plan.nominations for plan in desk.plans.values()):
            desk.assumed.unpromise(write.pod)

    def _evicted(self, write: Evict, outcome: WriteOutcome, now: float) -> tuple[Write, ...]:
        if outcome in {WriteOutcome.DONE, WriteOutcome.GONE}:
            return ()
        desk, ref = self._desk, write.pod
        desk.assumed.stay(ref)
        writes: list[Write] = []
        for root, plan in list(desk.plans.items()):
            state = desk.turns.states.get(root)
            if state is None or plan.victims.get(ref.key) != ref:
                continue
            writes += desk.preempting.stays(plan, ref)
            if not plan.victims:
                # What was to leave besides has left, or stays: what is left is planned anew, in time.
                desk.close(state)
                desk.back_off(state, now)
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
