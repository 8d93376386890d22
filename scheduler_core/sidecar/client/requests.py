"""HTTP requests of each write.

Most writes do not read the object first: the uid in the patch is a precondition, and the server merges conditions by type.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from kubeapi.pods import PLACEMENT_GATE
from kubeapi.versions import served_versions
from scheduler_core.model.names import HOSTNAME
from scheduler_core.sidecar.client.event_recorder import EventRequest
from scheduler_core.sidecar.writes import (
    Bind,
    ClearSelectedNode,
    Condition,
    Evict,
    EvictionMethod,
    Nominate,
    Ref,
    Remove,
    ReserveVolume,
    SelectNode,
    SetCondition,
    Ungate,
)

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: node for which its provisioner creates a volume."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""Annotation of a volume that was not reserved by its creator."""

_LONGEST_NAME = 120
"""Maximum characters of a scheduler name in a field manager, which has at most 128 bytes."""
_ENCODE = msgspec.json.Encoder(order="deterministic").encode

Json = Any


@dataclasses.dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request; *path* begins with ``/``."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = JSON
    dry_run: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Paths:
    """URL paths of the resources, by name: ``/apis/scheduling.k8s.io/v1beta1/podgroups`` for PodGroup."""

    collections: Mapping[str, str]

    def object_path(self, ref: Ref) -> str:
        """Return the path of an object.  Raises KeyError if its kind is not served."""
        collection = self.collections[ref.resource]
        if not ref.namespace:
            return f"{collection}/{ref.name}"
        base, _, resource = collection.rpartition("/")
        return f"{base}/namespaces/{ref.namespace}/{resource}/{ref.name}"

    def api_version(self, resource: str) -> str:
        """Return the apiVersion of a resource: ``scheduling.k8s.io/v1beta1``; ``v1`` for the core group."""
        parts = self.collections[resource].split("/")[1:-1]
        return "/".join(parts[1:])


def field_manager(scheduler_name: str) -> str:
    """Return the field manager of the sidecar of *scheduler_name*; it differs for each scheduler name.

    All characters are printable, as the API server requires.
    """
    return f"{re.sub(r'[^ -~]', '-', scheduler_name)[:_LONGEST_NAME]}-sidecar"


def bind(write: Bind, paths: Paths) -> ApiRequest:
    """Return the request that binds a pod; the server refuses a wrong uid."""
    pod = write.pod
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": write.node},
    }
    return ApiRequest("POST", f"{paths.object_path(pod)}/binding", _ENCODE(body))


def ungate(write: Ungate, content: Mapping[str, Json], paths: Paths) -> ApiRequest | None:
    """Return the request that pins, annotates and ungates the pod *content*; None if our gate is already removed."""
    spec, metadata = content.get("spec") or {}, content.get("metadata") or {}
    gates = [each for each in spec.get("schedulingGates") or () if each.get("name") != PLACEMENT_GATE]
    if len(gates) == len(spec.get("schedulingGates") or ()):
        return None
    body = {
        "metadata": {
            "uid": write.pod.uid,
            "resourceVersion": metadata.get("resourceVersion"),
            "annotations": {PLACEMENT_GATE: write.node},
        },
        "spec": {"nodeSelector": {HOSTNAME: write.hostname}, "schedulingGates": gates or None},
    }
    return ApiRequest("PATCH", paths.object_path(write.pod), _ENCODE(body), MERGE_PATCH)


def nominate(write: Nominate, paths: Paths) -> ApiRequest:
    """Return the request that sets or clears the nominated node."""
    return _status(write.pod, {"nominatedNodeName": write.node or None}, paths)


