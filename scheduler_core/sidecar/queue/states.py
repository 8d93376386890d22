"""States of an entity in the scheduling queue, and the table of all transitions.

A state is a value with the data that only it needs.  States have the names of kube-scheduler's scheduling queue where it has one.  An
entity that is in flight there is *Scheduling* or *Binding* here.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name as Root
from scheduler_core.sidecar.queue.queueing_hints import NO_HINT, QueueingHint
from scheduler_core.sidecar.writes import Bind, PreBindWrite, Ref, Ungate, WriteOutcome

Binds = Mapping[Ref, Bind | Ungate]
"""Binds by pod."""


@dataclasses.dataclass(frozen=True, slots=True)
class PreemptionPlan:
    """Preemption plan of an entity: its victims, and the nominated nodes of its pods."""

    root: Root
    victims: Mapping[str, Ref]
    """Victims by pod key."""
    nominations: Mapping[str, str]
    """Nodes by pod key; empty for a pod of the root that had a nomination and has no place in the plan."""
    since: float
    change_count: int = -1
    """Number of cluster changes at the time of its last proof."""
    replaced: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Nominated nodes of these pods before the plan, empty for none: they have them again if it is dropped."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gated:
    """Waits for members, a parent, the removal of gates or the first list of a kind; or until the watch shows its binds."""

    hint: QueueingHint = NO_HINT
    """Kinds that must be listed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Backoff:
    """In backoffQ: it is attempted after its backoff."""

    unconfirmed: Binds = dataclasses.field(default_factory=dict)
    """Binds with an unknown result; they are repeated instead of an attempt."""
    decision: Decision | None = None
    """The decision of these binds."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unschedulable:
    """Its attempt failed: it waits for a change that matches *hint*, or until *flush_at*."""

    hint: QueueingHint
    flush_at: float


Waiting = Backoff | Unschedulable


@dataclasses.dataclass(frozen=True, slots=True)
class Active:
    """In activeQ."""

    waiting: Waiting = Backoff()
    """Event or time that its next attempt waits for.  An unschedulable entity can be active too, to be recorded as scheduled or undone."""
    last: bool = False
    """Whether it comes after all entities without this mark, because only a report is due."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scheduling:
    """Popped, with an attempt in progress; *waiting* as in ``Active``."""

    waiting: Waiting = Backoff()


@dataclasses.dataclass(frozen=True, slots=True)
class PreBinding:
    """The volumes and devices of its pods are being bound: *binds* are sent after all of them are bound, or not at all."""

    binds: Binds
    decision: Decision
    writes: Mapping[Ref, PreBindWrite]
    """Writes by the claim or volume that they change."""
    since: float
    outcomes: dict[Ref, WriteOutcome] = dataclasses.field(default_factory=dict)
    """Results of the writes that have ended."""
    failures: dict[Ref, str] = dataclasses.field(default_factory=dict)
    """Errors of the writes that have failed."""
    selected: set[Ref] = dataclasses.field(default_factory=set)
    """Claims whose selected node the watch has shown."""


@dataclasses.dataclass(frozen=True, slots=True)
class Binding:
    """Binds are in flight: no attempt starts before the last of them has ended."""

    binds: Binds
    decision: Decision | None = None
    outcomes: dict[Ref, WriteOutcome] = dataclasses.field(default_factory=dict)
    """Results of the binds that have ended."""
    failures: dict[Ref, str] = dataclasses.field(default_factory=dict)
    """Errors of the binds that are retried or have failed."""

    @property
    def done(self) -> int:
        """Number of binds that are carried out."""
        return sum(outcome is WriteOutcome.DONE for outcome in self.outcomes.values())

    @property
    def unconfirmed(self) -> Binds:
        """The binds with an unknown result."""
        return {ref: self.binds[ref] for ref, outcome in self.outcomes.items() if outcome is WriteOutcome.FAILED}

    @property
    def failed(self) -> bool:
        """True if any bind failed."""
        return any(outcome is not WriteOutcome.DONE for outcome in self.outcomes.values())


@dataclasses.dataclass(frozen=True, slots=True)
class PreemptionProposed:
    """No eviction of *plan* is sent yet; its victims are assumed deleted, and its nominations hold capacity."""

    plan: PreemptionPlan
    passed: bool = False
    """Whether the dry run of its evictions has passed; earlier plans come first."""
    unwritten: dict[Ref, str] | None = None
    """Nominated nodes whose writes are in flight; None before they are sent.  No pod is evicted before the API server has them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Preempting:
    """The evictions of *plan* are in flight; its victims are the ones that still exist."""

    plan: PreemptionPlan
    disrupted: Mapping[Ref, frozenset[Ref]] = dataclasses.field(default_factory=dict)
    """Groups with the condition DisruptionTarget for this plan, each with its victims whose eviction has not failed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Deleted:
    """Removed from the queue: the object no longer exists, is no longer ours, or nothing is left to do."""


