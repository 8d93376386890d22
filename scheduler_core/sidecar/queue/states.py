"""States of an entity in the scheduling queue, and the one table of the transitions between them.

A state is a value with the data that means something in it alone.  Names are those of kube-scheduler's scheduling queue where it has
them.  An entity that is in flight there is *Scheduling* or *Binding* here.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from scheduler_core.model.decision import Decision
from scheduler_core.model.decision import Name as Root
from scheduler_core.sidecar.queue.queueing_hints import QueueingHint
from scheduler_core.sidecar.writes import Bind, Ref, Ungate, WriteOutcome

Binds = Mapping[Ref, Bind | Ungate]
"""Binds by pod."""


@dataclasses.dataclass(frozen=True, slots=True)
class PreemptionPlan:
    """Victims of an entity, and where its pods go then."""

    root: Root
    victims: Mapping[str, Ref]
    """By key."""
    nominations: Mapping[str, str]
    since: float
    change_count: int = -1
    """How many changes there had been when it was last proved."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gated:
    """Waits for members, a parent, or gates to open; or until what is bound shows."""


@dataclasses.dataclass(frozen=True, slots=True)
class Backoff:
    """In backoffQ: is tried once its back-off is over."""

    unconfirmed: Binds = dataclasses.field(default_factory=dict)
    """Binds of which is not known whether they were carried out: they are repeated instead."""
    decision: Decision | None = None
    """The decision that they carry out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unschedulable:
    """Tried in vain: waits for a change of which *hint* says that it could help, or until *flush_at*."""

    hint: QueueingHint
    flush_at: float


Waiting = Backoff | Unschedulable


@dataclasses.dataclass(frozen=True, slots=True)
class Active:
    """In activeQ."""

    waiting: Waiting = Backoff()
    """What a scheduling attempt waits for: an unschedulable entity has its turn to be recorded as placed, or to be undone."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scheduling:
    """Popped, and not done; *waiting* as in ``Active``."""

    waiting: Waiting = Backoff()


@dataclasses.dataclass(frozen=True, slots=True)
class Binding:
    """Binds are under way: the entity is left alone until the last of them has ended."""

    binds: Binds
    decision: Decision | None = None
    outcomes: dict[Ref, WriteOutcome] = dataclasses.field(default_factory=dict)
    """Of those that have ended: it grows until all are in it."""

    @property
    def unconfirmed(self) -> Binds:
        """The binds of which is not known whether they were carried out."""
        return {ref: self.binds[ref] for ref, outcome in self.outcomes.items() if outcome is WriteOutcome.FAILED}

    @property
    def failed(self) -> bool:
        """True if any bind failed."""
        return any(outcome is not WriteOutcome.DONE for outcome in self.outcomes.values())


@dataclasses.dataclass(frozen=True, slots=True)
class PreemptionProposed:
    """The evictions of *plan* are tried dry; its victims count as leaving, and capacity is held for its nominations."""

    plan: PreemptionPlan


@dataclasses.dataclass(frozen=True, slots=True)
class Preempting:
    """The evictions of *plan* are under way; its victims are those who are still there."""

    plan: PreemptionPlan
    disrupted: Mapping[Ref, frozenset[Ref]] = dataclasses.field(default_factory=dict)
    """Groups that have DisruptionTarget for it, each with its victims that are not known to stay."""


@dataclasses.dataclass(frozen=True, slots=True)
class Deleted:
    """Gone, not ours any more, or nothing is left to do."""


State = Gated | Backoff | Unschedulable | Active | Scheduling | Binding | PreemptionProposed | Preempting | Deleted
STATES: tuple[type[State], ...] = (Gated, Backoff, Unschedulable, Active, Scheduling, Binding, PreemptionProposed, Preempting)
"""The states of an entity that is in the queue."""


class Event(enum.StrEnum):
    """Event that changes the state of an entity."""

    GATE = "Gate"
    BACKOFF = "Backoff"
    ACTIVATE = "Activate"
    POP = "Pop"
    ADD_UNSCHEDULABLE = "AddUnschedulable"
    BIND = "Bind"
    BINDING_DONE = "BindingDone"
    PROPOSE_PREEMPTION = "ProposePreemption"
    PREEMPT = "Preempt"
    VICTIM_GONE = "VictimGone"
    PREEMPTION_DONE = "PreemptionDone"
    DELETE = "Delete"


_QUEUED = (Gated, Backoff, Unschedulable, Active, Scheduling)
TABLE: tuple[tuple[Event, tuple[type[State], ...], type[State], str], ...] = (
    (Event.GATE, _QUEUED, Gated, "it cannot be tried before members, a parent or gates change"),
    (Event.BACKOFF, _QUEUED, Backoff, "it is tried once its back-off is over"),
    (Event.ACTIVATE, _QUEUED, Active, "it is to be tried, recorded as placed, or undone, or its binds are to be repeated"),
    (Event.POP, (Active,), Scheduling, "an attempt begins"),
    (
        Event.ADD_UNSCHEDULABLE,
        (Unschedulable, Active, Scheduling),
        Unschedulable,
        "the attempt failed; or its turn was for something else, which is done",
    ),
    (Event.BIND, (Scheduling,), Binding, "its pods are assumed, and binds are sent"),
    (Event.BINDING_DONE, (Binding,), Backoff, "the last of its binds has ended"),
    (Event.PROPOSE_PREEMPTION, (Scheduling,), PreemptionProposed, "the attempt failed, and others can leave for it"),
    (Event.PREEMPT, (PreemptionProposed,), Preempting, "the dry run has passed, and the plan still holds: evictions are sent"),
    (Event.VICTIM_GONE, (Preempting,), Preempting, "a victim has left, or stays after all"),
    (Event.PREEMPTION_DONE, (PreemptionProposed, Preempting), Backoff, "no victim is left; or the plan is refused, outdated or too old"),
    (Event.DELETE, STATES, Deleted, "it is gone, not ours any more, or nothing is left to do"),
)
"""Each event with the states in which it happens, the state that it leads to, and when it happens."""
TRANSITIONS = {(before, event): after for event, befores, after, _ in TABLE for before in befores}


class IllegalTransitionError(RuntimeError):
    """An event in a state in which it does not happen: a mistake in this program."""


def check(root: Root, before: State, event: Event, after: State) -> None:
    """Check that *event* leads from *before* to *after*.

    Raises:
        IllegalTransitionError: it does not.

    """
    wanted = TRANSITIONS.get((type(before), event))
    if wanted is not type(after):
        leads = f"leads to {wanted.__name__}, not to {type(after).__name__}" if wanted is not None else "must not happen"
        raise IllegalTransitionError(
            f"internal error: {root.kind} {root.namespace}/{root.name}: {event} in {type(before).__name__} {leads}"
        )
