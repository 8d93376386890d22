"""FieldErrors as a Status: the API's own error object, which kubectl prints like that of a built-in check.

With reason Invalid kubectl shows the causes and nothing else, so each cause's message stands alone: the value, what
must hold, the limit and, in profile ``kep``, the id of the rule that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from validators.field import FieldError

INVALID, FORBIDDEN = 422, 403
MAX_CAUSES = 200
"""Causes that are listed one by one; a Status of thousands would exceed what the API server passes on."""
MAX_MESSAGE = 8192
"""Characters of one message: it may echo names, which are as long as whoever wrote them pleased."""


def from_errors(errors: Sequence[FieldError], *, group: str, kind: str, name: str, named: bool) -> dict[str, Any]:
    """A Status of reason Invalid, 422, with a cause for each error.  *named*: whether messages end with the rule's id."""
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
    """The text of errors that the API server answers as a plugin does."""
    shown = [with_rule(_cut(error.detail), error.origin if named else "") for error in errors[:MAX_CAUSES]]
    more = len(errors) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)


def forbidden(text: str, *, group: str, kind: str, name: str) -> dict[str, Any]:
    """A Status of reason Forbidden, 403, as an admission plugin of the API server answers: a message, no causes."""
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
    """One error in words; *named*, with the id of its rule."""
    return with_rule(_cut(str(error)), error.origin if named else "")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}…"


def with_rule(text: str, rule: str) -> str:
    """*text*, ending with the id of the rule that says so (if one is given)."""
    return f"{text} [muster: {rule}]" if rule else text
