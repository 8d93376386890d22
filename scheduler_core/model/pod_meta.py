"""``metadata`` of a pod, and its resource claims, as the API encodes them."""

from __future__ import annotations

from kubeapi.meta import ObjectMeta, Struct

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

    uid: str = ""
    owner_references: tuple[OwnerReference, ...] | None = None


class PodResourceClaim(Struct, frozen=True, gc=False):
    """core/v1 PodResourceClaim."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodResourceClaimStatus(Struct, frozen=True, gc=False):
    """core/v1 PodResourceClaimStatus."""

    name: str = ""
    resource_claim_name: str | None = None
