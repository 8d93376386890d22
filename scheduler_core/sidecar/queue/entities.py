"""What is remembered of each root from one attempt to the next, and when it is its turn."""

from __future__ import annotations

import collections
import dataclasses
import enum
import heapq
import itertools
from collections.abc import Iterator

from scheduler_core.model.decision import Decision
from scheduler_core.model.decision import Name as Root
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.writes import Bind, Evict, Ref, Ungate, Write


class Phase(enum.StrEnum):
    """How it stands with a root, as it is counted."""

    ACTIVE = "active"
    """It is its turn."""
    BACKOFF = "backoff"
    """It is left alone for some time."""
    PARKED = "parked"
    """It waits for something that could help it."""
    WAITING = "waiting"
    """It waits for members, parents or gates."""
    FLYING = "flying"
    """Binds are under way."""
    PREEMPTING = "preempting"
    """Victims are on their way."""


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one root in one cycle.

    Attributes:
        root: the top of a tree, or a single pod.
        decision: None where nothing had to be decided: a gang is recorded as placed, or is undone.
        writes: to be begun in this order.
        plan: evictions to be tried dry; then ``approve`` or ``eviction_refused``.

    """

    root: Root
    decision: Decision | None
    writes: tuple[Write, ...]
    plan: tuple[Evict, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class RefusedEvictions:
    """Evictions that were refused: they are not asked for again while nothing changes.

    Attributes:
        victims: who was to leave.
        budgets: how often a disruption budget had changed by then.
        until: when they may be asked for again all the same.

    """

    victims: frozenset[Ref]
    budgets: int
    until: float


@dataclasses.dataclass(slots=True, eq=False)
class PreemptionPlan:
    """Who is to leave for a root, and where its pods go then."""

    root: Root
    victims: dict[str, Ref]
    """By key."""
    nominations: dict[str, str]
    since: float
    under_way: bool = False
    changes: int = -1
    """How many changes there had been when it was last proved."""
    disrupted: dict[Ref, frozenset[Ref]] = dataclasses.field(default_factory=dict)
    """The groups that were told that they have to leave, each with its victims that have not been found to stay."""


@dataclasses.dataclass(slots=True, eq=False)
class EntityState:
    """One root."""

    root: Root
    uid: str
    size: int = 1
    phase: Phase = Phase.WAITING
    attempts: int = 0
    """That failed in a row."""
    not_before: float = 0.0
    turn: bool = False
    """Whether it is its turn."""
    until: float | None = None
    """When it is looked at again at the latest."""
    decision: Decision | None = None
    """The last, if it was placed by it."""
    flying: dict[Ref, Bind | Ungate] = dataclasses.field(default_factory=dict)
    """Binds that are under way."""
    unsure: dict[Ref, Bind | Ungate] = dataclasses.field(default_factory=dict)
    """Binds of which is not known whether they were carried out."""
    broken: bool = False
    """Whether a bind of those under way has failed."""
    failures: int = 0
    """Attempts in a row in which a bind failed."""
    settled: bool = False
    """Whether it has waited for further members."""
    commit_after: float = 0.0
    """When it may be recorded as placed again, after that failed."""
    commit_failures: int = 0
    flush_at: float | None = None
    """When it is tried again though nothing happened."""
    awaits: bool = False
    """Whether it waits for pods that leave by an earlier preemption."""
    partial_since: float | None = None
    hanging_since: float | None = None
    told_at: float = float("-inf")
    refusal: RefusedEvictions | None = None
    """The last plan that the API server would not have."""
    plan: PreemptionPlan | None = None


class EntityQueue:
    """Roots by when it is their turn: those whose time has come in the order of the queue."""

    def __init__(self) -> None:
        self.states: dict[Root, EntityState] = {}
        self.counts: collections.Counter[tuple[Phase, str]] = collections.Counter()
        """Roots by phase and by kind."""
        self._ready: list[tuple[object, int, EntityState]] = []
        self._timers: list[tuple[float, int, EntityState]] = []
        self._numbers = itertools.count()

    def state(self, survey: RootStatus) -> EntityState:
        """The state of a root, made if there is none."""
        if (state := self.states.get(survey.root)) is None:
            state = self.states[survey.root] = EntityState(survey.root, survey.ref.uid)
            self.counts[state.phase, state.root.kind] += 1
        state.size = survey.size
        return state

    def delete_entity(self, root: Root) -> EntityState | None:
        """Forget a root."""
        if (state := self.states.pop(root, None)) is not None:
            self.counts[state.phase, state.root.kind] -= 1
            state.turn, state.until = False, None
        return state

    def set_phase(self, state: EntityState, phase: Phase) -> None:
        """Its phase from now on."""
        self.counts[state.phase, state.root.kind] -= 1
        self.counts[phase, state.root.kind] += 1
        state.phase = phase

    def ready(self, state: EntityState, survey: RootStatus) -> None:
        """It is its turn."""
        state.turn = True
        self.set_phase(state, Phase.ACTIVE)
        heapq.heappush(self._ready, (survey.order, next(self._numbers), state))

    def wake_at(self, state: EntityState, at: float, now: float) -> None:
        """It is looked at again at *at*, or before; what is past at *now* has been looked at."""
        if at > now and (state.until is None or at < state.until):
            state.until = at
            heapq.heappush(self._timers, (at, next(self._numbers), state))

    def woken(self, now: float) -> Iterator[EntityState]:
        """Those whose time has come by *now*."""
        while self._timers and self._timers[0][0] <= now:
            at, _, state = heapq.heappop(self._timers)
            if state.until == at:
                state.until = None
                yield state

    def next(self) -> EntityState | None:
        """The first of those whose turn it is; it is taken out."""
        while self._ready:
            _, _, state = heapq.heappop(self._ready)
            if state.turn:
                state.turn = False
                return state
        return None

    def due(self, now: float, *, full: bool = False) -> float | None:
        """When there is something to do: *now*, later, or (None) not by the clock; *full*: those whose turn it is have to wait."""
        while self._ready and not self._ready[0][2].turn:
            heapq.heappop(self._ready)
        if self._ready and not full:
            return now
        while self._timers and self._timers[0][2].until != self._timers[0][0]:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None
