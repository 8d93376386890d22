"""Turns a scheduling decision into API writes and the entity's next state."""

from __future__ import annotations

import dataclasses

from scheduler_core.causes.live import DeviatingPod, NodeWithoutHostname
from scheduler_core.cycle.effects import failure_clears_nominations
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name as Root
from scheduler_core.model.status import Status
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.queueing_hints import NO_HINT, QueueingHint
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.scheduling.binding import Binder
from scheduler_core.sidecar.scheduling.decide import Decided
from scheduler_core.sidecar.scheduling.eviction_budgets import BlockedPreemption
from scheduler_core.sidecar.scheduling.pre_binding import PreBinder
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.writes import Evict, Write
from scheduler_core.wording import decision_words

_UNPLACED = frozenset({Status.UNSCHEDULABLE, Status.UNRESOLVABLE})


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """Result of one scheduling attempt.

    Attributes:
        root: the root group, or a single pod; or a claim or PodGroup whose pods or itself no longer exist.
        decision: None if no decision was needed: binds are repeated, or a gang is recorded as scheduled or undone.
        writes: writes to submit, in this order.
        plan: evictions for a dry run; then call ``approve`` or ``eviction_refused``.
        deviating: pods of the root that their schedulers have not bound as planned, each once.

    """

    root: Root
    decision: Decision | None
    writes: tuple[Write, ...]
    plan: tuple[Evict, ...] = ()
    deviating: tuple[DeviatingPod, ...] = ()


class DecisionApplier:
    """Turns decisions into attempts, and reports the results to the queue."""

    def __init__(self, queue: SchedulingQueue, binder: Binder, pre_binder: PreBinder, preemption: PreemptionPlans) -> None:
        self._queue, self._binder, self._pre_binder, self._preemption = queue, binder, pre_binder, preemption

    def apply_decision(self, entity: QueuedEntity, status: RootStatus, decided: Decided, now: float) -> Attempt:
        """Apply *decided*, a decision for *status*, and return the attempt."""
        decision = decided.decision
        if decision.status is Status.SUCCESS and (node := self._binder.unpinnable(decision, status)):
            decision = dataclasses.replace(decision, status=Status.ERROR, causes=(NodeWithoutHostname(node),), assignments={})
        elif decision.status is Status.SUCCESS and (refusal := self._pre_binder.refusal(decision, status.to_place)) is not None:
            decision = dataclasses.replace(decision, status=Status.ERROR, causes=(refusal,), assignments={}, devices={})
        blocked = self._blocked(entity, decision, now)
        if blocked is not None:
            decision = blocked.added_to(decision, self._queue.options.flush_seconds)
        self._queue.decisions.record(decision)
        if decision.status is Status.SUCCESS:
            return self._placed(entity, status, decided, decision, now)
        return self._failed(entity, status, decided, decision, now, blocked=blocked is not None)

    def report(self, entity: QueuedEntity, status: RootStatus, now: float) -> tuple[Write, ...]:
        """Return the conditions and events that report the last decision on *entity*."""
        decision = self._queue.decisions.get(entity.root)
        return self._report_failure(entity, status, decision, now) if decision is not None else ()

    def report_refusal(self, entity: QueuedEntity, status: RootStatus, now: float) -> tuple[Write, ...]:
        """Return the conditions and events that report that the evictions for *entity* were refused."""
        decision, refusal = self._queue.decisions.get(entity.root), entity.refusal
        if decision is not None and refusal is not None:
            blocked = self._preemption.blocked(decision) or BlockedPreemption(refusal.cause)
            self._queue.decisions.record(blocked.added_to(decision, self._queue.options.flush_seconds))
        return self.report(entity, status, now)

    def _placed(self, entity: QueuedEntity, status: RootStatus, decided: Decided, decision: Decision, now: float) -> Attempt:
        queue = self._queue
        binds = self._binder.binds(decision, status)
        reports = self._report_failure(entity, status, decision, now)
        if not binds:
            queue.add_unschedulable(entity, self._hint(status, decided), status, now)
            return Attempt(entity.root, decision, reports)
        by_pod = {write.pod: write for write in binds}
        if (pre_binding := self._pre_binder.start(decision, by_pod, now)) is not None:
            queue.pre_binds.start(entity, pre_binding, now)
            return Attempt(entity.root, decision, (*pre_binding.writes.values(), *self._binder.nominate(binds), *reports))
        self._preemption.follow(binds)
        queue.binds.start(entity, by_pod, decision)
        return Attempt(entity.root, decision, (*binds, *reports))

    def _failed(
        self, entity: QueuedEntity, status: RootStatus, decided: Decided, decision: Decision, now: float, *, blocked: bool
    ) -> Attempt:
        queue = self._queue
        awaits_victims = bool(decision.nominations) and not decision.victims
        may_preempt = queue.options.preempt and decision.status in _UNPLACED and not blocked
        if may_preempt and (plan := self._preemption.plan(decision, now)) is not None:
            # After a refusal, the root keeps the message about it until this dry run has passed.
            writes = () if entity.refusal is not None else self._report_failure(entity, status, decision, now)
            queue.propose(entity, plan, now)
            return Attempt(entity.root, decision, writes, self._preemption.evictions(plan))
        writes = self._report_failure(entity, status, decision, now)
        preempts = any(pod.record is not None and pod.record.preempts for pod in status.to_place)
        if queue.options.preempt and failure_clears_nominations(entity.root, preempts=preempts):
            writes = (*writes, *self._binder.nominations(decision, status))
        if may_preempt and awaits_victims:
            writes = (*writes, *self._preemption.hold(decision))
        if decision.status in _UNPLACED or (decision.status is Status.WAIT and not status.placed):
            writes = (*writes, *self._pre_binder.left_over(status.to_place))
        current: RootStatus | None = status
        if decision.status in _UNPLACED and not awaits_victims and queue.our_pods.can_undo(status.partially_bound):
            writes = (*writes, *self._binder.undo(status, decision_words.message(decision)))
            queue.undone(status, now)
            current = queue.status_of(entity.root)
        queue.add_unschedulable(entity, self._hint(status, decided), current, now, awaits_victims=awaits_victims)
        return Attempt(entity.root, decision, writes)

    def _blocked(self, entity: QueuedEntity, decision: Decision, now: float) -> BlockedPreemption | None:
        """Return why the victims of *decision* cannot be evicted now; None if they can, or if there are none."""
        queue, refusal = self._queue, entity.refusal
        if not queue.options.preempt or decision.status not in _UNPLACED or not decision.victims:
            return None
        if (blocked := self._preemption.blocked(decision)) is not None:
            return blocked
        if refusal is None or refusal.budgets != queue.cache.reporter.budgets or now >= refusal.until:
            return None
        return BlockedPreemption(refusal.cause) if refusal.victim in self._preemption.victims(decision) else None

    def _report_failure(self, entity: QueuedEntity, status: RootStatus, decision: Decision, now: float) -> tuple[Write, ...]:
        if decision.status is Status.WAIT:
            return self._binder.report_waiting(decision, status)
        return self._binder.report_failure(decision, status, update_message=self._queue.should_report(entity, now))

    def _hint(self, status: RootStatus, decided: Decided) -> QueueingHint:
        outcome, usage = decided.decision.status, self._queue.cache.usage
        if outcome in {Status.WAIT, Status.INVALID}:
            return NO_HINT
        return QueueingHint(
            forms=frozenset(pod.parsed_pod.form for pod in status.to_place),
            hosts=frozenset(usage.node_of(pod) for pod in status.placed),
            events=decided.events,
            preempts=self._queue.options.preempt and decided.preempts,
        )
