"""Writes to the API server as values; only ``writer`` carries them out.

Every write names the uid it was decided for, so that an object of the same name made since is left alone, and each can be
made twice without harm: a restart repeats what it does not know to be done.

Each knows its *target*, the object that is written; its *urgency*, the most urgent 0; and its *slot*: what of the object it sets, by
which a later write of the same takes the place of an earlier one.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import ClassVar

Slot = tuple[str, str]
"""A part of an object that a write sets: ``condition`` and its type, ``finalizer`` and its name."""


class EvictionMethod(enum.StrEnum):
    """Eviction of a victim."""

    EVICT = "evict"
    """By the eviction API, which honours disruption budgets."""
    DELETE = "delete"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Ref:
    """One object."""

    kind: str
    namespace: str
    name: str
    uid: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """A condition to be there.

    *since* is the ``lastTransitionTime`` to keep, of a condition of the same type and status that is there already; empty for
    the moment of writing.
    """

    type: str
    status: str
    reason: str
    message: str
    since: str = ""


class _PodWrite:
    """Base of the writes to a pod."""

    __slots__ = ()
    urgency: ClassVar[int]
    pod: Ref

    @property
    def target(self) -> Ref:
        """The object that is written."""
        return self.pod

    @property
    def slot(self) -> None:
        """None: a step, not a state that is asked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bind(_PodWrite):
    """Bind a pod to a node (``pods/binding``)."""

    urgency: ClassVar[int] = 0
    pod: Ref
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class Ungate(_PodWrite):
    """Pin a gated pod to a node by its selector, mark it with where it goes, and remove our gate: one request."""

    urgency: ClassVar[int] = 0
    pod: Ref
    node: str
    hostname: str
    """The value of the node's label ``kubernetes.io/hostname``."""


@dataclasses.dataclass(frozen=True, slots=True)
class Nominate(_PodWrite):
    """Set ``status.nominatedNodeName`` of a pending pod; an empty node clears it."""

    urgency: ClassVar[int] = 1
    pod: Ref
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class SetCondition:
    """Put a condition on a group or a pod, or (*condition* without a status) take the one of that type away."""

    urgency: ClassVar[int] = 2
    target: Ref
    condition: Condition

    @property
    def slot(self) -> Slot:
        """Return the part of the object that it sets."""
        return "condition", self.condition.type


@dataclasses.dataclass(frozen=True, slots=True)
class Evict(_PodWrite):
    """Make a victim leave: its condition DisruptionTarget first (reason PreemptionByScheduler), then the eviction."""

    urgency: ClassVar[int] = 0
    pod: Ref
    message: str
    method: EvictionMethod = EvictionMethod.EVICT


@dataclasses.dataclass(frozen=True, slots=True)
class Remove(_PodWrite):
    """Delete a pod that was bound for a gang that did not come about."""

    urgency: ClassVar[int] = 1
    pod: Ref
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Add a finalizer to a group that lacks it."""

    urgency: ClassVar[int] = 3
    target: Ref
    finalizer: str

    @property
    def slot(self) -> Slot:
        """Return the part of the object that it sets."""
        return "finalizer", self.finalizer


@dataclasses.dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Remove a finalizer, with the resource version at which nothing was left that it protects."""

    urgency: ClassVar[int] = 3
    target: Ref
    finalizer: str

    @property
    def slot(self) -> Slot:
        """Return the part of the object that it sets."""
        return "finalizer", self.finalizer


@dataclasses.dataclass(frozen=True, slots=True)
class RecordEvent:
    """An event on an object; equal ones are counted, not repeated.  Never waited for, dropped when there are too many."""

    urgency: ClassVar[int] = 4
    target: Ref
    type: str
    """Normal or Warning."""
    reason: str
    message: str

    @property
    def slot(self) -> None:
        """None: a step, not a state that is asked for."""


class WriteOutcome(enum.Enum):
    """Outcome of a write."""

    DONE = "done"
    """It was carried out, now or before."""
    GONE = "gone"
    """The object is not there any more, or another of its name is."""
    REFUSED = "refused"
    """The server will not have it; asking again in the same way would not help."""
    FAILED = "failed"
    """It was tried until time was up; whether it was carried out is not known."""
    DROPPED = "dropped"
    """It was not tried, or not to the end: we do not lead any more, or lead anew."""


Write = Bind | Ungate | Nominate | SetCondition | Evict | Remove | AddFinalizer | RemoveFinalizer | RecordEvent
