"""Entities of the scheduling queue: activeQ, timers, and indices by state."""

from __future__ import annotations

import collections
import dataclasses
import heapq
import itertools
from collections.abc import Iterator

from scheduler_core.causes.live import EvictionRefused
from scheduler_core.model.names import Name as Root
from scheduler_core.sidecar.queue import backoff
from scheduler_core.sidecar.queue.queueing_hints import UnschedulableEntities
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.states import (
    Active,
    Backoff,
    Binding,
    Deleted,
    Event,
    Gated,
    Preempting,
    PreemptionPlan,
    PreemptionProposed,
    Scheduling,
    State,
    Unschedulable,
    Waiting,
    check,
)
from scheduler_core.sidecar.writes import Ref


@dataclasses.dataclass(frozen=True, slots=True)
class RefusedEviction:
    """Eviction that the API server refused: it is not repeated until a disruption budget changes, or until a time.

    Attributes:
        victim: the pod that was not evicted.
        budgets: number of changes of disruption budgets at that time.
        until: time after which it can be tried again in any case.
        error: text of the API server.

    """

    victim: Ref
    budgets: int
    until: float
    error: str

    @property
    def cause(self) -> EvictionRefused:
        """Return the pod and the error."""
        return EvictionRefused(self.victim.key, self.error)


@dataclasses.dataclass(slots=True, eq=False)
class QueuedEntity:
    """A root in the queue: its state, and data that outlives a state.  Only this package changes it."""

    root: Root
    uid: str
    size: int = 1
    state: State = dataclasses.field(default_factory=Gated)
    attempts: int = 0
    """Number of consecutive failed attempts."""
    backoff_expiration: float = 0.0
    bind_failures: int = 0
    """Number of consecutive attempts with a failed bind."""
    awaits_victims: bool = False
    """Whether the last attempt needs capacity that victims of an earlier preemption will free."""
    waited_for_members: bool = False
    """Whether it has waited for further members."""
    commit_after: float = 0.0
    """Time of the next try to record it as scheduled, after a try failed."""
    commit_failures: int = 0
    contested_since: float | None = None
    """Time since which its status is ``contested``; None if it is not."""
    partial_since: float | None = None
    """Time since which it is partially bound; None if it is not."""
    awaits_binding_since: float | None = None
    """Time since which its status is ``awaits_binding``; None if it is not."""
    reported_at: float = float("-inf")
    """Time of the last update of the message of its unschedulable pods."""
    refusal: RefusedEviction | None = None
    """Refused eviction of its last preemption plan."""
    report_at: float | None = None
    """Time at which it reports what it waits for; None if nothing has changed since its last report."""
    waiting_reported_at: float = float("-inf")
    """Time of its last report of what it waits for."""
    waiting_writes: int = 0
    """Number of writes of this report."""
    waiting_reported: bool = False
    """Whether it has reported what it waits for since its last attempt."""
    binding: Binding | None = None
    """Binds of its last decision, in flight or ended; None if it has none."""

    @property
    def waiting(self) -> Waiting:
        """Return the event or time that a scheduling attempt waits for."""
        match self.state:
            case Active(waiting) | Scheduling(waiting):
                return waiting
            case Backoff() | Unschedulable():
                return self.state
        return Backoff()

    @property
    def can_follow_victims(self) -> bool:
        """Return whether what its nominated pods await is for it: not while it cannot be attempted, or after it failed without victims."""
        return not isinstance(self.state, Gated) and (self.awaits_victims or not isinstance(self.waiting, Unschedulable))

    def back_off(self, now: float) -> None:
        """Start a backoff after a failed attempt."""
        self.attempts += 1
        self.backoff_expiration = now + backoff.seconds(self.attempts, self.size)


