"""Scheduling queue: changes the state of entities after cluster events, timers and attempts, and orders the attempts.

It corresponds to kube-scheduler's ``PriorityQueue``.  Each transition is derived from the current status of the root, so missed or
repeated events do no harm.
"""

from __future__ import annotations

from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name as Root
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue import backoff
from scheduler_core.sidecar.queue.binds_in_flight import BindsInFlight
from scheduler_core.sidecar.queue.decision_log import DecisionLog
from scheduler_core.sidecar.queue.deviations import DeviationLog
from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity, RefusedEviction
from scheduler_core.sidecar.queue.next_action import (
    Action,
    current_waiting,
    is_held_back,
    is_over,
    is_unplaced,
    next_action,
    update_timers,
)
from scheduler_core.sidecar.queue.pre_binds import PreBindsInFlight
from scheduler_core.sidecar.queue.preemption_proposals import PlanReservations, PreemptionProposals
from scheduler_core.sidecar.queue.queueing_hints import QueueingHint, UnschedulableEntities
from scheduler_core.sidecar.queue.root_status import RootStatus, root_status
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.queue.states import (
    Backoff,
    Binding,
    Event,
    Gated,
    PreBinding,
    Preempting,
    PreemptionPlan,
    PreemptionProposed,
    Unschedulable,
)
from scheduler_core.sidecar.writes import Ref


