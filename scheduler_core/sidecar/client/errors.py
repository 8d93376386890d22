"""Classification of API server errors for writes."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_core.sidecar.writes import Bind, Evict, Nominate, RecordEvent, Remove, SetCondition, Ungate, Write, WriteOutcome

CONFLICT, GONE, INVALID, NOT_FOUND, TOO_MANY, UNAVAILABLE = 409, 410, 422, 404, 429, 503
FORBIDDING = frozenset({401, 403})
QUIETING = frozenset({TOO_MANY, UNAVAILABLE})
"""With these the server says for all requests how long it wants to be left alone."""
SERVERS_OWN = 500
"""From this HTTP status on, of which those between us and the server have many of their own, it is not known what was done."""
_PASSING = frozenset({*FORBIDDING, 408, TOO_MANY})


class Next(enum.Enum):
    """Next step after an error."""

    AGAIN = "the same request, later"
    LOOK = "read the object, and decide by what it is now"
    OVER = "no use in asking again"
    WHOSE = "no use in asking again; read the object to tell whether it is the one that was meant"
    GONE = "the object is not there"


def next_step(code: int, causes: Sequence[str], write: Write) -> Next:
    """Return the next step after a response with this HTTP status and these causes of its Status.

    An eviction that a disruption budget does not allow is refused with 429, like a request at a bad moment; its cause tells.
    """
    if code == TOO_MANY and isinstance(write, Evict) and "DisruptionBudget" in causes:
        return Next.OVER
    if code in _PASSING or code >= SERVERS_OWN:
        return Next.AGAIN
    if code in (NOT_FOUND, GONE):
        return Next.GONE
    if code == INVALID and not isinstance(write, RecordEvent):
        return Next.WHOSE
    return Next.LOOK if code == CONFLICT else Next.OVER


def outcome_from_object(write: Write, content: Mapping[str, Any] | None) -> tuple[WriteOutcome, str] | None:
    """Return the outcome of *write* after a conflict or a lost response, given the current object (None: it does not exist).

    None: it is still to be done.
    """
    if content is None or _uid(content) != _target_uid(write, _uid(content)):
        return WriteOutcome.GONE, "it is not there any more"
    leaving = bool((content.get("metadata") or {}).get("deletionTimestamp"))
    spec = content.get("spec") or {}
    match write:
        case Bind(node=node):
            return _bound(spec, node, leaving=leaving)
        case Evict() | Remove():
            return (WriteOutcome.DONE, "") if leaving else None
        case Ungate() | Nominate() | SetCondition():
            return (WriteOutcome.GONE, "it is being deleted") if leaving and not isinstance(write, SetCondition) else None
        case _:
            return None


def _bound(spec: Mapping[str, Any], node: str, *, leaving: bool) -> tuple[WriteOutcome, str] | None:
    there = spec.get("nodeName")
    if there == node:
        return WriteOutcome.DONE, ""
    if there:
        return WriteOutcome.REFUSED, f"it is on node {there}"
    return (WriteOutcome.GONE, "it is being deleted") if leaving else None


def _uid(content: Mapping[str, Any]) -> str:
    return str((content.get("metadata") or {}).get("uid") or "")


def _target_uid(write: Write, otherwise: str) -> str:
    target = write.pod if isinstance(write, Bind | Ungate | Nominate | Evict | Remove) else write.target
    return target.uid or otherwise
