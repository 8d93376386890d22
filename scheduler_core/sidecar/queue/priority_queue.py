"""The scheduling queue: takes in events of the cluster, the clock and attempts, and says which root is attempted next.

kube-scheduler's is ``PriorityQueue``.  What follows from an event is derived from the root's status, so that one that is missed or
repeated does no harm.
"""

from __future__ import annotations

from typing import Protocol

from scheduler_core.model.decision import Decision
from scheduler_core.model.decision import Name as Root
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue import backoff
from scheduler_core.sidecar.queue.decision_log import DecisionLog
from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity, RefusedEvictions
from scheduler_core.sidecar.queue.next_action import Action, current_waiting, next_action, update_timers
from scheduler_core.sidecar.queue.queueing_hints import QueueingHint, UnschedulableEntities
from scheduler_core.sidecar.queue.root_status import RootStatus, root_status
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.queue.states import (
    Backoff,
    Binding,
    Binds,
    Event,
    Gated,
    Preempting,
    PreemptionPlan,
    PreemptionProposed,
    Unschedulable,
)
from scheduler_core.sidecar.writes import Bind, Ref, Ungate, WriteOutcome


class PlanReservations(Protocol):
    """The capacity that plans of preemption hold."""

    def prune(self, plan: PreemptionPlan) -> PreemptionPlan:
        """Return *plan* without the victims that are gone."""

    def release(self, plan: PreemptionPlan) -> None:
        """The plan does not come about: its victims stay, and no capacity is held for it."""


