"""Shapes of objects: which of their fields are kept, and which contain names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.redaction import Mark


@dataclasses.dataclass(frozen=True, slots=True)
class Each:
    """A list; with *only*, its entries with one of these ``type`` values; if *compact*, without empty entries."""

    of: Shape
    only: frozenset[str] = frozenset()
    compact: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Entries:
    """An object with any keys."""

    key: Mark = Mark.KEPT
    value: Shape = Mark.KEPT


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
    """A list or an object of strings that is left out, like a scalar that is; of an object, the *keys* are kept, with empty values."""

    of: type[list[str] | dict[str, str]]
    keys: frozenset[str] = frozenset()


Fields = Mapping[str, "Shape"]
Shape = Mark | Each | Entries | OrScalar | IfPresent | Unread | Fields


def all_kept(schema: object) -> Shape:
    """Return the shape of a value of *schema*, an object of fields or a list of one schema, with everything kept as it is."""
    match schema:
        case Mapping():
            return {key: all_kept(each) for key, each in schema.items()}
        case list():
            return Each(all_kept(schema[0]))
        case _:
            return Mark.KEPT
