"""``metadata`` of a pod as the API encodes it."""

from __future__ import annotations

from validators.model.meta import ObjectMeta, Struct

CONTROLLERS = {
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
}
"""apiVersion of the controllers whose selectors are used, by kind."""


class OwnerReference(Struct, frozen=True, gc=False):
    """metav1.OwnerReference."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool = False


class PodMeta(ObjectMeta, frozen=True, gc=False):
    """``metadata`` of a pod."""

    owner_references: tuple[OwnerReference, ...] | None = None
