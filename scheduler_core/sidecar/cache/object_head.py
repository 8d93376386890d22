"""An object of a cluster, read no further than to know which it is, and as of when."""

from __future__ import annotations

from typing import Final

import msgspec

from scheduler_core.model.wire import Wire


class Meta(Wire, frozen=True, gc=False):
    """Which object it is, and as of when."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class ObjectHead(Wire, frozen=True, gc=False):
    """An object of a cluster, read no further than to know which."""

    api_version: str = ""
    metadata: Meta = Meta()


MARKED: Final = msgspec.json.Decoder(ObjectHead)
