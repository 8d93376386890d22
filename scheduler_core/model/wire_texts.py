"""Parts of objects that are read before the whole object, or instead of it; other parts stay JSON text."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeapi.meta import ObjectMeta, Struct
from scheduler_core.model.wire import PodSpec, PodStatus


class Names(Struct, frozen=True, gc=False):
    """``metadata`` of any object, as far as it identifies it."""

    name: str | None = None
    namespace: str | None = None
    generate_name: str | None = None


class Head(Struct, frozen=True, gc=False):
    """Type and name of any object; ``items`` is empty if it has none."""

    api_version: object = None
    kind: object = None
    items: msgspec.Raw = msgspec.Raw()
    metadata: Names | None = None


class ObjectType(Struct, frozen=True, gc=False):
    """Type of any object, also of one that cannot be named."""

    api_version: object = None
    kind: object = None
    items: msgspec.Raw = msgspec.Raw()


class LooseNames(Struct, frozen=True, gc=False):
    """``metadata`` of any object, whatever its names are."""

    name: object = None
    namespace: object = None


class Identified(Struct, frozen=True, gc=False):
    """Any object, of which only the name is read."""

    metadata: LooseNames | None = None


class MetaText(ObjectMeta, frozen=True, gc=False):
    """``metadata`` of a pod."""

    uid: str = ""
    owner_references: msgspec.Raw = msgspec.Raw()


def _as_text(model: type[Struct], *typed: str) -> Any:
    """Return a mutable struct with the fields of *model*: those in *typed* as they are there, all others as JSON text."""
    fields = [
        (each.name, each.type, each.default) if each.name in typed else (each.name, msgspec.Raw, msgspec.Raw())
        for each in msgspec.structs.fields(model)
    ]
    return msgspec.defstruct(f"{model.__name__}Text", fields, rename="camel", gc=False, omit_defaults=True)


_POD_TEXT = msgspec.defstruct(
    "PodText",
    [
        ("metadata", MetaText),
        ("spec", _as_text(PodSpec, "node_name")),
        ("status", _as_text(PodStatus, "start_time", "nominated_node_name")),
    ],
    gc=False,
)
"""Pod of which only that is decoded in which equal pods differ."""


HEAD: Final = msgspec.json.Decoder(Head)
OBJECT_TYPE: Final = msgspec.json.Decoder(ObjectType)
HEADS: Final = msgspec.json.Decoder(list[Head])
IDENTIFIED: Final = msgspec.json.Decoder(Identified)
POD_TEXT: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(_POD_TEXT)
