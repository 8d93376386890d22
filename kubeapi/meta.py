"""Object metadata, conditions, and the base class of all API structs."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from kubeapi.redaction import UNREAD, Labels, Like, Mark, Name, Unread, inner

LARGEST_INT32 = 2**31 - 1
"""Where a kind is read without a schema, a larger number is no number: the rule schema-limit reports it."""
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=LARGEST_INT32)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Struct(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Base of API structs: immutable, wire names in camel case, unknown fields ignored.

    As in Go, an absent string or number has its zero value; where absence means something else, the type admits None.
    None and an empty list are equal: compare with ``deep_equal``.
    """


S = TypeVar("S", bound=msgspec.Struct)


class Empty(Struct, frozen=True, gc=False):
    """Struct without fields; its presence is the value."""


class NamespacedName(Struct, frozen=True, gc=False):
    """``metadata`` of an object of which only the name is read."""

    name: Name = ""
    namespace: Name = ""


class DatedName(NamespacedName, frozen=True, gc=False):
    """``metadata`` of an object of which only the name and the age are read."""

    creation_timestamp: str | None = None


class ObjectMeta(DatedName, frozen=True, gc=False):
    """metav1.ObjectMeta."""

    generate_name: Unread = ""
    uid: Unread = ""
    deletion_timestamp: str | None = None
    labels: Labels | None = None
    annotations: Annotated[dict[str, str] | None, UNREAD] = None
    finalizers: Annotated[tuple[str, ...] | None, UNREAD] = None
    owner_references: Annotated[Any, Like(tuple[OwnerReference, ...]), inner(uid=UNREAD)] = None
    """Parsed JSON of any shape: only ``controller`` reads it."""

    @property
    def controller(self) -> tuple[str, str] | None:
        """Kind and name of the controller that has created the object."""
        owners = self.owner_references if isinstance(self.owner_references, list) else []
        controllers = (each for each in owners if isinstance(each, dict) and each.get("controller") is True)
        return next(((str(each.get("kind")), str(each.get("name"))) for each in controllers), None)


class OwnerReference(Struct, frozen=True, gc=False):
    """metav1.OwnerReference."""

    api_version: str = ""
    kind: str = ""
    name: Name = ""
    uid: Name = ""
    controller: bool | None = None


class Condition(Struct, frozen=True, gc=False):
    """metav1.Condition."""

    type: str = ""
    status: str = ""
    observed_generation: Int64 = 0
    last_transition_time: Unread | None = None
    reason: str = ""
    message: Annotated[str, Mark.TEXT] = ""


def deep_equal(one: object, other: object) -> bool:
    """Return whether two values are equal to the API server, for which an absent list equals an empty one."""
    if one == other:
        return True
    if isinstance(one, tuple) or isinstance(other, tuple):
        left, right = one or (), other or ()
        if not (isinstance(left, tuple) and isinstance(right, tuple)):
            return False
        return len(left) == len(right) and all(deep_equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(one, Struct) and type(one) is type(other):
        return all(deep_equal(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    return False


replaced = msgspec.structs.replace
"""Returns a copy of a struct with some fields changed; a call of a function of our own would take longer than the copy."""
