"""Scheduler of a live cluster: attempts, the resulting writes, and the handling of write results.

The time is an argument, and cluster events arrive through the cache; nothing here blocks or writes.  It can stop at any point,
because all persistent state is in the cluster.  After a restart, partially bound roots come first, and are completed or undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubeapi.gather import Name
from scheduler_core.causes.live import Awaited, PlacementDeviated
from scheduler_core.causes.pre_enqueue import PodGroupAwaited
from scheduler_core.loading import template_differences
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name as Root
from scheduler_core.model.status import Status
from scheduler_core.placement.counters import Counters
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.client.requests import field_manager
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.next_action import Action
from scheduler_core.sidecar.queue.priority_queue import SchedulingQueue
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from scheduler_core.sidecar.queue.states import STATES, PreemptionPlan, PreemptionProposed, State
from scheduler_core.sidecar.scheduling.apply_decision import Attempt, DecisionApplier
from scheduler_core.sidecar.scheduling.binding import Binder
from scheduler_core.sidecar.scheduling.decide import decide, refused
from scheduler_core.sidecar.scheduling.explanation import Explanation, writes_json
from scheduler_core.sidecar.scheduling.plan_steps import PlanSteps
from scheduler_core.sidecar.scheduling.pre_binding import PreBinder
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.scheduling.waiting import waiting_decision
from scheduler_core.sidecar.scheduling.write_results import WriteResults
from scheduler_core.sidecar.writes import Bind, Evict, Nominate, RecordEvent, Ref, Ungate, Write, WriteOutcome

__all__ = ["Attempt", "Scheduler", "SchedulerOptions"]

Clock = Callable[[], float]
_ROOTS = ("CompositePodGroup", "PodGroup", "Pod")
"""Kinds of roots, in the order in which a name is looked up."""


class Scheduler:
    """Places the roots of the *cache*; not thread-safe."""

    def __init__(self, cache: Cache, options: SchedulerOptions) -> None:
        self._cache, self._options = cache, options
        self._parameters = options.cycle
        self.counters = Counters()
        """Candidate placements evaluated so far."""
        self._reset()

    def restart(self) -> None:
        """Start anew from the cache, without assumed changes, after leadership was gained."""
        self._assumed.reset()
        self._reset()

    def prepare(self) -> None:
        """Keep what every cycle needs up to date while another replica leads, so that a new leader decides at once."""
        self._cache.usage.placement_state()

    def due(self, now: float) -> float | None:
        """Return the time of the next work: immediately if not after *now*; None: not before the next event."""
        if self._cache.reporter.changes or self._queue.deviations.has_new:
            return now
        return self._queue.entities.due(now, full=self._is_full())

    def attempt(self, now: float, clock: Clock | None = None) -> tuple[Attempt, ...]:
        """Run one cycle over a batch of active roots; with a *clock*, attempt no further root after ``options.seconds``."""
        self._queue.handle_changes(now)
        began = clock() if clock is not None else 0.0
        results = self._write_results
        plans = (Attempt(root, None, writes) for root, writes in self._plan_steps.next_writes(now))
        reports = (*plans, *results.due(now))
        done, batch = self._next_batch(now) if not self._is_full() else ((), [])
        if not batch:
            return (*reports, *done)
        stop = (lambda: clock() - began > self._options.seconds) if clock is not None else lambda: False
        excluded = frozenset[str]().union(*(status.excluded for _, status in batch))
        decided = decide(
            self._cache,
            [status.root for _, status in batch],
            self._parameters,
            excluded,
            stop,
            self.counters,
            awaits=self._queue.awaits_victims,
        )
        self._fit_batch(len(batch), len(decided))
        by_root = {each.decision.root: each for each in decided}
        before = self._cache.reporter.change_count
        attempts = [*reports, *done]
        plan_dropped = False
        victims: set[Ref] = set()
        for entity, status in batch:
            each = by_root.get(status.root)
            if each is None or (plan_dropped and each.decision.status is not Status.SUCCESS):
                self._queue.entities.activate(entity, entity.waiting, status.order)
                continue
            # An earlier root of this batch can preempt bound pods of this one, which changes its status.
            preempted = any(pod.ref in victims for pod in status.placed)
            current = (self._queue.status_of(entity.root) or status) if preempted else status
            attempt = self._applier.apply_decision(entity, current, each, now)
            attempts.append(attempt)
            victims.update(write.pod for write in attempt.plan)
            # Later roots of this batch were decided with the capacity for this plan reserved, but the plan is dropped.
            plan_dropped |= each.planned and not attempt.plan
        self._preemption.end_cycle(before)
        return tuple(attempts)

    def done(self, write: Write, outcome: WriteOutcome, why: str, now: float) -> tuple[Write, ...]:
        """Handle the result of *write* and return the next writes."""
        if isinstance(write, RecordEvent):
            return ()
        writes = self._write_results.handle_result(write, outcome, why, now)
        return (*writes, *self._plan_steps.writes(now)) if isinstance(write, Nominate) else writes

    def retried(self, write: Write, why: str, now: float) -> None:
        """Record that the first try of *write* failed, and *why*; it is retried."""
        if isinstance(write, Bind | Ungate):
            self._queue.binds.retried(write, why, now)

    def awaits(self, root: Root, evictions: tuple[Evict, ...]) -> bool:
        """Return whether the current plan of *root* is to evict exactly these pods, and does not do so yet."""
        plan = self._proposed(root)
        return plan is not None and self._preemption.evictions(plan) == evictions

    def approve(self, root: Root, now: float) -> tuple[Write, ...]:
        """Record that the dry run of the plan of *root* has passed, and return the next writes of all plans that can go on."""
        for entity, proposed in self._queue.proposals.all():
            if entity.root == root:
                self._queue.proposals.dry_run_passed(entity, proposed)
        return self._plan_steps.writes(now)

    def eviction_refused(self, root: Root, pod: Ref, why: str, now: float) -> tuple[Write, ...]:
        """Return the writes after the API server refused to evict *pod*: the plan of *root* is dropped."""
        queue, plan, entity = self._queue, self._proposed(root), self._queue.get(root)
        if entity is None or plan is None:
            return ()
        self._preemption.release(plan)
        queue.preemption_done(entity)
        status = queue.status_of(root)
        queue.eviction_refused(entity, pod, why, now, status)
        writes = self._applier.report_refusal(entity, status, now) if status is not None else ()
        return (*writes, *self._plan_steps.writes(now))

    def explain(self, namespace: str, name: str) -> Explanation | None:
        """Explain the root of that name, or the root of the group or pod of that name; None if there is none of ours."""
        root = self._root_by_name(namespace, name)
        decision = self._decision(root) if root is not None else self._decision_without_group(namespace, name)
        if decision is None:
            return None
        known = self._cache.snapshot((decision.root,))
        return Explanation(
            decision,
            writes_json(self._queue.get(decision.root)),
            (*template_differences.problems(known.groups, known.known),),
            self._queue.deviations.of_root(decision.root),
        )

    def _decision(self, root: Root) -> Decision | None:
        """Return what *root* waits for if it cannot be attempted now, else the last decision on it; None if there is none."""
        queue, status, entity = self._queue, self._queue.status_of(root), self._queue.get(root)
        if status is None or entity is None:
            deviating = queue.deviations.of_root(root)
            # An earlier process has decided on it.
            known = Decision(root, Status.SUCCESS, (PlacementDeviated(deviating),)) if deviating else None
            return queue.decisions.get(root) or known
        if queue.is_held_back(entity, status):
            return waiting_decision(queue, entity, status)
        if status.to_place and (decision := refused(self._cache, root, self._parameters, status.excluded)) is not None:
            return decision
        return queue.decisions.get(root) or (Decision(root, Status.WAIT, (Awaited.FIRST_ATTEMPT,)) if status.to_place else None)

    @property
    def preempts(self) -> bool:
        """Return whether it preempts."""
        return self._options.preempt

    def counts(self) -> dict[tuple[type[State], str], int]:
        """Return the number of roots by state and by kind."""
        return {(state, kind): self._queue.entities.counts[state, kind] for state in STATES for kind in _ROOTS}

    def _is_full(self) -> bool:
        """Return whether too many binds are in flight to start another cycle."""
        return len(self._queue.binds.by_pod) >= self._options.max_binds_in_flight

    def _reset(self) -> None:
        options = self._options
        self._batch_roots = options.batch_roots
        self._assumed = AssumedPods(self._cache)
        binder = Binder(self._cache, self._assumed, options.our_pods)
        self._preemption = PreemptionPlans(self._cache, self._assumed, options.eviction_method, options.scheduler_name)
        self._queue = SchedulingQueue(self._cache, options, self._assumed, self._preemption)
        pre_binder = PreBinder(self._cache, options.our_pods, options.profile, field_manager(options.scheduler_name))
        self._applier = DecisionApplier(self._queue, binder, pre_binder, self._preemption)
        self._plan_steps = PlanSteps(self._cache, self._queue, self._preemption, self._applier, self._parameters)
        self._write_results = WriteResults(self._queue, binder, pre_binder, self._preemption, self._assumed)
        changes = self._cache.reporter.changes
        changes.roots.update(self._all_roots())
        changes.selected.update(self._cache.reporter.selected)
        changes.missing_groups.update(self._missing_groups())

    def _all_roots(self) -> Iterator[Root]:
        for live in self._cache.groups():
            if (root := self._cache.group_cache.root_of(live.key)) is not None:
                yield root
        for pod in self._cache.usage.pods.without_node.values():
            if not pod.parsed_pod.group and (root := self._cache.reporter.root(pod)) is not None:
                yield root

    def _missing_groups(self) -> Iterator[Name]:
        """Yield the PodGroups that pods without a node name and that do not exist."""
        for pod in self._cache.usage.pods.without_node.values():
            if pod.parsed_pod.group and self._cache.reporter.root(pod) is None:
                yield pod.name[0], pod.parsed_pod.group

    def _next_batch(self, now: float) -> tuple[tuple[Attempt, ...], list[tuple[QueuedEntity, RootStatus]]]:
        """Return the attempts that need no decision, and the roots to decide on."""
        queue, options = self._queue, self._options
        done: list[Attempt] = []
        batch: list[tuple[QueuedEntity, RootStatus]] = []
        pods = 0
        while len(batch) + len(done) < self._batch_roots and pods < options.batch_pods and (entity := queue.entities.pop()) is not None:
            status = queue.status_of(entity.root)
            if status is None:
                queue.forget(entity.root)
                continue
            match queue.next_action(entity, status, now):
                case Action.SCHEDULE:
                    batch.append((entity, status))
                    pods += len(status.to_place)
                case None:
                    queue.route(entity, status, now)
                case action:
                    done.append(Attempt(entity.root, None, self._write_results.perform_action(action, entity, status, now)))
        return tuple(done), batch

    def _fit_batch(self, prepared: int, decided: int) -> None:
        """Prepare no more roots for the next cycle than the time allowed to decide on: a busy machine would prepare the others in vain."""
        self._batch_roots = max(1, decided) if decided < prepared else min(2 * self._batch_roots, self._options.batch_roots)

    def _proposed(self, root: Root) -> PreemptionPlan | None:
        """Return the plan of *root* whose evictions are in a dry run; None if there is none."""
        entity = self._queue.get(root)
        return entity.state.plan if entity is not None and isinstance(entity.state, PreemptionProposed) else None

    def _decision_without_group(self, namespace: str, name: str) -> Decision | None:
        """Return the decision on a pod whose group does not exist."""
        pod = self._cache.usage.pods.pods.get(f"{namespace}/{name}")
        if pod is None or not pod.parsed_pod.group or not self._queue.our_pods.has(pod):
            return None
        behavior = self._cache.usage.nodes.behavior
        awaited = PodGroupAwaited(Root("PodGroup", namespace, pod.parsed_pod.group), exists=False, or_ancestor=behavior.names_awaited_roots)
        return Decision(Root("Pod", namespace, name), Status.WAIT, (awaited,), pending={pod.key: (awaited,)}, behavior=behavior)

    def _root_by_name(self, namespace: str, name: str) -> Root | None:
        for kind in _ROOTS[:2]:
            if (root := self._cache.group_cache.root_of((kind, namespace, name))) is not None:
                return root
        pod = self._cache.usage.pods.pods.get(f"{namespace}/{name}")
        return self._cache.reporter.root(pod) if pod is not None else None
