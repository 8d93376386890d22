"""Handles results of API writes, and actions on a root that need no decision."""

from __future__ import annotations

from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.causes.binding_failures import PreBindAwaited
from scheduler_core.causes.live import PlacementDeviated, UndoReason
from scheduler_core.model.conditions import WAITING
from scheduler_core.model.names import Name as Root
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.next_action import Action
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.states import Backoff, Binding, PreBinding, Preempting
from scheduler_core.sidecar.scheduling.apply_decision import Attempt
from scheduler_core.sidecar.scheduling.binding import ERROR, NORMAL, WARNING, Binder
from scheduler_core.sidecar.scheduling.pre_binding import PreBinder
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.scheduling.waiting import undone_decision, waiting_decision
from scheduler_core.sidecar.writes import (
    AllocateClaim,
    AllocateExtended,
    Bind,
    ClearSelectedNode,
    DeleteExtended,
    Evict,
    Nominate,
    RecordEvent,
    ReleaseClaim,
    Remove,
    ReserveVolume,
    SelectNode,
    SetCondition,
    Ungate,
    Write,
    WriteOutcome,
)
from scheduler_core.wording.binding_words import assigned, pre_bind_awaited, pre_bind_failed
from scheduler_core.wording.live_words import live_words, undo_words
from scheduler_core.wording.truncation import cut


