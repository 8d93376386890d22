"""Conversion between the objects of an API version and the hub, the current form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from kubeapi.field_path import FieldPath

Json = Any
"""A parsed JSON value."""
Convert = Callable[[Mapping[str, Json]], dict[str, Json]]


def _same_path(path: FieldPath) -> FieldPath:
    return path


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Form:
    """Conversion between an API version and the hub.

    Attributes:
        to_hub: converts an object to the hub; values of a wrong type are kept.
        from_hub: converts an object of the hub to this form; fields that this form does not have are kept.
        written: converts a field path of the hub to this form.
        templates_fixed: whether templates and scheduling policies are immutable after creation.
        custom: whether the objects are custom resources.  No feature gate drops their fields, and a PodGroup has a name that can be the
            value of a label.

    """

    to_hub: Convert = dict
    from_hub: Convert = dict
    written: Callable[[FieldPath], FieldPath] = _same_path
    templates_fixed: bool = False
    custom: bool = False

    @property
    def is_current(self) -> bool:
        """True if the objects have the fields of the hub: nothing is converted."""
        return self.to_hub is dict


HUB = Form()
"""The current form: nothing is converted."""
CUSTOM_RESOURCE = Form(custom=True)
"""The current form, of custom resources."""