def reserve_volume(write: ReserveVolume, content: Mapping[str, Json], paths: Paths) -> ApiRequest | None:
    """Return the request that reserves the volume *content*, at its resourceVersion; None if it is reserved for the claim already."""
    claim, spec = write.claim, content.get("spec") or {}
    reference = spec.get("claimRef") or {}
    if reference.get("uid") == claim.uid:
        return None
    version = paths.api_version(claim.kind)
    wanted = {"apiVersion": version, "kind": claim.kind, "namespace": claim.namespace, "name": claim.name, "uid": claim.uid}
    # Without the annotation, the PersistentVolume controller takes the reservation for one by the creator of the volume.
    annotations = {} if reference else {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return ApiRequest(
        "PATCH",
        paths.object_path(write.target),
        _ENCODE({"metadata": {**_preconditions(write.target, content), **annotations}, "spec": {"claimRef": wanted}}),
        MERGE_PATCH,
    )


def select_node(write: SelectNode | ClearSelectedNode, content: Mapping[str, Json], paths: Paths) -> ApiRequest | None:
    """Return the request that sets or removes the annotation of the claim *content*, at its resourceVersion; None if nothing is to do."""
    current = ((content.get("metadata") or {}).get("annotations") or {}).get(SELECTED_NODE)
    clears = isinstance(write, ClearSelectedNode)
    if (content.get("spec") or {}).get("volumeName") or (current == write.node) is not clears:
        return None
    annotations = {SELECTED_NODE: None if clears else write.node}
    body = {"metadata": {**_preconditions(write.target, content), "annotations": annotations}}
    return ApiRequest("PATCH", paths.object_path(write.target), _ENCODE(body), MERGE_PATCH)


def set_condition(write: SetCondition, paths: Paths, now: str, version: str = "") -> ApiRequest:
    """Return the request that sets the condition, or removes it if it has no status; *now* is RFC 3339.

    With a *version*, the server answers 409 if the resourceVersion of the object differs.  Not for custom resources.
    """
    condition = write.condition
    if not condition.status:
        return _status(write.target, {"conditions": [{"type": condition.type, "$patch": "delete"}]}, paths, version)
    return _status(write.target, {"conditions": [_condition(condition, now)]}, paths, version)


def is_custom(target: Ref, paths: Paths) -> bool:
    """Return whether the object is a custom resource: the server does not merge its lists by key."""
    return served_versions.form_of(paths.api_version(target.resource)).custom


def replace_conditions(write: SetCondition, content: Mapping[str, Json], paths: Paths, now: str) -> ApiRequest:
    """Return the request of ``set_condition`` for the custom resource *content*, at its resourceVersion: all conditions are written."""
    condition = write.condition
    current = (content.get("status") or {}).get("conditions") or ()
    before: Mapping[str, Json] = next((each for each in current if each.get("type") == condition.type), {})
    others = [each for each in current if each.get("type") != condition.type]
    written = [{**before, **_condition(condition, now)}] if condition.status else []
    body = {"metadata": _preconditions(write.target, content), "status": {"conditions": [*others, *written]}}
    return ApiRequest("PATCH", f"{paths.object_path(write.target)}/status", _ENCODE(body), MERGE_PATCH)


def disruption_target(write: Evict | Remove, paths: Paths, now: str) -> ApiRequest:
    """Return the request that sets the condition DisruptionTarget of a victim (KEP-5710; as kube-scheduler writes it)."""
    condition = Condition("DisruptionTarget", "True", "PreemptionByScheduler", write.message)
    return _status(write.pod, {"conditions": [_condition(condition, now)]}, paths)


def evict_or_delete(write: Evict | Remove, paths: Paths, *, dry_run: bool = False) -> ApiRequest:
    """Return the request that evicts or deletes the pod with this uid."""
    pod = write.pod
    options = {"preconditions": {"uid": pod.uid}}
    if isinstance(write, Remove) or write.method is EvictionMethod.DELETE:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        return ApiRequest("DELETE", paths.object_path(pod), _ENCODE(body), dry_run=dry_run)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }
    return ApiRequest("POST", f"{paths.object_path(pod)}/eviction", _ENCODE(eviction), dry_run=dry_run)


def claim_status(target: Ref, content: Mapping[str, Json], paths: Paths) -> ApiRequest:
    """Return the request that replaces the status of a ResourceClaim by that of *content*, at its resourceVersion.

    A patch would drop nulls in the parameters of drivers.
    """
    return ApiRequest("PUT", f"{paths.object_path(target)}/status", _ENCODE(content))


def create(target: Ref, content: Mapping[str, Json], paths: Paths) -> ApiRequest:
    """Return the request that creates the object *content*."""
    return ApiRequest("POST", paths.object_path(target).rpartition("/")[0], _ENCODE(content))


def merge(target: Ref, patch: Mapping[str, Json], paths: Paths) -> ApiRequest:
    """Return the request that merges *patch* into an object; the server refuses a wrong uid."""
    body = {**patch, "metadata": {**patch.get("metadata", {}), "uid": target.uid}}
    return ApiRequest("PATCH", paths.object_path(target), _ENCODE(body), MERGE_PATCH)


def delete(target: Ref, uid: str, paths: Paths) -> ApiRequest:
    """Return the request that deletes the object with this *uid*."""
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
    return ApiRequest("DELETE", paths.object_path(target), _ENCODE(body))


def record_event(event: EventRequest) -> ApiRequest:
    """Return the request that creates an Event, or updates its count."""
    collection = f"/apis/events.k8s.io/v1/namespaces/{event.namespace}/events"
    if event.count > 1:
        return ApiRequest("PATCH", f"{collection}/{event.name}", _ENCODE(event.body), MERGE_PATCH)
    return ApiRequest("POST", collection, _ENCODE(event.body))


def pod_status(target: Ref, status: Mapping[str, Json], paths: Paths) -> ApiRequest:
    """Return the request that merges *status* into that of a pod."""
    return _status(target, status, paths)


def finalizers(target: Ref, content: Mapping[str, Json], wanted: tuple[str, ...], paths: Paths) -> ApiRequest:
    """Return the request that sets the finalizers of an object, at the resourceVersion of *content*."""
    metadata = content.get("metadata") or {}
    # An empty list, not null: with null, a merge patch could keep a finalizer that another client added meanwhile.
    body = {"metadata": {"uid": target.uid, "resourceVersion": metadata.get("resourceVersion"), "finalizers": list(wanted)}}
    return ApiRequest("PATCH", paths.object_path(target), _ENCODE(body), MERGE_PATCH)


def _preconditions(target: Ref, content: Mapping[str, Json]) -> dict[str, Json]:
    """Return the part of a patch's metadata without which the server would change a newer object, or one that has changed."""
    metadata = content.get("metadata") or {}
    return {"uid": target.uid or metadata.get("uid"), "resourceVersion": metadata.get("resourceVersion")}


def _status(target: Ref, status: Mapping[str, Json], paths: Paths, version: str = "") -> ApiRequest:
    preconditions = {"uid": target.uid, "resourceVersion": version}
    body = {"metadata": {name: value for name, value in preconditions.items() if value}, "status": status}
    return ApiRequest("PATCH", f"{paths.object_path(target)}/status", _ENCODE(body), STRATEGIC_PATCH)


def _condition(condition: Condition, now: str) -> dict[str, Json]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message[:_LONGEST],
        # metav1.Time has no fractions of a second; of custom resources the API server would keep them.
        "lastTransitionTime": condition.since or f"{now[:_SECONDS]}Z",
    }


_SECONDS = len("2026-01-01T00:00:00")
_LONGEST = 32768
"""Maximum characters of a condition's message (metav1.Condition)."""