class WriteResults:
    """Handles results of API writes."""

    def __init__(
        self, queue: SchedulingQueue, binder: Binder, pre_binder: PreBinder, preemption: PreemptionPlans, assumed: AssumedPods
    ) -> None:
        self._queue, self._binder, self._pre_binder = queue, binder, pre_binder
        self._preemption, self._assumed = preemption, assumed

    def handle_result(self, write: Write, outcome: WriteOutcome, why: str, now: float) -> tuple[Write, ...]:
        """Apply the result of *write* and return the next writes."""
        writes: tuple[Write, ...] = ()
        match write:
            case Bind() | Ungate():
                failed = self._binder.bind_failed(write, outcome, why, current=self._queue.binds.is_current(write))
                return (*failed, *self._bind_sent(write, outcome, why, now))
            case ReserveVolume() | SelectNode() | AllocateClaim() | AllocateExtended():
                awaited = self._queue.pre_binds.ended(write, outcome, why)
                return (*self._pre_binder.ended(write, outcome, awaited=awaited), *self._advance(now))
            case ReleaseClaim() | DeleteExtended():
                return self._pre_binder.ended(write, outcome, awaited=False)
            case ClearSelectedNode() if outcome is WriteOutcome.FAILED:
                return self._pre_binder.unused((write.target.namespace, write.target.name))
            case SetCondition():
                self._condition_written(write, outcome, now)
            case Nominate():
                writes = self._nomination_written(write, outcome, now)
            case Evict():
                writes = self._eviction_sent(write, outcome, why, now)
            case Remove():
                if outcome not in {WriteOutcome.DONE, WriteOutcome.GONE}:
                    self._assumed.cancel_deletion(write.pod)
            case _:
                pass
        return writes

    def perform_action(self, action: Action, entity: QueuedEntity, status: RootStatus, now: float) -> tuple[Write, ...]:
        """Return the writes of an *action* that needs no decision.

        Raises:
            ValueError: the action needs a decision, or there is no bind to repeat.

        """
        queue = self._queue
        match action, entity.waiting:
            case Action.REBIND, Backoff(unconfirmed, decision) if unconfirmed:
                writes: tuple[Write, ...] = tuple(unconfirmed.values())
                queue.binds.start(entity, unconfirmed, decision)
            case Action.COMMIT, _:
                writes = self._binder.commit(status, queue.decisions.get(entity.root))
                queue.reconsider(entity.root, now, hint=False, status=status.recorded())
            case Action.UNDO, _:
                reason = UndoReason.PODS_MISSING if status.partially_bound else UndoReason.PINNED_PODS_UNBOUND
                decision = undone_decision(queue.cache, entity.root, self._binder.pods_to_undo(status), reason)
                writes = (*self._binder.report_waiting(decision, status, event=False), *self._binder.undo(status, undo_words(reason)))
                writes = (*writes, *self._pre_binder.left_over(status.to_place))
                queue.record_undone(entity, status, decision, now)
            case Action.REPORT, _:
                writes = self._binder.report_waiting(waiting_decision(queue, entity, status), status)
                queue.waiting_reported(entity, status, len(writes), now)
                if not (status.ready or status.placed or status.unlisted):
                    writes = (*writes, *self._pre_binder.left_over(status.to_place))
            case _:
                raise ValueError(f"internal error: {action} of {entity.root} in {entity.state}")
        return writes

    def due(self, now: float) -> tuple[Attempt, ...]:
        """Return what is due apart from attempts: claims of pods that are gone, volumes that are bound, and reports."""
        return (*self.take_back_abandoned(), *self.advance_volumes(now), *self.report_failing_binds(now), *self.report_deviations())

    def report_failing_binds(self, now: float) -> tuple[Attempt, ...]:
        """Return the conditions and events of roots whose binds are being retried."""
        attempts = []
        for entity, binding in self._queue.binds.failing(now):
            if (status := self._queue.status_of(entity.root)) is not None:
                attempts.append(Attempt(entity.root, None, self._binder.report_binding(binding, status)))
        return tuple(attempts)

    def report_deviations(self) -> tuple[Attempt, ...]:
        """Return the events of roots with pods that their schedulers have not bound as planned."""
        attempts = []
        for root, new in self._queue.deviations.pop_new().items():
            if (status := self._queue.status_of(root)) is not None:
                event = RecordEvent(status.ref, WARNING, "PlacementDeviated", cut(live_words(PlacementDeviated(new))))
                attempts.append(Attempt(root, None, (event,), deviating=new))
        return tuple(attempts)

    def take_back_abandoned(self) -> tuple[Attempt, ...]:
        """Return the writes that take back what was written for pods that no longer exist, or whose PodGroup no longer exists."""
        queue, cache = self._queue, self._queue.cache
        claims, groups = queue.pre_binds.pop_abandoned()
        if claims and not cache.needed.is_listed("PersistentVolume"):
            # A volume can be reserved for such a claim.
            queue.pre_binds.abandoned(claims, ())
            claims = []
        attempts = [Attempt(Root("PersistentVolumeClaim", *name), None, self._pre_binder.unused(name)) for name in claims]
        for name in groups:
            pods = [pod for pod in cache.members(*name) if queue.our_pods.has(pod) and cache.reporter.root(pod) is None]
            waiting = [pod for pod in pods if not cache.usage.node_of(pod)]
            attempts.append(Attempt(Root("PodGroup", *name), None, self._pre_binder.left_over(waiting)))
        return tuple(each for each in attempts if each.writes)

    def advance_volumes(self, now: float) -> tuple[Attempt, ...]:
        """Return the binds of roots whose volumes are bound, and the reports and writes of roots whose volumes cannot be bound."""
        attempts = []
        for entity, state in self._queue.pre_binds.pop_changed(now):
            if writes := self._advance_root(entity, state, now):
                attempts.append(Attempt(entity.root, None, writes))
        return tuple(attempts)

    def _advance(self, now: float) -> tuple[Write, ...]:
        return tuple(write for attempt in self.advance_volumes(now) for write in attempt.writes)

    def _advance_root(self, entity: QueuedEntity, state: PreBinding, now: float) -> tuple[Write, ...]:
        queue, binder = self._queue, self._pre_binder
        if len(state.outcomes) < len(state.writes):
            return ()
        progress = binder.progress(state, now)
        if progress is None:
            queue.binds.start(entity, state.binds, state.decision)
            return tuple(state.binds.values())
        status = queue.status_of(entity.root)
        if isinstance(progress, PreBindAwaited):
            report = status is not None and queue.pre_binds.should_report(entity, state, queue.options, now)
            return self._binder.report_volumes(state.binds, status, WAITING, pre_bind_awaited(progress)) if report and status else ()
        queue.pre_binding_failed(entity, now)
        writes: tuple[Write, ...] = (*binder.take_back(state), *self._binder.nominate(state.binds.values(), clear=True))
        if status is None:
            return writes
        return (
            *writes,
            *self._binder.report_volumes(state.binds, status, ERROR, pre_bind_failed(progress)),
        )

    def _bind_sent(self, write: Bind | Ungate, outcome: WriteOutcome, why: str, now: float) -> tuple[Write, ...]:
        ended = self._queue.binds.ended(write, outcome, why, now)
        return self._binding_done(*ended, write, now) if ended is not None else ()

    def _binding_done(self, entity: QueuedEntity, binding: Binding, write: Bind | Ungate, now: float) -> tuple[Write, ...]:
        """Return the next writes after the last bind of a root."""
        queue, root = self._queue, entity.root
        status = queue.status_of(root)
        writes: tuple[Write, ...] = ()
        if status is not None and not binding.unconfirmed and not status.contested:
            if (live := queue.cache.group(root.kind, root.namespace, root.name)) is not None:
                live.binds_acknowledged |= bool(status.to_commit) and status.to_commit[0] is live
            writes = self._binder.commit(status, binding.decision)
            status = status.recorded()
        if status is not None and binding.failures:
            writes = (*writes, *self._binder.report_binding(binding, status))
        if root.kind == "Pod" and not binding.failed:
            writes = (*writes, *_single_pod_event(write))
        queue.reconsider(root, now, hint=True, status=status)
        return writes

    def _condition_written(self, write: SetCondition, outcome: WriteOutcome, now: float) -> None:
        if outcome is WriteOutcome.DONE:
            return
        target, condition = write.target, write.condition
        self._assumed.forget_condition(target, condition.type)
        name = target.kind, target.namespace, target.name
        root = Root(*name) if target.kind == "Pod" else self._queue.cache.group_cache.root_of(name)
        if root is not None and (condition.reason == WAITING or target.kind == "Pod"):
            self._queue.waiting_report_failed(root, now)
        is_commit = condition.status == "True" and condition.type == INITIALLY_SCHEDULED.get(target.kind)
        if root is not None and outcome is not WriteOutcome.GONE and is_commit:
            self._queue.commit_failed(root, now)

    def _nomination_written(self, write: Nominate, outcome: WriteOutcome, now: float) -> tuple[Nominate, ...]:
        """Handle the result of a nomination: if it could not be written, it is reverted, and a plan that needs it first is dropped."""
        queue, done, writes = self._queue, outcome is WriteOutcome.DONE, tuple[Nominate, ...]()
        for entity, proposed in queue.proposals.all():
            if proposed.unwritten and proposed.unwritten.get(write.pod) == write.node:
                del proposed.unwritten[write.pod]
                if not done:
                    queue.drop_plan(entity, proposed, now)
                    writes = self._preemption.take_back(proposed)
        if not done and not any(write.pod.key in plan.nominations for plan in queue.entities.plans.values()):
            self._assumed.forget_nomination(write.pod)
        return writes

    def _eviction_sent(self, write: Evict, outcome: WriteOutcome, why: str, now: float) -> tuple[Write, ...]:
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
                remaining, new_writes = self._preemption.keep_victim(entity.state, victim)
                queue.victim_stays(entity, remaining, victim, why, now)
                writes += new_writes
        return tuple(writes)


def _single_pod_event(write: Bind | Ungate) -> tuple[Write, ...]:
    """Return the event of a bound single pod; its own scheduler reports a pod that is only pinned."""
    if isinstance(write, Ungate):
        return ()
    return (RecordEvent(write.pod, NORMAL, "Scheduled", assigned(write.pod.key, write.node)),)
