"""The parts of any object that identify it."""

from __future__ import annotations

from typing import Final

import msgspec

from kubeapi import decode
from kubeapi.gather import Name
from kubeapi.meta import Struct
from kubeapi.names import CLUSTER_SCOPED
from scheduler_core.sidecar.cache.freshness import Stamp, number


class Meta(Struct, frozen=True, gc=False):
    """Name, namespace, uid and resourceVersion of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class ObjectHead(Struct, frozen=True, gc=False):
    """The part of an object that identifies it."""

    api_version: str = ""
    metadata: Meta = Meta()


HEAD_DECODER: Final = msgspec.json.Decoder(ObjectHead)


def read_head(kind: str, raw: decode.Text) -> tuple[str, Name, Stamp] | None:
    """Return apiVersion, name and stamp of an object; None if they cannot be read."""
    try:
        head = HEAD_DECODER.decode(raw)
    except (ValueError, RecursionError):
        return None
    meta = head.metadata
    if not meta.name:
        return None
    name = ("" if kind in CLUSTER_SCOPED else meta.namespace or "default", meta.name)
    return head.api_version, name, Stamp(meta.uid, number(meta.resource_version))