class SchedulingQueue:
    """The roots of a cluster that are ours, each with what it waits for.  Others report events; no other package changes a state.

    Attributes:
        entities: by state.
        in_flight: entities whose binds were sent and have not ended, by pod; some are gone meanwhile.
        decisions: the last decision on each root.

    """

    def __init__(self, store: Cache, options: SchedulerOptions, assumed: AssumedPods, reservations: PlanReservations) -> None:
        store.usage.set_ungating(ungates=options.ungate, binds=options.scheduler_name if options.place else "")
        self.store, self.options, self.our_pods = store, options, options.our_pods
        self._assumed, self._reservations = assumed, reservations
        self.entities = EntityQueue(UnschedulableEntities(store, options.ignore))
        self.in_flight: dict[Ref, QueuedEntity] = {}
        self.decisions = DecisionLog()

    def status_of(self, root: Root) -> RootStatus | None:
        """Return the current status of *root*."""
        return root_status(self.store, root, self.our_pods)

    def get(self, root: Root) -> QueuedEntity | None:
        """Return the entity of *root*; None if it is not in the queue."""
        return self.entities.by_root.get(root)

    # Events of the cluster and of the clock.

    def handle_changes(self, now: float) -> None:
        """Take in what changed, and whose time has come."""
        changes = self.store.reporter.pop_changes()
        for root in changes.roots:
            self.reconsider(root, now, hint=True)
        for entity in [self.entities.by_root[root] for root in self.entities.plans]:
            if isinstance(entity.state, Preempting) and not self._prune(entity, entity.state).victims:
                self.reconsider(entity.root, now, hint=True)
        for root in self.entities.unschedulable.woken(changes):
            self.reconsider(root, now, hint=True)
        for entity in self.entities.woken(now):
            waiting = entity.waiting
            self.reconsider(entity.root, now, hint=isinstance(waiting, Unschedulable) and waiting.flush_at <= now)

    def reconsider(self, root: Root, now: float, *, hint: bool, status: RootStatus | None = None) -> None:
        """See what is to be done about *root*; *hint*: something changed that could help it; *status*: as it is now, if that is known."""
        known = self.get(root)
        if known is not None and self._is_binding(known):
            return
        status = status or self.status_of(root)
        if status is None or (known is not None and known.uid != status.ref.uid):
            self.forget(root)
        if status is None:
            return
        entity = self.entities.add(status)
        if not isinstance(entity.state, Binding) and not self._is_preempting(entity, now):
            self.route(entity, status, now, hint=hint)

    def route(self, entity: QueuedEntity, status: RootStatus, now: float, *, hint: bool = False) -> None:
        """Put *entity* into activeQ, or where it waits; take it out if nothing is left to do."""
        entities, waiting = self.entities, current_waiting(entity, self.store, hint=hint)
        for at in update_timers(entity, status, self.options, now):
            entities.wake_at(entity, at, now)
        if next_action(entity, waiting, status, self.options, now) is not None:
            entities.activate(entity, waiting, status.order)
        elif isinstance(waiting, Unschedulable):
            entities.move(entity, Event.ADD_UNSCHEDULABLE, waiting)
            entities.wake_at(entity, waiting.flush_at, now)
        elif waiting.unconfirmed or (status.to_place and status.ready and not status.terminating):
            entities.move(entity, Event.BACKOFF, waiting)
            entities.wake_at(entity, entity.backoff_expiration, now)
        elif status.to_place or status.partially_bound or status.awaits_binding or status.to_commit:
            entities.move(entity, Event.GATE, Gated())
        elif entity.commit_failures and now < (until := entity.commit_after + self.options.flush_seconds):
            # Should the record fail again, that it failed before counts.
            entities.move(entity, Event.GATE, Gated())
            entities.wake_at(entity, until, now)
        else:
            entities.delete(entity)

    def forget(self, root: Root) -> None:
        """*root* is not there any more, or not ours."""
        self.decisions.forget(root)
        if (entity := self.get(root)) is None:
            return
        if isinstance(entity.waiting, Backoff):
            for ref in entity.waiting.unconfirmed:
                # Nobody is left to repeat the bind: if it was carried out after all, that will show.
                self._assumed.forget(ref)
        if isinstance(entity.state, PreemptionProposed):
            self._reservations.release(entity.state.plan)
        self.entities.delete(entity)

    # Attempts.

    def next_action(self, entity: QueuedEntity, status: RootStatus, now: float) -> Action | None:
        """Return what is to be done about *entity* now; None: nothing but to wait."""
        return next_action(entity, entity.waiting, status, self.options, now)

    def add_unschedulable(
        self, entity: QueuedEntity, hint: QueueingHint, status: RootStatus | None, now: float, *, awaits_victims: bool = False
    ) -> None:
        """The attempt failed; *hint* says what could help; *status* as in ``look``."""
        entity.back_off(now)
        entity.awaits_victims = awaits_victims
        self.entities.move(entity, Event.ADD_UNSCHEDULABLE, Unschedulable(hint, now + self.options.flush_seconds))
        self.reconsider(entity.root, now, hint=False, status=status)

    def record_undone(self, entity: QueuedEntity, now: float) -> None:
        """Record that the bound pods of *entity* are being deleted."""
        entity.bind_failures = 0
        # What cannot be deleted is not asked for again at once.
        entity.awaits_binding_since = None
        entity.back_off(now)
        self.reconsider(entity.root, now, hint=False)

    def commit_failed(self, root: Root, now: float) -> None:
        """That *root* was placed could not be recorded: it is recorded again later."""
        status = self.status_of(root)
        if self.get(root) is None:
            self.reconsider(root, now, hint=False, status=status)
        # The conditions of a tree are written together, and fail together.
        if (entity := self.get(root)) is not None and now >= entity.commit_after:
            entity.commit_failures += 1
            entity.commit_after = now + backoff.seconds(entity.commit_failures, 1)
        self.reconsider(root, now, hint=False, status=status)

    def should_report(self, entity: QueuedEntity, now: float) -> bool:
        """Return whether pods that know that they are unschedulable are told another reason now, which is seldom."""
        due = now - entity.reported_at >= self.options.report_seconds
        if due:
            entity.reported_at = now
        return due

    # Binds.

    def bind(self, entity: QueuedEntity, binds: Binds, decision: Decision | None) -> None:
        """*binds*, which carry out *decision*, are sent."""
        entity.awaits_victims = False
        self.entities.move(entity, Event.BIND, Binding(binds, decision))
        self.in_flight |= dict.fromkeys(binds, entity)

    def bind_ended(self, write: Bind | Ungate, outcome: WriteOutcome, now: float) -> tuple[QueuedEntity, Binding] | None:
        """Take in how a bind ended; return the entity with all its binds if it was the last of them."""
        entity, pod = self.in_flight.get(write.pod), write.pod
        binding = entity.state if entity is not None and isinstance(entity.state, Binding) else None
        if binding is not None and binding.binds[pod] != write:
            # It was begun before a restart; of the bind that was begun since nothing is known yet.
            return None
        self.in_flight.pop(pod, None)
        if outcome is WriteOutcome.DONE:
            self._assumed.acknowledge(pod)
        elif outcome is not WriteOutcome.FAILED or binding is None:
            # One that may have been carried out keeps its capacity until that is known.
            self._assumed.forget(pod)
        if entity is None or binding is None:
            return None
        binding.outcomes[pod] = outcome
        if len(binding.outcomes) < len(binding.binds):
            return None
        self._binding_done(entity, binding, now)
        return entity, binding

    def _binding_done(self, entity: QueuedEntity, binding: Binding, now: float) -> None:
        if binding.failed:
            entity.bind_failures += 1
            entity.back_off(now)
        else:
            entity.bind_failures = entity.attempts = 0
        self.entities.move(entity, Event.BINDING_DONE, Backoff(binding.unconfirmed, binding.decision))

    # Preemption.

    def propose(self, entity: QueuedEntity, plan: PreemptionPlan, now: float) -> None:
        """The attempt failed; the evictions of *plan* are tried dry."""
        entity.back_off(now)
        entity.awaits_victims = False
        self.entities.move(entity, Event.PROPOSE_PREEMPTION, PreemptionProposed(plan))
        self.entities.wake_at(entity, plan.since + self.options.plan_seconds, now)

    def preempt(self, entity: QueuedEntity, preempting: Preempting) -> None:
        """The evictions of a plan are sent."""
        self.entities.move(entity, Event.PREEMPT, preempting)

    def victim_stays(self, entity: QueuedEntity, preempting: Preempting, victim: Ref, now: float) -> None:
        """The eviction of *victim* failed; *preempting* is what is left of the plan."""
        self.entities.move(entity, Event.VICTIM_GONE, preempting)
        if not preempting.plan.victims:
            # What was to leave besides has left, or stays: what is left is planned anew, in time.
            self.preemption_done(entity)
            entity.back_off(now)
            self.evictions_refused(entity, frozenset({victim}), now)

    def preemption_done(self, entity: QueuedEntity, *, retry_at: float | None = None) -> None:
        """No plan of *entity* goes on; it is tried at *retry_at*, or (None) after its back-off."""
        if retry_at is not None:
            entity.backoff_expiration = retry_at
        self.entities.move(entity, Event.PREEMPTION_DONE, Backoff())

    def evictions_refused(self, entity: QueuedEntity, victims: frozenset[Ref], now: float, status: RootStatus | None = None) -> None:
        """*victims* would not leave for the root: as things stand they are not asked again; *status* as in ``look``.

        The root is tried again after its back-off: what could have helped it while it had a plan did not wake it.
        """
        entity.refusal = RefusedEvictions(victims, self.store.reporter.budgets, now + self.options.flush_seconds)
        self.reconsider(entity.root, now, hint=True, status=status)

    def _is_preempting(self, entity: QueuedEntity, now: float) -> bool:
        """Return whether *entity* still waits for its victims."""
        state = entity.state
        if not isinstance(state, PreemptionProposed | Preempting):
            return False
        end = state.plan.since + self.options.plan_seconds
        if isinstance(state, Preempting):
            if now >= end or not self._prune(entity, state).victims:
                self.preemption_done(entity, retry_at=now)
                return False
        elif now >= end:
            self._reservations.release(state.plan)
            self.preemption_done(entity)
            return False
        self.entities.wake_at(entity, end, now)
        return True

    def _prune(self, entity: QueuedEntity, preempting: Preempting) -> PreemptionPlan:
        """Leave out the victims that are gone."""
        plan = self._reservations.prune(preempting.plan)
        if plan != preempting.plan:
            self.entities.move(entity, Event.VICTIM_GONE, Preempting(plan, preempting.disrupted))
        return plan

    # Facts.

    def _is_binding(self, entity: QueuedEntity) -> bool:
        """Return whether binds are under way and the root of the tree is the same.

        Each bind shows in an event, and to survey a tree takes as long as it is large: the last of them is waited for.
        """
        if not isinstance(entity.state, Binding):
            return False
        root = entity.root
        live = self.store.group(root.kind, root.namespace, root.name)
        return live is not None and live.uid == entity.uid and self.store.group_cache.root_of(live.key) == root
