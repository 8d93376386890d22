"""Builders of manifests: nodes, pods and groups as dictionaries, for the tests of all packages.

A test passes what it is about; everything else has a plain default.  Modules with a form of their own build on these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Manifest = dict[str, Any]
SCHEDULING, HOST = "scheduling.k8s.io", "kubernetes.io/hostname"


def manifest(
    api: str, kind: str, name: str, spec: Mapping[str, Any] | None = None, *, namespace: str = "default", **metadata: Any
) -> Manifest:
    """Return an object; an empty *namespace* is left out, *metadata* are further fields of its metadata."""
    head: Manifest = {"name": name, **({"namespace": namespace} if namespace else {}), **metadata}
    return {"apiVersion": api, "kind": kind, "metadata": head, "spec": dict(spec or {})}


def node(
    name: str,
    cpu: str | int = "4",
    memory: str = "16Gi",
    *,
    pods: str | int = 110,
    labels: Mapping[str, str] | None = None,
    resources: Mapping[str, str | int] | None = None,
    **spec: Any,
) -> Manifest:
    """Return a node with a label for its name.

    Args:
        name: its name.
        cpu: allocatable CPUs.
        memory: allocatable memory; empty: none.
        pods: pods that it can run.
        labels: further labels.
        resources: further allocatable resources.
        **spec: fields of the spec, such as ``taints`` and ``unschedulable``.

    """
    amounts = {"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})}
    content = manifest("v1", "Node", name, spec, namespace="", labels={HOST: name, **(labels or {})})
    return {**content, "status": {"allocatable": {resource: str(amount) for resource, amount in amounts.items() if amount != ""}}}


def pod(
    name: str,
    group: str = "",
    cpu: str | int = "1",
    memory: str = "",
    *,
    on: str = "",
    resources: Mapping[str, str | int] | None = None,
    container: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Manifest:
    """Return a pod with one container.

    Args:
        name: its name.
        group: its PodGroup.
        cpu: requested CPUs; empty: none.
        memory: requested memory; empty: none.
        on: node on which it runs; empty: it is pending.
        resources: further requests.
        container: further fields of its container, such as ``ports``.
        metadata: further fields of its metadata, such as ``labels``.
        status: further fields of its status.
        **spec: further fields of the spec.

    """
    requests = {resource: str(amount) for resource, amount in {"cpu": cpu, "memory": memory, **(resources or {})}.items() if amount != ""}
    content: Manifest = {"containers": [{"name": "main", "resources": {"requests": requests}, **(container or {})}]}
    if group:
        content["schedulingGroup"] = {"podGroupName": group}
    if on:
        content["nodeName"] = on
    whole = manifest("v1", "Pod", name, {**content, **spec}, **(metadata or {}))
    return {**whole, "status": {"phase": "Running" if on else "Pending", **(status or {})}}


def pod_group(name: str, minimum: int = 0, key: str = "", parent: str = "", **more: Any) -> Manifest:
    """Return a PodGroup, basic without a minimum; see ``group``."""
    return group("PodGroup", name, minimum, key, parent, **more)


def composite_pod_group(name: str, minimum: int = 0, key: str = "", parent: str = "", **more: Any) -> Manifest:
    """Return a CompositePodGroup, basic without a minimum; see ``group``."""
    return group("CompositePodGroup", name, minimum, key, parent, **more)


def group(
    kind: str,
    name: str,
    minimum: int = 0,
    key: str = "",
    parent: str = "",
    *,
    version: str = "v1alpha3",
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Manifest:
    """Return a group.

    Args:
        kind: PodGroup or CompositePodGroup.
        name: its name; the template of that name of the Workload ``w`` is referenced where the API server demands a reference.
        minimum: pods, or groups below it, that are placed together; 0: the basic policy.
        key: node label whose domains the group must not leave.
        parent: CompositePodGroup above it.
        version: version of the API.
        metadata: further fields of its metadata, such as ``creationTimestamp``.
        **spec: further fields of the spec.

    """
    field = "minCount" if kind == "PodGroup" else "minGroupCount"
    content: Manifest = {"schedulingPolicy": {"gang": {field: minimum}} if minimum else {"basic": {}}}
    if key:
        content["schedulingConstraints"] = {"topology": [{"key": key}]}
    if parent:
        content["parentCompositePodGroupName"] = parent
    if parent or kind == "CompositePodGroup":
        content["workloadRef"] = {"workloadName": "w", "templateName": name}
    return manifest(f"{SCHEDULING}/{version}", kind, name, {**content, **spec}, **(metadata or {}))


def disruption_budget(name: str, app: str = "", allowed: int = 0, **status: Any) -> Manifest:
    """Return a PodDisruptionBudget for the pods with the label *app*, or for all pods, that allows *allowed* disruptions."""
    selector = {"matchLabels": {"app": app}} if app else {}
    return manifest("policy/v1", "PodDisruptionBudget", name, {"selector": selector}) | {
        "status": {"disruptionsAllowed": allowed, **status}
    }


def volume_claim(name: str, size: str, storage_class: str, *, metadata: Mapping[str, Any] | None = None, **spec: Any) -> Manifest:
    """Return a PersistentVolumeClaim of *size* and a storage class; *metadata* and *spec* are further fields."""
    content = {"storageClassName": storage_class, "resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"]}
    return manifest("v1", "PersistentVolumeClaim", name, {**content, **spec}, **(metadata or {}))


def persistent_volume(
    name: str, size: str, storage_class: str, *, nodes: Sequence[str] = (), metadata: Mapping[str, Any] | None = None, **spec: Any
) -> Manifest:
    """Return a PersistentVolume of *size* and a storage class, on *nodes* only if there are any; the rest are further fields."""
    content: Manifest = {"storageClassName": storage_class, "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]}
    if nodes:
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [*nodes]}]}
        content["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return manifest("v1", "PersistentVolume", name, {**content, **spec}, namespace="", **(metadata or {}))
