"""Classification of API server errors for writes."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_core.sidecar.client.claim_status import claim_outcome
from scheduler_core.sidecar.client.extended_claim import deletion_outcome
from scheduler_core.sidecar.client.requests import SELECTED_NODE
from scheduler_core.sidecar.writes import (
    AllocateClaim,
    AllocateExtended,
    Bind,
    DeleteExtended,
    Evict,
    Nominate,
    RecordEvent,
    Ref,
    ReleaseClaim,
    Remove,
    ReserveVolume,
    SelectNode,
    SetCondition,
    Ungate,
    VolumeWrite,
    Write,
    WriteOutcome,
)

CONFLICT, GONE, INVALID, NOT_FOUND, TOO_MANY, UNAVAILABLE = 409, 410, 422, 404, 429, 503
AUTH_ERRORS = frozenset({401, 403})
WITH_RETRY_AFTER = frozenset({TOO_MANY, UNAVAILABLE})
"""Statuses with a Retry-After that applies to all requests."""
FIRST_SERVER_ERROR = 500
"""Lowest HTTP status for an error of the server or of a proxy: the write may have been carried out anyway."""
_TRANSIENT = frozenset({*AUTH_ERRORS, 408, TOO_MANY})


class NextStep(enum.Enum):
    """Next step after an error."""

    RETRY = enum.auto()
    """Repeat the request later."""
    READ_OBJECT = enum.auto()
    """Read the object and decide by its current state."""
    GIVE_UP = enum.auto()
    """A retry would not help."""
    CHECK_UID = enum.auto()
    """A retry would not help; read the object to see whether it has the expected uid."""
    GONE = enum.auto()
    """The object does not exist."""


def next_step(code: int, causes: Sequence[str], write: Write) -> NextStep:
    """Return the next step after a response with HTTP status *code* and the causes of its Status.

    A 429 means either that a disruption budget forbids the eviction or that the server is overloaded; *causes* shows which.
    """
    if code == TOO_MANY and isinstance(write, Evict) and "DisruptionBudget" in causes:
        return NextStep.GIVE_UP
    if code in _TRANSIENT or code >= FIRST_SERVER_ERROR:
        return NextStep.RETRY
    if code in (NOT_FOUND, GONE):
        return NextStep.GONE
    if code == INVALID and not isinstance(write, RecordEvent):
        return NextStep.CHECK_UID
    return NextStep.READ_OBJECT if code == CONFLICT else NextStep.GIVE_UP


def outcome_from_object(write: Write, content: Mapping[str, Any] | None) -> tuple[WriteOutcome, str] | None:
    """Return the outcome of *write* after a conflict or a lost response, given the current object (None: it does not exist).

    None: the write must still be made.
    """
    if content is None or _uid(content) != _target_uid(write, _uid(content)):
        return WriteOutcome.GONE, "the object no longer exists"
    terminating = bool((content.get("metadata") or {}).get("deletionTimestamp"))
    spec = content.get("spec") or {}
    match write:
        case Bind(node=node):
            return _bound(spec, node, terminating=terminating)
        case Evict() | Remove():
            return (WriteOutcome.DONE, "") if terminating else None
        case ReserveVolume() | SelectNode() | AllocateClaim() | ReleaseClaim() | DeleteExtended():
            return _claim_or_volume_outcome(write, content, terminating=terminating)
        case Ungate() | Nominate() | SetCondition() | AllocateExtended():
            return (WriteOutcome.GONE, "the object is being deleted") if terminating and not isinstance(write, SetCondition) else None
        case _:
            return None


def _bound(spec: Mapping[str, Any], node: str, *, terminating: bool) -> tuple[WriteOutcome, str] | None:
    current = spec.get("nodeName")
    if current == node:
        return WriteOutcome.DONE, ""
    if current:
        return WriteOutcome.REFUSED, f"the pod is already bound to node {current}"
    return (WriteOutcome.GONE, "the object is being deleted") if terminating else None


def _claim_or_volume_outcome(
    write: VolumeWrite | AllocateClaim | ReleaseClaim | DeleteExtended, content: Mapping[str, Any], *, terminating: bool
) -> tuple[WriteOutcome, str] | None:
    if isinstance(write, AllocateClaim | ReleaseClaim):
        return claim_outcome(write, content, terminating=terminating)
    if isinstance(write, DeleteExtended):
        return deletion_outcome(write, content)
    if isinstance(write, SelectNode):
        return _selected(content, write.node, terminating=terminating)
    return _reserved((content.get("spec") or {}).get("claimRef") or {}, write.claim, terminating=terminating)


def _reserved(reference: Mapping[str, Any], claim: Ref, *, terminating: bool) -> tuple[WriteOutcome, str] | None:
    if reference.get("uid") == claim.uid:
        return WriteOutcome.DONE, ""
    ours = (reference.get("namespace"), reference.get("name"), reference.get("uid") or "") == (claim.namespace, claim.name, "")
    if reference and not ours:
        return WriteOutcome.REFUSED, f"the volume is reserved for claim {reference.get('namespace')}/{reference.get('name')}"
    return (WriteOutcome.REFUSED, "the volume is being deleted") if terminating else None


def _selected(content: Mapping[str, Any], node: str, *, terminating: bool) -> tuple[WriteOutcome, str] | None:
    current = ((content.get("metadata") or {}).get("annotations") or {}).get(SELECTED_NODE)
    if (content.get("spec") or {}).get("volumeName") or current == node:
        return WriteOutcome.DONE, ""
    if current:
        return WriteOutcome.REFUSED, f"its volume is to be created for node {current}"
    return (WriteOutcome.REFUSED, "the claim is being deleted") if terminating else None


def _uid(content: Mapping[str, Any]) -> str:
    return str((content.get("metadata") or {}).get("uid") or "")


def _target_uid(write: Write, otherwise: str) -> str:
    target = write.pod if isinstance(write, Bind | Ungate | Nominate | Evict | Remove) else write.target
    return target.uid or otherwise
