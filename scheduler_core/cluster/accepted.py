"""Objects as parsed JSON, if loading uses them: only their values have the types of their fields."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from kubeapi.decode import Json
from kubeapi.gather import DEVICE_KINDS
from kubeapi.gathered import GatheredObjects, Unusable
from kubeapi.pods import Pod
from scheduler_core.cluster.group_store import GroupStore
from scheduler_core.cluster.node_store import NodeStore
from scheduler_core.cluster.volume_store import VolumeStore
from scheduler_core.loading.read_objects import typed

_READERS: Mapping[str, Callable[[GatheredObjects], object]] = {
    **NodeStore.readers,
    **GroupStore.readers,
    **VolumeStore.readers,
    "Pod": functools.partial(typed, model=Pod),
}
"""Reader of each kind whose objects hypothetical changes edit, except those about devices."""


def accepted_content(gathered: GatheredObjects) -> dict[str, Json] | None:
    """Return the parsed object without nulls; None if loading leaves it out, or if it is of a kind that is not edited."""
    try:
        if (read := _reader(gathered.kind)) is None:
            return None
        read(gathered)
        return gathered.content()
    except Unusable:
        return None


def _reader(kind: str) -> Callable[[GatheredObjects], object] | None:
    if kind not in DEVICE_KINDS:
        return _READERS.get(kind)
    from scheduler_core.cluster.device_store import DeviceStore

    return DeviceStore.readers[kind]
