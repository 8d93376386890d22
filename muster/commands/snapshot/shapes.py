"""Shapes of objects: which of their fields are kept, and which contain names."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping


class ScalarShape(enum.Enum):
    """A scalar."""

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


@dataclasses.dataclass(frozen=True, slots=True)
class Each:
    """A list; with *only*, its entries with one of these ``type`` values; if *compact*, without empty entries."""

    of: Shape
    only: frozenset[str] = frozenset()
    compact: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Entries:
    """An object with any keys."""

    key: ScalarShape = ScalarShape.KEPT
    value: Shape = ScalarShape.KEPT


@dataclasses.dataclass(frozen=True, slots=True)
class OrScalar:
    """An object, or a scalar in its place."""

    fields: Fields


@dataclasses.dataclass(frozen=True, slots=True)
class IfPresent:
    """An object with *fields* if it has *key*, else with *others*."""

    key: str
    fields: Fields
    others: Fields

    def fields_of(self, value: Mapping[str, object]) -> Fields:
        """Return the fields of *value*."""
        return self.fields if self.key in value else self.others


@dataclasses.dataclass(frozen=True, slots=True)
class Unread:
    """A list or an object of strings that is left out, like ``ScalarShape.UNREAD``."""

    of: type[list[str] | dict[str, str]]


Fields = Mapping[str, "Shape"]
Shape = ScalarShape | Each | Entries | OrScalar | IfPresent | Unread | Fields


def all_kept(schema: object) -> Shape:
    """Return the shape of a value of *schema*, an object of fields or a list of one schema, with everything kept as it is."""
    match schema:
        case Mapping():
            return {key: all_kept(each) for key, each in schema.items()}
        case list():
            return Each(all_kept(schema[0]))
        case _:
            return ScalarShape.KEPT
