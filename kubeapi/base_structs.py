"""Base of values with named fields.

Of these classes, ten times as many are defined in a time as of dataclasses, and several times as many values are created.  A command that
reads one small file mostly defines its classes.
"""

from __future__ import annotations

import msgspec
from msgspec import field as record_field

__all__ = ["MutableRecord", "Record", "record_field"]


class Record(msgspec.Struct, frozen=True):
    """Immutable value with named fields; ``kubeapi.meta.replaced`` returns a changed copy."""


class MutableRecord(msgspec.Struct, gc=False):
    """Value with named fields that may be changed: smaller than other objects, and faster to create."""
