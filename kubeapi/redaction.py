"""Marks of fields of structs: what a snapshot of a cluster keeps of a value, and what redaction replaces.

A snapshot has the fields of the structs, and no others.  A value without a mark is kept as it is.  Marks are in the types of fields:
``Annotated[str, Mark.NAME]``.
"""

from __future__ import annotations

import enum
from typing import Annotated

from kubeapi.base_structs import Record


class Mark(enum.Enum):
    """Mark of a scalar."""

    KEPT = "as it is"
    NAME = "a name, or the value of a label, which is hashed on request"
    POD_IMAGE = "an image in a pod, which is hashed like a name; without a tag it has the tag latest"
    NODE_IMAGE = "an image on a node, which is hashed like a name"
    ZONES = "names separated by __, each hashed on request"
    ATTRIBUTE = "the value of a device attribute, which is hashed on request"
    RESOURCE = "the name of a resource; that of a device or storage class in it is hashed on request"
    SELECTOR = "a device selector, in which the values are hashed on request"
    TEXT = "prose, left out if names are hashed"
    UNREAD = "left out; only a value of the wrong type is kept, because it makes the object unusable"


KEPT, UNREAD = Mark.KEPT, Mark.UNREAD
Name = Annotated[str, Mark.NAME]
Names = tuple[Name, ...]
Labels = dict[str, Name]
Unread = Annotated[str, UNREAD]


class Inner(Record, frozen=True):
    """Mark of a struct, or of a list of structs: marks of its fields in place of their own, by wire name."""

    marks: tuple[tuple[str, Mark], ...]


def inner(**marks: Mark) -> Inner:
    """Return a mark of a struct."""
    return Inner(tuple(marks.items()))


class Only(Record, frozen=True):
    """Mark of a list: of its entries, those with one of these values of ``type`` are kept."""

    types: tuple[str, ...]


class Like(Record, frozen=True):
    """Mark of parsed JSON: it has the fields of this type."""

    type: object


class WasScalar(Record, frozen=True):
    """Mark of a struct: retired versions have a scalar in its place."""


class WithoutEmpty(Record, frozen=True):
    """Mark of a list: entries without content are left out."""
