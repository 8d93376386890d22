"""Claim for the extended resources of a pod that devices provide, as kube-scheduler creates it (Kubernetes 1.37.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from scheduler_core.sidecar.writes import AllocateExtended, DeleteExtended, WriteOutcome

_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
_LONGEST_POD = 200
"""Characters of the pod's name in the name of the claim, which has at most 253."""

Json = Any


def extended_claim_name(pod: str, uid: str) -> str:
    """Return the name of the claim: always the same for one pod, so that a repeated write creates no second claim."""
    return f"{pod[:_LONGEST_POD]}-extended-resources-{hashlib.sha256(uid.encode()).hexdigest()[:10]}"


def new_claim(write: AllocateExtended, api_version: str) -> dict[str, Json]:
    """Return the claim to create."""
    pod = write.target
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    return {
        "apiVersion": api_version,
        "kind": "ResourceClaim",
        "metadata": {
            "name": write.claim,
            "namespace": pod.namespace,
            "annotations": {_ANNOTATION: "true"},
            "ownerReferences": [owner],
        },
        "spec": {
            "devices": {
                "requests": [
                    {"name": name, "exactly": {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}}
                    for name, device_class, count in write.requests
                ]
            }
        },
    }


def is_usable(write: AllocateExtended, content: Mapping[str, Json]) -> bool:
    """Return whether an existing claim is that of *write*."""
    written = ((content.get("spec") or {}).get("devices") or {}).get("requests") or ()
    exact = [(each.get("name"), each.get("exactly") or each) for each in written]
    requests = [(name, each.get("deviceClassName"), each.get("count")) for name, each in exact]
    return _belongs_to(content, write.target.uid) and sorted(requests) == sorted(write.requests)


def deletion_outcome(write: DeleteExtended, content: Mapping[str, Json]) -> tuple[WriteOutcome, str] | None:
    """Return why the claim must not be deleted; None if it can be."""
    users = {each.get("uid") for each in (content.get("status") or {}).get("reservedFor") or ()}
    if not _belongs_to(content, write.pod.uid) or not users <= {write.pod.uid}:
        return WriteOutcome.REFUSED, f"it was not created for the extended resources of pod {write.pod.key}, or others use it"
    return None


def pod_status(write: AllocateExtended, pod: Mapping[str, Json]) -> dict[str, Json]:
    """Return the status that names the claim and the request of each container of *pod*."""
    spec = pod.get("spec") or {}
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    mappings = [
        {"containerName": containers[number]["name"], "resourceName": resource, "requestName": request}
        for number, resource, request in write.mappings
    ]
    return {"extendedResourceClaimStatus": {"resourceClaimName": write.claim, "requestMappings": mappings}}


def _belongs_to(content: Mapping[str, Json], pod_uid: str) -> bool:
    metadata = content.get("metadata") or {}
    owners = metadata.get("ownerReferences") or ()
    created = (metadata.get("annotations") or {}).get(_ANNOTATION) == "true"
    return created and any(each.get("controller") and each.get("uid") == pod_uid for each in owners)