State = Gated | Backoff | Unschedulable | Active | Scheduling | PreBinding | Binding | PreemptionProposed | Preempting | Deleted
STATES: tuple[type[State], ...] = (
    Gated,
    Backoff,
    Unschedulable,
    Active,
    Scheduling,
    PreBinding,
    Binding,
    PreemptionProposed,
    Preempting,
)
"""The states of an entity that is in the queue."""

QUEUES: dict[type[State], str] = {
    Active: "active",
    Scheduling: "active",
    Backoff: "backoff",
    Unschedulable: "unschedulable",
    PreemptionProposed: "unschedulable",
    Preempting: "unschedulable",
    Gated: "gated",
}
"""Queue of kube-scheduler for each state; a root with binds in flight is in no queue."""
UNDER_WAY: dict[type[State], str] = {PreBinding: "binding", Binding: "binding", PreemptionProposed: "preempting", Preempting: "preempting"}

"""Work under way of a root in these states, as the label of a metric."""


class Event(enum.StrEnum):
    """Event that changes the state of an entity."""

    GATE = "Gate"
    BACKOFF = "Backoff"
    ACTIVATE = "Activate"
    POP = "Pop"
    ADD_UNSCHEDULABLE = "AddUnschedulable"
    PRE_BIND = "PreBind"
    PRE_BINDING_FAILED = "PreBindingFailed"
    BIND = "Bind"
    BINDING_DONE = "BindingDone"
    PROPOSE_PREEMPTION = "ProposePreemption"
    DRY_RUN_PASSED = "DryRunPassed"
    NOMINATE = "Nominate"
    PREEMPT = "Preempt"
    VICTIM_GONE = "VictimGone"
    PREEMPTION_DONE = "PreemptionDone"
    DELETE = "Delete"


_QUEUED = (Gated, Backoff, Unschedulable, Active, Scheduling)
TABLE: tuple[tuple[Event, tuple[type[State], ...], type[State], str], ...] = (
    (Event.GATE, _QUEUED, Gated, "it cannot be attempted before members, a parent or gates change, or a kind is listed"),
    (Event.BACKOFF, _QUEUED, Backoff, "it is attempted after its backoff"),
    (Event.ACTIVATE, _QUEUED, Active, "it must be attempted, recorded as scheduled or undone, or its binds must be repeated"),
    (Event.POP, (Active,), Scheduling, "an attempt begins"),
    (
        Event.ADD_UNSCHEDULABLE,
        (Unschedulable, Active, Scheduling),
        Unschedulable,
        "the attempt failed; or it was active for another action, which is done",
    ),
    (Event.PRE_BIND, (Scheduling,), PreBinding, "its pods are assumed, and their volumes and devices are being bound"),
    (Event.PRE_BINDING_FAILED, (PreBinding,), Backoff, "a volume or device could not be bound: no bind was sent"),
    (Event.BIND, (Scheduling, PreBinding), Binding, "its pods are assumed, their volumes and devices are bound, and binds are sent"),
    (Event.BINDING_DONE, (Binding,), Backoff, "the last of its binds has ended"),
    (Event.PROPOSE_PREEMPTION, (Scheduling,), PreemptionProposed, "the attempt failed, and preemption can help"),
    (Event.DRY_RUN_PASSED, (PreemptionProposed,), PreemptionProposed, "the dry run has passed; earlier plans come first"),
    (Event.NOMINATE, (PreemptionProposed,), PreemptionProposed, "it is the first plan, and still holds: nominations are sent"),
    (Event.PREEMPT, (PreemptionProposed,), Preempting, "the nominations are written, and the plan still holds: evictions are sent"),
    (Event.VICTIM_GONE, (Preempting,), Preempting, "a victim is gone, or its eviction failed"),
    (
        Event.PREEMPTION_DONE,
        (PreemptionProposed, Preempting),
        Backoff,
        "no victim is left; or the plan was refused, is outdated or took too long",
    ),
    (Event.DELETE, STATES, Deleted, "it no longer exists, is no longer ours, or nothing is left to do"),
)
"""Each event with the states in which it is allowed, the state to which it leads, and when it occurs."""
TRANSITIONS = {(before, event): after for event, befores, after, _ in TABLE for before in befores}


class IllegalTransitionError(RuntimeError):
    """Event in a state in which it is not allowed: a bug in this program."""


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
