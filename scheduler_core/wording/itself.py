"""Causes of a group as causes of the object of a person for which it was created: they say "it" instead of a name that nobody wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubeapi.base_structs import Record, replaced
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.pre_enqueue import PreEnqueueCause
from scheduler_core.model.names import Name

ITSELF = Name("", "", "it")
"""Name of the object of which the text is."""


def about_itself(causes: Sequence[Cause], root: Name) -> tuple[Cause, ...]:
    """Return *causes* with ``ITSELF`` in place of *root*; the order in which pods are placed is left out.

    Those that keep a root out of the queue stay: they quote the names, and depend on the kinds, of its groups.
    """
    return tuple(each if isinstance(each, PreEnqueueCause) else _changed(each, root) for each in causes)


def _changed(value: Any, root: Name) -> Any:
    """Return a cause, or a field of one, about the object."""
    if isinstance(value, Name):
        return ITSELF if value == root else value
    if isinstance(value, tuple):
        items = [_changed(each, root) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if not isinstance(value, Record):
        return value
    changes = {name: _changed(getattr(value, name), root) for name in value.__struct_fields__}
    if "in_order" in changes:
        changes["in_order"] = False
    return replaced(value, **changes)
