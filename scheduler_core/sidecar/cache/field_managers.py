"""Field managers of a status condition and of an annotation, from ``metadata.managedFields``.

Sources: metav1.ManagedFieldsEntry, and FieldsV1 of structured-merge-diff: ``f:`` and the name of a field, ``k:`` and the key of a list's
item.  Managed fields are often more than half of an object: they are decoded only on demand and are not cached.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeapi import decode
from kubeapi.meta import Struct


class _Status(msgspec.Struct, frozen=True, rename={"conditions": "f:conditions"}):
    conditions: dict[str, dict[str, Any]] = {}


class _OwnedMetadata(msgspec.Struct, frozen=True, rename={"annotations": "f:annotations"}):
    annotations: dict[str, Any] = {}


class _FieldsV1(msgspec.Struct, frozen=True, rename={"status": "f:status", "metadata": "f:metadata"}):
    status: _Status = _Status()
    metadata: _OwnedMetadata = _OwnedMetadata()


class _Entry(Struct, frozen=True):
    manager: str = ""
    subresource: str = ""
    fields_v1: _FieldsV1 = _FieldsV1()


class _Metadata(Struct, frozen=True):
    managed_fields: tuple[_Entry, ...] = ()


class _Object(Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_OBJECT: Final = msgspec.json.Decoder(_Object)


def managers_of_condition(text: decode.Text, type_: str) -> frozenset[str]:
    """Return the managers that own the message of the status condition of *type_*; empty if managed fields do not list it.

    The message decides, because a manager owns only the fields that it changed.  If a second writer sets the same status with another
    message, the status stays with the first writer.
    """
    key = f'k:{{"type":"{type_}"}}'
    return frozenset(
        each.manager
        for each in _entries(text)
        if each.subresource == "status" and "f:message" in each.fields_v1.status.conditions.get(key, ())
    )


def managers_of_annotation(text: decode.Text, name: str) -> frozenset[str]:
    """Return the managers that own the annotation *name*; empty if managed fields do not list it."""
    return frozenset(each.manager for each in _entries(text) if f"f:{name}" in each.fields_v1.metadata.annotations)


def _entries(text: decode.Text) -> tuple[_Entry, ...]:
    try:
        return _OBJECT.decode(text).metadata.managed_fields
    except (ValueError, RecursionError):
        return ()