class SchedulingQueue:
    """Scheduling queue of our roots.  Other packages report events; only this package changes states.

    Attributes:
        entities: entities by state.
        binds: binds in flight.
        pre_binds: volumes that are being bound before the binds of their pods.
        proposals: preemption plans whose evictions are not sent yet.
        decisions: the last decision on each root.
        deviations: pods that their schedulers have not bound as planned.

    """

    def __init__(self, cache: Cache, options: SchedulerOptions, assumed: AssumedPods, reservations: PlanReservations) -> None:
        binds = options.scheduler_name if options.place else ""
        cache.usage.set_options(ungates=options.ungate, binds=binds, profile=options.profile)
        self.cache, self.options, self.our_pods = cache, options, options.our_pods
        self._assumed, self._reservations = assumed, reservations
        self.entities = EntityQueue(UnschedulableEntities(cache, options.ignore))
        self.binds = BindsInFlight(self.entities, assumed, options.retry_seconds)
        self.pre_binds = PreBindsInFlight(self.entities)
        self.proposals = PreemptionProposals(self.entities)
        self.decisions = DecisionLog()
        self.deviations = DeviationLog(cache)

    def status_of(self, root: Root) -> RootStatus | None:
        """Return the current status of *root*."""
        return root_status(self.cache, root, self.our_pods, queued=root in self.entities.by_root)

    def get(self, root: Root) -> QueuedEntity | None:
        """Return the entity of *root*; None if it is not in the queue."""
        return self.entities.by_root.get(root)

    # Events of the cluster and of the clock.

    def handle_changes(self, now: float) -> None:
        """Process cluster changes and expired timers."""
        changes = self.cache.reporter.pop_changes()
        self.pre_binds.abandoned(changes.selected, changes.missing_groups)
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
        """Update the state of *root*; *hint*: a change could help it; *status*: its current status, if already known."""
        known = self.get(root)
        if known is not None:
            self.pre_binds.changed(known)
            if self._is_binding(known):
                return
        if hint:
            # The status shows all changes until now.
            self.cache.reporter.changes.roots.discard(root)
        status = status or self.status_of(root)
        if status is None or (known is not None and (known.uid != status.ref.uid or (status.emptied and root in self.entities.plans))):
            self.forget(root)
        if status is None or (status.emptied and self.get(root) is None):
            return
        entity = self.entities.add(status)
        if not isinstance(entity.state, PreBinding | Binding) and not self._is_preempting(entity, now):
            self.route(entity, status, now, hint=hint)

    def route(self, entity: QueuedEntity, status: RootStatus, now: float, *, hint: bool = False) -> None:
        """Move *entity* to activeQ or to its waiting state; delete it if nothing is left to do."""
        entities, options, waiting = self.entities, self.options, current_waiting(entity, self.cache, hint=hint)
        late = status.awaits_binding and is_over(entity.awaits_binding_since, options.pinned_seconds, options, now)
        incomplete = is_over(entity.partial_since, options.partial_seconds, options, now)
        deviates = self.deviations.update(status, late=late, incomplete=incomplete)
        entity.backoff_expiration = max(entity.backoff_expiration, self.deviations.retry_at(status))
        for at in update_timers(entity, waiting, status, options, now, hint=hint or deviates):
            entities.wake_at(entity, at, now)
        if (action := next_action(entity, waiting, status, options, now)) is not None:
            entities.activate(entity, waiting, status.order, last=action is Action.REPORT and not status.partially_bound)
        elif isinstance(waiting, Unschedulable):
            entities.move(entity, Event.ADD_UNSCHEDULABLE, waiting)
            entities.wake_at(entity, waiting.flush_at, now)
        elif waiting.unconfirmed or (status.to_place and status.ready and not status.terminating):
            entities.move(entity, Event.BACKOFF, waiting)
            entities.wake_at(entity, entity.backoff_expiration, now)
        elif is_unplaced(status) or status.to_commit or (status.emptied and entity.report_at is not None):
            entities.move(entity, Event.GATE, Gated(QueueingHint(kinds=status.unlisted)))
        elif entity.commit_failures and now < (until := entity.commit_after + options.flush_seconds):
            # If recording fails again, the earlier failures count for the backoff.
            entities.move(entity, Event.GATE, Gated())
            entities.wake_at(entity, until, now)
        else:
            entities.delete(entity)

    def forget(self, root: Root) -> None:
        """Remove *root*, which no longer exists or is not ours."""
        self.decisions.forget(root)
        self.deviations.forget(root)
        if (entity := self.get(root)) is None:
            return
        if isinstance(entity.waiting, Backoff):
            for ref in entity.waiting.unconfirmed:
                # The bind is no longer repeated; if it was carried out, a watch event will show it.
                self._assumed.forget(ref)
        if isinstance(entity.state, PreBinding):
            for ref in entity.state.binds:
                self._assumed.forget(ref)
        if isinstance(entity.state, PreemptionProposed):
            self._reservations.release(entity.state.plan)
        self.entities.delete(entity)

    # Attempts.

    def next_action(self, entity: QueuedEntity, status: RootStatus, now: float) -> Action | None:
        """Return the next action for *entity*; None: it must wait."""
        return next_action(entity, entity.waiting, status, self.options, now)

    def add_unschedulable(
        self, entity: QueuedEntity, hint: QueueingHint, status: RootStatus | None, now: float, *, awaits_victims: bool = False
    ) -> None:
        """Record a failed attempt; *hint* has the changes that could help; *status* as in ``reconsider``."""
        entity.back_off(now)
        entity.awaits_victims, entity.binding = awaits_victims, None
        self.entities.move(entity, Event.ADD_UNSCHEDULABLE, Unschedulable(hint, now + self.options.flush_seconds))
        self.reconsider(entity.root, now, hint=False, status=status)

    def record_undone(self, entity: QueuedEntity, status: RootStatus, decision: Decision, now: float) -> None:
        """Record that the bound pods of *entity* are being deleted; *decision* says why."""
        self.decisions.record(decision)
        self.undone(status, now)
        entity.bind_failures = 0
        # A pod that cannot be deleted must not cause another deletion at once.
        entity.awaits_binding_since = None
        entity.back_off(now)
        self.reconsider(entity.root, now, hint=False)

    def undone(self, status: RootStatus, now: float) -> None:
        """Record that a gang is undone; one with pinned pods is attempted only after a backoff that grows each time."""
        if status.pinned:
            self.deviations.record_undone(status, now)

    def commit_failed(self, root: Root, now: float) -> None:
        """Record that the scheduled condition of *root* could not be written; it is retried after a backoff."""
        status = self.status_of(root)
        if self.get(root) is None:
            self.reconsider(root, now, hint=False, status=status)
        # The conditions of a tree are written together, and fail together.
        if (entity := self.get(root)) is not None and now >= entity.commit_after:
            entity.commit_failures += 1
            entity.commit_after = now + backoff.seconds(entity.commit_failures, 1)
        self.reconsider(root, now, hint=False, status=status)

    def waiting_reported(self, entity: QueuedEntity, status: RootStatus, writes: int, now: float) -> None:
        """Record that *entity* has reported what it waits for, in so many *writes*; *status* as in ``reconsider``."""
        entity.report_at, entity.waiting_reported, entity.waiting_reported_at, entity.waiting_writes = None, True, now, writes
        self.reconsider(entity.root, now, hint=False, status=status)

    def waiting_report_failed(self, root: Root, now: float) -> None:
        """Record that the report of what *root* waits for could not be written; it is repeated."""
        if (entity := self.get(root)) is not None and entity.waiting_reported:
            entity.waiting_reported = False
            self.reconsider(root, now, hint=False)

    def is_held_back(self, entity: QueuedEntity, status: RootStatus) -> bool:
        """Return whether *entity* can be attempted only after its members, parents or gates have changed."""
        return not isinstance(entity.state, PreBinding | Binding) and is_held_back(entity.waiting, status)

    def should_report(self, entity: QueuedEntity, now: float) -> bool:
        """Return whether unschedulable pods get an updated message now, which is rate-limited."""
        due = now - entity.reported_at >= self.options.report_seconds
        if due:
            entity.reported_at = now
        return due

    def pre_binding_failed(self, entity: QueuedEntity, now: float) -> None:
        """Record that a volume could not be bound; the pods of *entity* are no longer assumed on nodes."""
        if not isinstance(entity.state, PreBinding):
            return
        for ref in entity.state.binds:
            self._assumed.forget(ref)
        entity.bind_failures += 1
        entity.back_off(now)
        self.entities.move(entity, Event.PRE_BINDING_FAILED, Backoff())
        self.reconsider(entity.root, now, hint=True)

    # Preemption.

    def propose(self, entity: QueuedEntity, plan: PreemptionPlan, now: float) -> None:
        """Record a failed attempt with a preemption plan, whose evictions are sent as a dry run."""
        entity.back_off(now)
        entity.awaits_victims, entity.binding = False, None
        self.entities.move(entity, Event.PROPOSE_PREEMPTION, PreemptionProposed(plan))
        self.entities.wake_at(entity, plan.since + self.options.plan_seconds, now)

    def awaits_victims(self, root: Root) -> bool:
        """Return whether *root* waits for its victims, or is attempted after them."""
        return (entity := self.get(root)) is not None and entity.can_follow_victims

    def drop_plan(self, entity: QueuedEntity, proposed: PreemptionProposed, now: float, *, retry_at: float | None = None) -> None:
        """Drop the plan of *entity*, of which no eviction is sent; *retry_at* as in ``preemption_done``."""
        self._reservations.release(proposed.plan)
        self.preemption_done(entity, retry_at=retry_at)
        self.reconsider(entity.root, now, hint=True)

    def preempt(self, entity: QueuedEntity, preempting: Preempting) -> None:
        """Record that the evictions of a plan are sent."""
        self.entities.move(entity, Event.PREEMPT, preempting)

    def victim_stays(self, entity: QueuedEntity, preempting: Preempting, victim: Ref, why: str, now: float) -> None:
        """Record that the eviction of *victim* failed, and *why*; *preempting* is the rest of the plan."""
        self.entities.move(entity, Event.VICTIM_GONE, preempting)
        if not preempting.plan.victims:
            # No eviction of this plan is in flight any more; the next attempt can make a new plan after the backoff.
            self.preemption_done(entity)
            entity.back_off(now)
            self.eviction_refused(entity, victim, why, now)

    def preemption_done(self, entity: QueuedEntity, *, retry_at: float | None = None) -> None:
        """End the plan of *entity*, which is retried at *retry_at*, or (None) after its backoff."""
        if retry_at is not None:
            entity.backoff_expiration = retry_at
        self.entities.move(entity, Event.PREEMPTION_DONE, Backoff())

    def eviction_refused(self, entity: QueuedEntity, victim: Ref, why: str, now: float, status: RootStatus | None = None) -> None:
        """Record that *victim* cannot be evicted, and *why*: it is not tried again too early; *status* as in ``reconsider``.

        The root is retried after its backoff, because changes during its plan did not wake it.
        """
        entity.refusal = RefusedEviction(victim, self.cache.reporter.budgets, now + self.options.flush_seconds, why)
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
        """Remove the victims that no longer exist, and return the plan."""
        plan = self._reservations.prune(preempting.plan)
        if plan != preempting.plan:
            self.entities.move(entity, Event.VICTIM_GONE, Preempting(plan, preempting.disrupted))
        return plan

    # Queries.

    def _is_binding(self, entity: QueuedEntity) -> bool:
        """Return whether binds are in flight for the same root, or its volumes are being bound.

        Each bind causes an event, and the status of a large tree is expensive: it is computed only after the last bind.
        """
        if not isinstance(entity.state, PreBinding | Binding):
            return False
        root = entity.root
        live = self.cache.group(root.kind, root.namespace, root.name)
        return live is not None and live.uid == entity.uid and self.cache.group_cache.root_of(live.key) == root
