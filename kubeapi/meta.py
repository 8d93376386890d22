"""Object metadata, and the base class of all API structs."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Struct(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Base of API structs: immutable, wire names in camel case, unknown fields ignored.

    As in Go, an absent string or number has its zero value; where absence means something else, the type admits None.
    None and an empty list are equal: compare with ``deep_equal``.
    """


S = TypeVar("S", bound=msgspec.Struct)


class Empty(Struct, frozen=True, gc=False):
    """Struct without fields; its presence is the value."""


class ObjectMeta(Struct, frozen=True, gc=False):
    """``metadata``, with the fields that rules read."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: Any = None
    """Parsed JSON of any shape: only ``controller`` reads it."""

    @property
    def controller(self) -> tuple[str, str] | None:
        """Kind and name of the controller that has created the object."""
        owners = self.owner_references if isinstance(self.owner_references, list) else []
        controllers = (each for each in owners if isinstance(each, dict) and each.get("controller") is True)
        return next(((str(each.get("kind")), str(each.get("name"))) for each in controllers), None)


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
