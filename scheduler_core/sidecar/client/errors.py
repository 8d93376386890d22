"""Classification of API server errors for writes."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_core.sidecar.writes import Bind, Evict, Nominate, RecordEvent, Remove, SetCondition, Ungate, Write, WriteOutcome

CONFLICT, GONE, INVALID, NOT_FOUND, TOO_MANY, UNAVAILABLE = 409, 410, 422, 404, 429, 503
AUTH_ERRORS = frozenset({401, 403})
WITH_RETRY_AFTER = frozenset({TOO_MANY, UNAVAILABLE})
"""With these the server says for all requests how long it wants to be left alone."""
FIRST_SERVER_ERROR = 500
"""From this HTTP status on, of which those between us and the server have many of their own, it is not known what was done."""
_TRANSIENT = frozenset({*AUTH_ERRORS, 408, TOO_MANY})


class NextStep(enum.Enum):
    """Next step after an error."""

    RETRY = "the same request, later"
    READ_OBJECT = "read the object, and decide by what it is now"
    GIVE_UP = "no use in asking again"
    CHECK_UID = "no use in asking again; read the object to tell whether it is the one that was meant"
    GONE = "the object is not there"


def next_step(code: int, causes: Sequence[str], write: Write) -> NextStep:
    """Return the next step after a response with this HTTP status and these causes of its Status.

    An eviction that a disruption budget does not allow is refused with 429, like a request at a bad moment; its cause tells.
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

    None: it is still to be done.
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
        case Ungate() | Nominate() | SetCondition():
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


def _uid(content: Mapping[str, Any]) -> str:
    return str((content.get("metadata") or {}).get("uid") or "")


def _target_uid(write: Write, otherwise: str) -> str:
    target = write.pod if isinstance(write, Bind | Ungate | Nominate | Evict | Remove) else write.target
    return target.uid or otherwise
