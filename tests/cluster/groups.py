"""Groups and Workloads for the tests of this folder, as manifests."""

from __future__ import annotations

from typing import Any

from tests import builders
from tests.cluster.api import Api
from tests.cluster.resources import Manifest

GROUP = "scheduling.k8s.io"
LABEL = "topology.example/rack"
SCHEDULED = {"PodGroup": "PodGroupInitiallyScheduled", "CompositePodGroup": "CompositePodGroupInitiallyScheduled"}


def pod_group(name: str, namespace: str, *, minimum: int = 0, key: str = "", parent: str = "", **spec: Any) -> Manifest:
    """A PodGroup; a gang where there is a minimum, inside one domain of *key*."""
    if parent:
        spec = {"workloadRef": {"workloadName": "absent", "templateName": name}, **spec}
    return builders.pod_group(name, minimum, key, parent, metadata={"namespace": namespace}, **spec)


def composite(name: str, namespace: str, *, minimum: int = 0, key: str = "", parent: str = "", **spec: Any) -> Manifest:
    """A CompositePodGroup."""
    spec = {"workloadRef": {"workloadName": "absent", "templateName": name}, **spec}
    return builders.composite_pod_group(name, minimum, key, parent, metadata={"namespace": namespace}, **spec)


def conditions(api: Api, kind: str, name: str, namespace: str) -> dict[str, Manifest]:
    """The conditions of a group by type."""
    result = api.get(kind, name, namespace, version=f"{GROUP}/v1alpha3")
    return {each["type"]: each for each in (result.get("status") or {}).get("conditions") or ()}


def condition_of(found: Manifest | None, kind: str) -> Manifest:
    """One condition of an object that is waited for; empty while it is not there."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), {})
