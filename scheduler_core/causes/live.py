"""Causes that only a live cluster has: blocked evictions, claims of pods that are gone, kinds that are not listed, interrupted binding."""

from __future__ import annotations

import datetime as dt
import enum
from typing import NamedTuple

from kubeapi.base_structs import Record
from scheduler_core.model.names import Name, NamedClaim


class ExceededBudget(Record, frozen=True):
    """PodDisruptionBudget that allows fewer disruptions than there are *victims* that it matches."""

    budget: Name
    disruptions_allowed: int
    victims: tuple[str, ...]


class OverlappingBudgets(Record, frozen=True):
    """Pod with several PodDisruptionBudgets, which the eviction API does not evict."""

    pod: str
    budgets: tuple[Name, ...]


BudgetConflict = ExceededBudget | OverlappingBudgets


class EvictionRefused(Record, frozen=True):
    """Pod that the API server did not evict, with its error."""

    pod: str
    error: str


class EvictionsBlocked(Record, frozen=True):
    """Victims that are not evicted before a PodDisruptionBudget changes, or *retry_seconds* have passed."""

    by: EvictionRefused | tuple[BudgetConflict, ...]
    retry_seconds: float


class ClaimsUnreleased(Record, frozen=True):
    """Claims to devices that are reserved for pods that are gone, and that nominated pods need."""

    claims: tuple[NamedClaim, ...]


class ClaimsAwaited(Record, frozen=True):
    """Claims that get devices for pods of other roots when evicted pods are gone."""

    claims: tuple[NamedClaim, ...]


class UnlistedReason(enum.StrEnum):
    """Reason why the objects of a kind are not listed."""

    NOT_YET = "not-yet"
    """The first list has not ended, or has failed."""
    FORBIDDEN = "forbidden"
    """The API server forbids to list or watch them."""
    NOT_SERVED = "not-served"
    """The API server does not serve the kind."""


class Unlisted(Record, frozen=True):
    """Why a kind is not listed; *error* is that of the last attempt, if it failed."""

    because: UnlistedReason = UnlistedReason.NOT_YET
    error: str = ""


class UnlistedKind(NamedTuple):
    """Kind that is not listed."""

    kind: str
    status: Unlisted


class ObjectsAwaited(Record, frozen=True):
    """Kinds that are not listed, and the first object that needs one of them."""

    needed_by: Name
    kinds: tuple[UnlistedKind, ...]


class PartiallyBound(Record, frozen=True):
    """Gang of which *pods* have a node, but not all that it needs.

    They are deleted at *until*, in UTC; None: it waits for pods that are being deleted, however long that takes.  With *kept*, they are
    not deleted.
    """

    pods: int
    until: dt.datetime | None
    kept: bool = False


class PinnedPodsAwaited(Record, frozen=True):
    """Gang whose *pods* are pinned to nodes, and deleted at *until*, in UTC, if their scheduler does not bind them; with *kept*, reported."""

    pods: int
    until: dt.datetime
    kept: bool = False


class Deviation(enum.StrEnum):
    """Difference between the node to which a pod was pinned, and what its scheduler did."""

    BOUND_ELSEWHERE = "bound-elsewhere"
    """It is bound to another node."""
    NOT_BOUND = "not-bound"
    """It is not bound in time."""
    NODE_GONE = "node-gone"
    """It is not bound, and its node no longer exists."""
    POD_GONE = "pod-gone"
    """It no longer exists, and its gang misses it."""


class DeviatingPod(NamedTuple):
    """Pod that was pinned to *planned_node*; *node*: the node to which it is bound, *error*: why it is not, by its scheduler."""

    pod: str
    planned_node: str
    deviation: Deviation
    node: str = ""
    error: str = ""


class PlacementDeviated(Record, frozen=True):
    """Root whose pods were pinned to nodes, and are not as planned."""

    deviating: tuple[DeviatingPod, ...]


class UndoReason(enum.StrEnum):
    """Reason why a partially bound gang is undone."""

    PODS_MISSING = "pods-missing"
    """Pods that it needs are missing, gated or could not be bound."""
    PINNED_PODS_UNBOUND = "pinned-pods-unbound"
    """Its pods were not bound to the nodes to which they are pinned, or to nodes in several domains."""


class GangUndone(Record, frozen=True):
    """Partially bound gang whose *pods* with a node were deleted."""

    because: UndoReason
    pods: int


class Awaited(enum.StrEnum):
    """Events that a root waits for."""

    FIRST_ATTEMPT = "first-attempt-awaited"
    """The root was not attempted yet."""
    DELETION = "deletion-awaited"
    """Pods of the root are being deleted."""


class NodeWithoutHostname(Record, frozen=True):
    """Node without the label of its host name, which is needed to pin a pod to it."""

    node: str


class StaleExtendedClaim(Record, frozen=True):
    """Pod whose status names a claim for extended resources, although *node* has these resources itself."""

    pod: str
    node: str


class ClaimUnreserved(Record, frozen=True):
    """Claim that is not reserved for a pod that another scheduler binds."""

    claim: NamedClaim
    pod: str


LiveCause = (
    EvictionsBlocked
    | ClaimsUnreleased
    | ClaimsAwaited
    | ObjectsAwaited
    | PartiallyBound
    | PinnedPodsAwaited
    | PlacementDeviated
    | GangUndone
    | Awaited
    | NodeWithoutHostname
    | StaleExtendedClaim
    | ClaimUnreserved
)
