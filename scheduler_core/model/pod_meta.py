"""``metadata`` of a pod as the API encodes it."""

from __future__ import annotations

from validators.model.meta import ObjectMeta, Struct


class OwnerReference(Struct, frozen=True, gc=False):
    """metav1.OwnerReference."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool = False


class PodMeta(ObjectMeta, frozen=True, gc=False):
    """``metadata`` of a pod."""

    owner_references: tuple[OwnerReference, ...] | None = None
