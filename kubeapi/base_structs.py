"""Base of values with named fields.

Of these classes, ten times as many are defined in a time as of dataclasses, and several times as many values are created.  A command that
reads one small file mostly defines its classes.
"""

from __future__ import annotations

import msgspec
from msgspec import field as record_field

__all__ = ["MutableRecord", "Record", "as_dict", "as_tuple", "record_field", "replaced"]

as_dict = msgspec.structs.asdict
"""Function that returns the values of a record by the names of its fields; records inside it stay records."""
as_tuple = msgspec.structs.astuple
"""Function that returns the values of a record; records inside it stay records."""
replaced = msgspec.structs.replace
"""Function that returns a copy of a record with other values of some fields."""


class Record(msgspec.Struct, frozen=True):
    """Immutable value with named fields; ``replaced`` returns a changed copy."""


class MutableRecord(msgspec.Struct, gc=False):
    """Value with named fields that may be changed: smaller than other objects, and faster to create."""
