"""What follows from a decision on a root: the writes, and what the root waits for then."""

from __future__ import annotations

import dataclasses

from scheduler_core.cycle.effects import failure_clears_nominations
from scheduler_core.model.decision import Decision, Status
from scheduler_core.sidecar.client.requests import HOSTNAME
from scheduler_core.sidecar.queue.entities import Attempt, EntityState, Phase, PreemptionPlan, RefusedEvictions
from scheduler_core.sidecar.queue.next_action import RootQueue
from scheduler_core.sidecar.queue.queueing_hints import NOTHING, QueueingHint
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.scheduling.binding import Binder
from scheduler_core.sidecar.scheduling.decide import Decided
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.writes import Bind, Ref, Ungate, Write

_UNPLACED = frozenset({Status.UNSCHEDULABLE, Status.UNRESOLVABLE})


class DecisionApplier:
    """Turns decisions into attempts."""

    def __init__(self, queue: RootQueue, binder: Binder, preemption: PreemptionPlans) -> None:
        self._queue, self._binder, self._preemption = queue, binder, preemption

    def apply_decision(self, state: EntityState, survey: RootStatus, decided: Decided, now: float) -> Attempt:
        """What comes of *decided*, which was decided on *survey*."""
        queue, decision = self._queue, decided.decision
        if decision.status is Status.SUCCESS and (node := self._binder.unpinnable(decision, survey)):
            why = f"node {node} has no label {HOSTNAME}, by which a pod is pinned to it"
            decision = dataclasses.replace(decision, status=Status.ERROR, message=why, assignments={})
        # Of others nobody asks but those who are told of it, for whom not all are remembered.
        state.decision = decision if decision.status is Status.SUCCESS else None
        queue.decisions.record(decision)
        return (self._placed if decision.status is Status.SUCCESS else self._failed)(state, survey, decided, decision, now)

    def launch(self, state: EntityState, binds: tuple[Bind | Ungate, ...]) -> None:
        """*binds* are under way."""
        state.flying = {write.pod: write for write in binds}
        for ref in state.flying:
            self._queue.flights[ref] = state.root
        state.broken = False
        self._queue.turns.set_phase(state, Phase.FLYING)

    def refused(self, state: EntityState, victims: frozenset[Ref], now: float) -> None:
        """*victims* would not leave for the root: as things stand they are not asked again.

        The root is tried again after its back-off: what could have helped it while it had a plan did not wake it.
        """
        queue = self._queue
        state.refusal = RefusedEvictions(victims, queue.store.report.budgets, now + queue.options.flush_seconds)
        queue.reconsider(state.root, now, hint=True)

    def _placed(self, state: EntityState, survey: RootStatus, decided: Decided, decision: Decision, now: float) -> Attempt:
        queue = self._queue
        state.awaits = False
        binds = self._binder.binds(decision, survey)
        told = self._told(state, survey, decision, now)
        if binds:
            self.launch(state, binds)
        else:
            queue.back_off(state, now)
            self._park(state, survey, decided, now)
        return Attempt(state.root, decision, (*binds, *told))

    def _failed(self, state: EntityState, survey: RootStatus, decided: Decided, decision: Decision, now: float) -> Attempt:
        queue = self._queue
        queue.back_off(state, now)
        state.awaits = bool(decision.nominations) and not decision.victims
        writes = self._told(state, survey, decision, now)
        plan = self._plan(state, decision, now)
        if plan is not None:
            state.plan = queue.plans[state.root] = plan
            queue.turns.set_phase(state, Phase.PREEMPTING)
            queue.turns.wake_at(state, plan.since + queue.options.plan_seconds, now)
            return Attempt(state.root, decision, writes, self._preemption.evictions(plan))
        preempts = any(pod.record is not None and pod.record.preempts for pod in survey.to_place)
        if queue.options.preempt and failure_clears_nominations(state.root, preempts=preempts):
            writes = (*writes, *self._binder.nominations(decision, survey))
        if survey.loose and not state.awaits and decision.status in _UNPLACED:
            writes = (*writes, *self._binder.undone(survey, decision.message))
        self._park(state, survey, decided, now)
        return Attempt(state.root, decision, writes)

    def _plan(self, state: EntityState, decision: Decision, now: float) -> PreemptionPlan | None:
        """The plan that *decision* has, unless it would be refused as the last one was."""
        queue, refusal = self._queue, state.refusal
        if not queue.options.preempt or decision.status not in _UNPLACED:
            return None
        if refusal is not None and refusal.budgets == queue.store.report.budgets and now < refusal.until:
            if self._preemption.victims(decision) & refusal.victims:
                return None
        return self._preemption.plan(decision, now)

    def _told(self, state: EntityState, survey: RootStatus, decision: Decision, now: float) -> tuple[Write, ...]:
        afresh = now - state.told_at >= self._queue.options.retell_seconds
        if afresh:
            state.told_at = now
        return self._binder.report_failure(decision, survey, afresh=afresh)

    def _park(self, state: EntityState, survey: RootStatus, decided: Decided, now: float) -> None:
        queue = self._queue
        state.flush_at = now + queue.options.flush_seconds
        queue.parked.park(state.root, self._interest(survey, decided))
        queue.reconsider(state.root, now, hint=False)

    def _interest(self, survey: RootStatus, decided: Decided) -> QueueingHint:
        status, standing = decided.decision.status, self._queue.store.standing
        if status in {Status.WAIT, Status.INVALID}:
            return NOTHING
        return QueueingHint(
            forms=frozenset(pod.draft.form for pod in survey.to_place),
            hosts=frozenset(standing.place_of(pod) for pod in survey.placed),
            related=decided.related,
            preempts=self._queue.options.preempt and decided.preempts,
        )