class EntityQueue:
    """Entities.  Only ``move`` assigns a state, so the indices by state are always consistent.

    Attributes:
        by_root: all entities.
        counts: number of entities by state and kind of root.
        unschedulable: entities that wait for a cluster change, or for a kind to be listed.
        plans: preemption plans, by root.

    """

    def __init__(self, unschedulable: UnschedulableEntities) -> None:
        self.by_root: dict[Root, QueuedEntity] = {}
        self.counts: collections.Counter[tuple[type[State], str]] = collections.Counter()
        self.unschedulable = unschedulable
        self.plans: dict[Root, PreemptionPlan] = {}
        self._active: list[tuple[bool, object, int, QueuedEntity]] = []
        self._timers: list[tuple[float, int, QueuedEntity]] = []
        self._wake_at: dict[QueuedEntity, float] = {}
        self._numbers = itertools.count()

    def add(self, status: RootStatus) -> QueuedEntity:
        """Return the entity of a root, created if there is none."""
        if (entity := self.by_root.get(status.root)) is None:
            entity = self.by_root[status.root] = QueuedEntity(status.root, status.ref.uid)
            self.counts[Gated, entity.root.kind] += 1
        entity.size = status.size
        return entity

    def move(self, entity: QueuedEntity, event: Event, state: State) -> None:
        """Change the state of *entity* to *state* because of *event*.

        Raises:
            IllegalTransitionError: *event* does not lead to *state*.

        """
        check(entity.root, entity.state, event, state)
        self.counts[type(entity.state), entity.root.kind] -= 1
        self.counts[type(state), entity.root.kind] += 1
        entity.state = state
        waiting = entity.waiting
        if isinstance(waiting, Unschedulable):
            self.unschedulable.add(entity.root, waiting.hint)
        elif isinstance(state, Gated) and state.hint.kinds:
            self.unschedulable.add(entity.root, state.hint)
        else:
            self.unschedulable.remove(entity.root)
        if isinstance(state, PreemptionProposed | Preempting):
            self.plans[entity.root] = state.plan
        else:
            self.plans.pop(entity.root, None)

    def delete(self, entity: QueuedEntity) -> None:
        """Remove *entity* from the queue."""
        self.move(entity, Event.DELETE, Deleted())
        del self.by_root[entity.root], self.counts[Deleted, entity.root.kind]
        self._wake_at.pop(entity, None)

    def activate(self, entity: QueuedEntity, waiting: Waiting, order: object, *, last: bool = False) -> None:
        """Add *entity* to activeQ by *order*, with *last* after all others; an active entity can only move forward from there."""
        before = entity.state
        last = last and (not isinstance(before, Active) or before.last)
        if not isinstance(before, Active) or before.last != last:
            heapq.heappush(self._active, (last, order, next(self._numbers), entity))
        self.move(entity, Event.ACTIVATE, Active(waiting, last))

    def pop(self) -> QueuedEntity | None:
        """Pop the first entity of activeQ and move it to Scheduling; None if activeQ is empty."""
        while self._active:
            *_, entity = heapq.heappop(self._active)
            if isinstance(entity.state, Active):
                self.move(entity, Event.POP, Scheduling(entity.state.waiting))
                return entity
        return None

    def wake_at(self, entity: QueuedEntity, at: float, now: float) -> None:
        """Set a timer of *entity* for *at*, unless it has an earlier one; times up to *now* are ignored."""
        if at > now and at < self._wake_at.get(entity, float("inf")):
            self._wake_at[entity] = at
            heapq.heappush(self._timers, (at, next(self._numbers), entity))

    def woken(self, now: float) -> Iterator[QueuedEntity]:
        """Yield the entities whose timer has expired at *now*."""
        while self._timers and self._timers[0][0] <= now:
            at, _, entity = heapq.heappop(self._timers)
            if self._wake_at.get(entity) == at:
                del self._wake_at[entity]
                yield entity

    def due(self, now: float, *, full: bool = False) -> float | None:
        """Return the time of the next work: *now* if activeQ is not empty, else the first timer, if any; *full*: activeQ must wait."""
        while self._active and not isinstance(self._active[0][-1].state, Active):
            heapq.heappop(self._active)
        if self._active and not full:
            return now
        while self._timers and self._wake_at.get(self._timers[0][2]) != self._timers[0][0]:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None
