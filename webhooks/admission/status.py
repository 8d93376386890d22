"""Status of a refusal, as the API server's own validation returns it, from FieldErrors.

With reason Invalid kubectl shows the causes only.  Each cause's message therefore is complete: the value, the requirement,
the limit and, in profile ``kep``, the rule id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from validators.field import FieldError

INVALID, FORBIDDEN = 422, 403
MAX_CAUSES = 200
"""Limit for the causes in a Status; thousands would exceed what the API server passes on."""
MAX_MESSAGE = 8192
"""Limit for one message, in characters; it may quote names, whose length the user chooses."""


def from_errors(errors: Sequence[FieldError], *, group: str, kind: str, name: str, named: bool) -> dict[str, Any]:
    """Return a Status of reason Invalid, 422, with a cause for each error; with *named* messages end with the rule id."""
    causes = [
        {"reason": error.type.value, "message": message(error, named=named), "field": str(error.path)} for error in errors[:MAX_CAUSES]
    ]
    shown = [f"{each['field']}: {each['message']}" if each["field"] else each["message"] for each in causes]
    more = len(errors) - len(causes)
    if more:
        shown.append(f"and {more} more")
    listed = shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"
    subject = f"{kind}.{group}" if group else kind
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'{subject} "{name}" is invalid: {listed}',
        "reason": "Invalid",
        "details": {"name": name, "group": group, "kind": kind, "causes": causes},
        "code": INVALID,
    }


def of_plugin(errors: Sequence[FieldError], *, named: bool) -> str:
    """Return the message for errors that the API server's admission plugin reports, instead of its validation."""
    shown = [with_rule(_cut(error.detail), error.origin if named else "") for error in errors[:MAX_CAUSES]]
    more = len(errors) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)


def forbidden(text: str, *, group: str, kind: str, name: str) -> dict[str, Any]:
    """Return a Status of reason Forbidden, 403, as an admission plugin of the API server does: a message, no causes."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": text,
        "reason": "Forbidden",
        "details": {"name": name, "group": group, "kind": kind},
        "code": FORBIDDEN,
    }


def message(error: FieldError, *, named: bool) -> str:
    """Return the message of one error; with *named* it ends with the rule id."""
    return with_rule(_cut(str(error)), error.origin if named else "")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}…"


def with_rule(text: str, rule: str) -> str:
    """Return *text* followed by the rule id; unchanged if *rule* is empty."""
    return f"{text} [muster: {rule}]" if rule else text
