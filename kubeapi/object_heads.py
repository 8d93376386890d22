"""Parts of an object of any kind: its type, its name, its items as text."""

from __future__ import annotations

from typing import Final

import msgspec

from kubeapi.meta import Struct


class Names(Struct, frozen=True, gc=False):
    """``metadata`` of any object, as far as it identifies it."""

    name: str | None = None
    namespace: str | None = None
    generate_name: str | None = None


class ObjectType(Struct, frozen=True, gc=False):
    """Type of any object, also of one that cannot be named; ``items`` is empty if it has none."""

    api_version: object = None
    kind: object = None
    items: msgspec.Raw = msgspec.Raw()


class Head(ObjectType, frozen=True, gc=False):
    """Type and name of any object."""

    metadata: Names | None = None


class LooseNames(Struct, frozen=True, gc=False):
    """``metadata`` of any object, whatever its names are."""

    name: object = None
    namespace: object = None


class Identified(Struct, frozen=True, gc=False):
    """Any object, of which only the name is read."""

    metadata: LooseNames | None = None


HEAD: Final = msgspec.json.Decoder(Head)
OBJECT_TYPE: Final = msgspec.json.Decoder(ObjectType)
HEADS: Final = msgspec.json.Decoder(list[Head])
IDENTIFIED: Final = msgspec.json.Decoder(Identified)
