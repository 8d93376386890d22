"""Writes to the API server as values; only ``writer`` carries them out.

Every write has the uid of the object that it was decided for, so it never changes a newer object of the same name.  Writes are
idempotent: after a restart, a write with an unknown result is repeated.

Each write has a *target*, the object that is written; an *urgency*, 0 for the most urgent; and a *slot*, the part of the object that
it sets.  A later write of a slot replaces an earlier one.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import ClassVar

from scheduler_core.model.devices import Allocation

MOST_URGENT = -1
"""Urgency of a report that writes fail: it must not wait for these writes."""
Slot = tuple[str, str]
"""A part of an object that a write sets: ``condition`` and its type, ``finalizer`` and its name."""


class EvictionMethod(enum.StrEnum):
    """Method by which a victim is removed."""

    EVICT = "evict"
    """Through the eviction API, which honours disruption budgets."""
    DELETE = "delete"
    """By deletion of the pod, which ignores disruption budgets."""


class Deviations(enum.StrEnum):
    """Treatment of a gang whose pods their scheduler does not bind as planned."""

    REPORT = "report"
    """It is reported, and no pod of another scheduler is deleted."""
    UNDO = "undo"
    """Its pods are deleted, so that their controllers create them again and the gang is placed anew."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Reference to one object; an empty uid matches any.

    *group* is the API group of a kind that several have; empty for that of the hub.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""
    group: str = ""

    @property
    def resource(self) -> str:
        """The name of its resource: ``PodGroup``, ``PodGroup.scheduling.muster.dev``."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """Condition to write.

    *since* is the ``lastTransitionTime`` of the current condition if it has the same type and status; empty for the time of writing.
    """

    type: str
    status: str
    reason: str
    message: str
    since: str = ""


class _Action:
    """Base of one-time actions, which set no part of an object for good."""

    __slots__ = ()

    @property
    def slot(self) -> None:
        """None: a one-time action."""


class _PodWrite(_Action):
    """Base of the writes to a pod."""

    __slots__ = ()
    urgency: ClassVar[int]
    pod: Ref

    @property
    def target(self) -> Ref:
        """The object that is written."""
        return self.pod


@dataclasses.dataclass(frozen=True, slots=True)
class Bind(_PodWrite):
    """Bind a pod to a node (``pods/binding``)."""

    urgency: ClassVar[int] = 0
    pod: Ref
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class Ungate(_PodWrite):
    """In one request: pin a gated pod to a node by its label *hostname*, annotate it with the node, and remove our scheduling gate."""

    urgency: ClassVar[int] = 0
    pod: Ref
    node: str
    hostname: str


@dataclasses.dataclass(frozen=True, slots=True)
class Nominate(_PodWrite):
    """Set ``status.nominatedNodeName`` of a pending pod; an empty node clears it."""

    urgency: ClassVar[int] = 1
    pod: Ref
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class ReserveVolume(_Action):
    """Reserve a PersistentVolume for a claim; the PersistentVolume controller then binds the claim to it."""

    urgency: ClassVar[int] = 0
    target: Ref
    claim: Ref


@dataclasses.dataclass(frozen=True, slots=True)
class SelectNode(_Action):
    """Annotate a claim with the node for which its provisioner creates a volume."""

    urgency: ClassVar[int] = 0
    target: Ref
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class ClearSelectedNode(_Action):
    """Remove the annotation of ``SelectNode`` from a claim that has no volume yet, if it still names *node*."""

    urgency: ClassVar[int] = 1
    target: Ref
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class AllocateClaim(_Action):
    """Allocate a ResourceClaim, unless it has these devices, and reserve it, or *only_reserve* it; with configurations of classes as JSON."""

    urgency: ClassVar[int] = 0
    target: Ref
    allocation: Allocation
    consumers: tuple[Ref, ...]
    configurations: tuple[tuple[str, bytes], ...] = ()
    only_reserve: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ReleaseClaim(_Action):
    """Remove reservations of a ResourceClaim, and deallocate it if none is left."""

    urgency: ClassVar[int] = 1
    target: Ref
    consumers: tuple[Ref, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AllocateExtended(_Action):
    """Create, allocate and reserve the claim for the extended resources of a pod, and name it in the status of the pod.

    *requests* have name, device class and number of devices; *mappings* have container, resource and request.
    """

    urgency: ClassVar[int] = 0
    target: Ref
    claim: str
    requests: tuple[tuple[str, str, int], ...]
    mappings: tuple[tuple[int, str, str], ...]
    allocation: Allocation
    configurations: tuple[tuple[str, bytes], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteExtended(_Action):
    """Delete a claim that was created for the extended resources of a pod without a node."""

    urgency: ClassVar[int] = 1
    target: Ref
    pod: Ref


VolumeWrite = ReserveVolume | SelectNode
ClaimWrite = AllocateClaim | AllocateExtended
PreBindWrite = VolumeWrite | ClaimWrite
"""Writes about volumes and claims to devices that must succeed before a pod is bound."""


@dataclasses.dataclass(frozen=True, slots=True)
class SetCondition:
    """Set a condition of a group or a pod.

    A *condition* without a status removes the condition of that type; if it has a message, only a condition with this message.
    """

    target: Ref
    condition: Condition
    urgency: int = dataclasses.field(default=2, compare=False, repr=False)

    @property
    def slot(self) -> Slot:
        """Return the part of the object that the write sets."""
        return "condition", self.condition.type


@dataclasses.dataclass(frozen=True, slots=True)
class Evict(_PodWrite):
    """Evict a victim and set its condition DisruptionTarget (reason PreemptionByScheduler)."""

    urgency: ClassVar[int] = 0
    pod: Ref
    message: str
    method: EvictionMethod = EvictionMethod.EVICT


@dataclasses.dataclass(frozen=True, slots=True)
class Remove(_PodWrite):
    """Delete a bound pod of a gang that could not be bound completely."""

    urgency: ClassVar[int] = 1
    pod: Ref
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Add a finalizer to a group."""

    urgency: ClassVar[int] = 3
    target: Ref
    finalizer: str

    @property
    def slot(self) -> Slot:
        """Return the part of the object that the write sets."""
        return "finalizer", self.finalizer


@dataclasses.dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Remove a finalizer from a group that has nothing left to protect."""

    urgency: ClassVar[int] = 3
    target: Ref
    finalizer: str

    @property
    def slot(self) -> Slot:
        """Return the part of the object that the write sets."""
        return "finalizer", self.finalizer


@dataclasses.dataclass(frozen=True, slots=True)
class RecordEvent(_Action):
    """Record an Event for an object.  Equal events are counted, not repeated; nothing waits for an event, and excess events are dropped."""

    urgency: ClassVar[int] = 4
    target: Ref
    type: str
    """Normal or Warning."""
    reason: str
    message: str


class WriteOutcome(enum.Enum):
    """Outcome of a write."""

    DONE = "done"
    """The write was carried out, now or earlier."""
    GONE = "gone"
    """The object no longer exists, or a newer object has its name."""
    REFUSED = "refused"
    """The API server refused the write; a retry would not help."""
    FAILED = "failed"
    """The write timed out after retries; it may have been carried out."""
    DROPPED = "dropped"
    """The write was not completed because this process lost leadership, even if it is the leader again."""


Write = (
    Bind
    | Ungate
    | Nominate
    | ReserveVolume
    | SelectNode
    | ClearSelectedNode
    | AllocateClaim
    | ReleaseClaim
    | AllocateExtended
    | DeleteExtended
    | SetCondition
    | Evict
    | Remove
    | AddFinalizer
    | RemoveFinalizer
    | RecordEvent
)
