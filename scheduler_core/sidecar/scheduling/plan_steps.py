"""Steps of proposed preemption plans, one plan after the other: second proof, nominations, evictions."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name as Root
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.states import PreemptionPlan, PreemptionProposed
from scheduler_core.sidecar.scheduling.apply_decision import DecisionApplier
from scheduler_core.sidecar.scheduling.decide import decide
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.writes import Write

MAX_IMMEDIATE_RETRIES = 3
"""Number of attempts up to which a root is retried at once after its plan became outdated; later it waits for its backoff."""


class PlanSteps:
    """Next steps of the plans of *queue*."""

    def __init__(
        self, cache: Cache, queue: SchedulingQueue, preemption: PreemptionPlans, applier: DecisionApplier, options: CycleOptions
    ) -> None:
        self._cache, self._queue, self._preemption, self._applier, self._options = cache, queue, preemption, applier, options

    def writes(self, now: float) -> tuple[Write, ...]:
        """Return the next writes of all plans that can go on."""
        return tuple(write for _, writes in self.next_writes(now) for write in writes)

    def next_writes(self, now: float) -> Iterator[tuple[Root, tuple[Write, ...]]]:
        """Yield the next writes of plans that can go on, each with its root."""
        while (step := self._next_step()) is not None:
            yield step[0].root, self._next_writes(*step, now)

    def _next_step(self) -> tuple[QueuedEntity, PreemptionProposed] | None:
        """Return the next plan whose nominations, or for the first plan evictions, can be sent; None while all wait for results."""
        for number, (entity, proposed) in enumerate(self._queue.proposals.all()):
            if not proposed.passed:
                break
            if proposed.unwritten is None and number and not self._preemption.is_proved(proposed.plan):
                break
            if proposed.unwritten is None or not (number or proposed.unwritten):
                return entity, proposed
        return None

    def _next_writes(self, entity: QueuedEntity, proposed: PreemptionProposed, now: float) -> tuple[Write, ...]:
        """Return the nominations of a plan, or its evictions once these are written; if the plan is outdated, it is dropped."""
        queue, preemption = self._queue, self._preemption
        plan, dropped = self._renewed(entity, proposed, now)
        if plan is None:
            return dropped
        if proposed.unwritten is None:
            nominations = preemption.nominate(plan.nominations)
            queue.proposals.nominate(entity, plan, {write.pod: write.node for write in nominations})
            return (*dropped, *nominations)
        preempting, writes = preemption.begin(plan, proposed.plan.nominations)
        if entity.refusal is not None and (current := queue.status_of(entity.root)) is not None:
            writes = (*self._applier.report(entity, current, now), *writes)
        queue.preempt(entity, preempting)
        return (*dropped, *writes)

    def _renewed(self, entity: QueuedEntity, proposed: PreemptionProposed, now: float) -> tuple[PreemptionPlan | None, tuple[Write, ...]]:
        """Return the plan of *entity*, proved again if anything has changed, or None if it is dropped; and the writes for dropped plans."""
        queue, preemption = self._queue, self._preemption
        if preemption.is_proved(proposed.plan):
            return proposed.plan, ()
        writes: tuple[Write, ...] = ()
        for other, later in queue.proposals.all():
            if other is not entity:
                queue.drop_plan(other, later, now, retry_at=_retry_at(other, now))
                writes = (*writes, *preemption.take_back(later))
        preemption.release(proposed.plan)
        status = queue.status_of(entity.root)
        decision = self._decide_again(status) if status is not None else None
        plan = preemption.renew(proposed.plan, decision) if decision is not None else None
        if plan is None:
            queue.preemption_done(entity, retry_at=_retry_at(entity, now))
            queue.reconsider(entity.root, now, hint=True, status=status)
            writes = (*writes, *preemption.take_back(proposed))
        return plan, writes

    def _decide_again(self, status: RootStatus) -> Decision | None:
        """Return the current decision on a root; None if the root can be placed without victims, or must not preempt."""
        if not status.to_place or not status.ready:
            return None
        (decided,) = decide(self._cache, [status.root], self._options, status.excluded, awaits=self._queue.awaits_victims)
        decision = decided.decision
        return decision if decision.status is not Status.SUCCESS and self._preemption.blocked(decision) is None else None


def _retry_at(entity: QueuedEntity, now: float) -> float | None:
    """Return when *entity* is attempted again after its plan is outdated; None: after its backoff."""
    return now if entity.attempts < MAX_IMMEDIATE_RETRIES else None
