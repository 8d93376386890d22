"""Groups and Workloads for the tests of this folder, as manifests."""

from __future__ import annotations

from typing import Any

from tests.cluster.api import Api
from tests.cluster.resources import Manifest

GROUP = "scheduling.k8s.io"
LABEL = "topology.example/rack"
SCHEDULED = {"PodGroup": "PodGroupInitiallyScheduled", "CompositePodGroup": "CompositePodGroupInitiallyScheduled"}


def pod_group(name: str, namespace: str, *, minimum: int = 0, key: str = "", parent: str = "", **spec: Any) -> Manifest:
    """A PodGroup; a gang where there is a minimum, inside one domain of *key*."""
    policy: Manifest = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    return _group("PodGroup", "v1alpha3", name, namespace, policy, key, parent, spec)


def composite(name: str, namespace: str, *, minimum: int = 0, key: str = "", parent: str = "", **spec: Any) -> Manifest:
    """A CompositePodGroup."""
    policy: Manifest = {"gang": {"minGroupCount": minimum}} if minimum else {"basic": {}}
    return _group("CompositePodGroup", "v1alpha3", name, namespace, policy, key, parent, spec)


def _group(kind: str, version: str, name: str, namespace: str, policy: Manifest, key: str, parent: str, spec: Manifest) -> Manifest:
    content: Manifest = {"schedulingPolicy": policy, **spec}
    if key:
        content["schedulingConstraints"] = {"topology": [{"key": key}]}
    if parent or kind == "CompositePodGroup":
        content.setdefault("workloadRef", {"workloadName": "absent", "templateName": name})
    if parent:
        content["parentCompositePodGroupName"] = parent
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": content}


def conditions(api: Api, kind: str, name: str, namespace: str) -> dict[str, Manifest]:
    """The conditions of a group by type."""
    result = api.get(kind, name, namespace, version=f"{GROUP}/v1alpha3")
    return {each["type"]: each for each in (result.get("status") or {}).get("conditions") or ()}


def condition_of(found: Manifest | None, kind: str) -> Manifest:
    """One condition of an object that is waited for; empty while it is not there."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), {})
