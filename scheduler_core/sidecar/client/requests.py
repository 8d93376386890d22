"""From a write to the requests that carry it out.

Nothing is read before it is written where the server can be told what must hold: a uid in the patch is a precondition, and
conditions are merged by their type.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from scheduler_core.sidecar.writes import (
    Bind,
    Condition,
    Evict,
    EvictionMethod,
    Nominate,
    Ref,
    Remove,
    SetCondition,
    Ungate,
)

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

GATE = "muster.dev/placement"
"""The scheduling gate that we remove, and the annotation that says where a pod without it goes."""
HOSTNAME = "kubernetes.io/hostname"

_LONGEST_NAME = 120
"""Of a scheduler, in characters: a field manager has 128 bytes at most."""
_ENCODE = msgspec.json.Encoder(order="deterministic").encode

Json = Any


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """One request; *path* begins with ``/``."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = JSON
    dry_run: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Paths:
    """URL paths of the kinds: ``/apis/scheduling.k8s.io/v1beta1/podgroups`` for PodGroup."""

    collections: Mapping[str, str]

    def object_path(self, ref: Ref) -> str:
        """The path of an object.  Raises KeyError: its kind is not served."""
        base, _, resource = self.collections[ref.kind].rpartition("/")
        return f"{base}/namespaces/{ref.namespace}/{resource}/{ref.name}"

    def api_version(self, kind: str) -> str:
        """``scheduling.k8s.io/v1beta1``; ``v1`` for the core."""
        parts = self.collections[kind].split("/")[1:-1]
        return "/".join(parts[1:])


def field_manager(scheduler_name: str) -> str:
    """Return under which name, in ``metadata.managedFields``, the sidecar of *scheduler_name* writes: each of several in a cluster its own.

    All characters are printable, as the API server demands.
    """
    return f"{re.sub(r'[^ -~]', '-', scheduler_name)[:_LONGEST_NAME]}-sidecar"


def bind(write: Bind, paths: Paths) -> Request:
    """Bind a pod; a uid that is another's is refused by the server."""
    pod = write.pod
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": write.node},
    }
    return Request("POST", f"{paths.object_path(pod)}/binding", _ENCODE(body))


def ungate(write: Ungate, content: Mapping[str, Json], paths: Paths) -> Request | None:
    """Pin, mark and open a gated pod as *content* shows it; None where our gate is gone already."""
    spec, metadata = content.get("spec") or {}, content.get("metadata") or {}
    gates = [each for each in spec.get("schedulingGates") or () if each.get("name") != GATE]
    if len(gates) == len(spec.get("schedulingGates") or ()):
        return None
    body = {
        "metadata": {
            "uid": write.pod.uid,
            "resourceVersion": metadata.get("resourceVersion"),
            "annotations": {GATE: write.node},
        },
        "spec": {"nodeSelector": {HOSTNAME: write.hostname}, "schedulingGates": gates or None},
    }
    return Request("PATCH", paths.object_path(write.pod), _ENCODE(body), MERGE_PATCH)


def nominate(write: Nominate, paths: Paths) -> Request:
    """Set or clear the nominated node."""
    return _status(write.pod, {"nominatedNodeName": write.node or None}, paths)


def set_condition(write: SetCondition, paths: Paths, now: str, version: str = "") -> Request:
    """Put the condition there; *now* is RFC 3339.  One without a status is taken away.

    With a *version* it is refused (409) where the object is of another by then.
    """
    condition = write.condition
    if not condition.status:
        return _status(write.target, {"conditions": [{"type": condition.type, "$patch": "delete"}]}, paths, version)
    return _status(write.target, {"conditions": [_condition(condition, now)]}, paths, version)


def disruption_target(write: Evict | Remove, paths: Paths, now: str) -> Request:
    """Tell on a pod why it is about to leave (KEP-5710; the condition that kube-scheduler writes)."""
    condition = Condition("DisruptionTarget", "True", "PreemptionByScheduler", write.message)
    return _status(write.pod, {"conditions": [_condition(condition, now)]}, paths)


def evict_or_delete(write: Evict | Remove, paths: Paths, *, dry_run: bool = False) -> Request:
    """Evict or delete a pod, and only the one of this uid."""
    pod = write.pod
    options = {"preconditions": {"uid": pod.uid}}
    if isinstance(write, Remove) or write.method is EvictionMethod.DELETE:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        return Request("DELETE", paths.object_path(pod), _ENCODE(body), dry_run=dry_run)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }
    return Request("POST", f"{paths.object_path(pod)}/eviction", _ENCODE(eviction), dry_run=dry_run)


def finalizers(target: Ref, content: Mapping[str, Json], wanted: tuple[str, ...], paths: Paths) -> Request:
    """Set the finalizers of an object, if it is still what *content* shows."""
    metadata = content.get("metadata") or {}
    # An empty list, not null: a merge patch would take null for "nothing said" of a list with a finalizer of another since.
    body = {"metadata": {"uid": target.uid, "resourceVersion": metadata.get("resourceVersion"), "finalizers": list(wanted)}}
    return Request("PATCH", paths.object_path(target), _ENCODE(body), MERGE_PATCH)


def _status(target: Ref, status: Mapping[str, Json], paths: Paths, version: str = "") -> Request:
    preconditions = {"uid": target.uid, "resourceVersion": version}
    body = {"metadata": {name: value for name, value in preconditions.items() if value}, "status": status}
    return Request("PATCH", f"{paths.object_path(target)}/status", _ENCODE(body), STRATEGIC_PATCH)


def _condition(condition: Condition, now: str) -> dict[str, Json]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message[:_LONGEST],
        "lastTransitionTime": condition.since or now,
    }


_LONGEST = 32768
"""Characters of a condition's message (metav1.Condition)."""
