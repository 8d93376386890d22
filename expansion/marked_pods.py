"""Pods with a text that a step of the expansion looks for: most pods of a cluster have none, and are not decoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubeapi import device_shares, kueue
from kubeapi.gathered import GatheredObjects, NameSearch, ObjectList
from workloadbuilder.adapters.shared import named_groups

API_SERVER: Final = "kube-apiserver"
"""Label of the pod of an API server."""
_SHARES = (*device_shares.ANNOTATIONS, *device_shares.PARTS)
SHARES: Final = NameSearch(_SHARES)
"""Annotations and resources with which pods request shares of devices."""
GROUP_KEYS: Final = NameSearch(named_groups.KEYS)
"""Labels and annotations that name the PodGroup of another scheduler."""
KUEUE_GROUP: Final = NameSearch((kueue.POD_GROUP,))
KUEUE_QUEUE: Final = NameSearch((kueue.QUEUE,))
SERVER: Final = NameSearch((API_SERVER,))
_ALL = NameSearch((*_SHARES, *named_groups.KEYS, kueue.POD_GROUP, kueue.QUEUE, API_SERVER))
"""All of them: the texts of a large cluster are searched once."""


def marked_pods(pods: ObjectList | None, marks: NameSearch) -> Iterator[GatheredObjects]:
    """Yield those of *pods* whose texts can have one of *marks*, which is a search of this module."""
    texts = ((each, each.text) for each in (pods.with_names(_ALL) if pods is not None else ()))
    return (GatheredObjects(each.kind, each.api_version, text) for each, text in texts if marks.places(bytes(text)))
