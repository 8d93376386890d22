"""Decoders of the objects that placement reads.

Decoding is typed: a value of a wrong JSON type is a ``ValidationError``, unknown fields are ignored.  So are the fields that only rules of
the API read: pods and claims to devices are decoded as views without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubeapi import pods, resource_claims
from kubeapi.decode import Decoders
from kubeapi.meta import ObjectMeta, Struct
from kubeapi.view import Views

_UNREAD = {
    (pods.PodSpec, "eviction_responders"),
    (pods.ResourceRequirements, "claims"),
    (resource_claims.DeviceClaim, "config"),
}
READ: Final = Views(lambda struct, name: (struct, name) not in _UNREAD)
"""Structs without the fields that only rules of the API read."""

if TYPE_CHECKING:
    from kubeapi.resource_claims import ResourceClaim
else:
    ResourceClaim = READ.of_struct(resource_claims.ResourceClaim)


DECODERS: Final = Decoders(READ.of_struct)


class MetaText(ObjectMeta, frozen=True, gc=False):
    """``metadata`` of a pod."""

    owner_references: msgspec.Raw = msgspec.Raw()


def _as_text(model: type[Struct], *typed: str) -> Any:
    """Return a mutable struct with the fields of *model*: those in *typed* as they are there, all others as JSON text."""
    fields = [
        (each.name, each.type, each.default) if each.name in typed else (each.name, msgspec.Raw, msgspec.Raw())
        for each in msgspec.structs.fields(READ.of_struct(model))
    ]
    return msgspec.defstruct(f"{model.__name__}Text", fields, rename="camel", gc=False, omit_defaults=True)


_POD_TEXT = msgspec.defstruct(
    "PodText",
    [
        ("metadata", MetaText),
        ("spec", _as_text(pods.PodSpec, "node_name")),
        ("status", _as_text(pods.PodStatus, "start_time", "nominated_node_name")),
    ],
    gc=False,
)
"""Pod of which only that is decoded in which equal pods differ."""
POD_TEXT: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(_POD_TEXT)

__all__ = ["DECODERS", "POD_TEXT", "READ", "ResourceClaim"]
