"""Workloads for benchmarks: a usual one, and trees of any depth up to the largest valid one."""

from __future__ import annotations

import json
from typing import Any

WIDEST, DEEPEST = 8, 4
LARGEST = 8 + 64 + 512 + 4096
"""Templates of a tree of four levels with eight templates below each."""


def usual(name: str = "training") -> dict[str, Any]:
    """Return a typical Workload for a training run: one composite over six kinds of pods, about 2 KB of JSON."""
    roles = ("launcher", "worker", "parameter-server", "data-loader", "evaluator", "checkpoint-writer")
    leaves = [
        _shape(role, {"gang": {"minCount": number + 1}})
        | {"schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/rack"}]}, "priorityClassName": "training"}
        for number, role in enumerate(roles)
    ]
    top = _shape("training-run", {"gang": {"minGroupCount": len(roles)}}) | {"priorityClassName": "training", "podGroupTemplates": leaves}
    reference = {"apiGroup": "jobset.x-k8s.io", "kind": "JobSet", "name": name}
    return _workload(name, {"controllerRef": reference, "compositePodGroupTemplates": [top]})


def full(depth: int, width: int = WIDEST) -> dict[str, Any]:
    """Return a Workload whose tree has *depth* levels, with *width* templates below each."""
    lists = _templates_below("t", depth, width)
    return _workload(f"full-{depth}", lists)


def templates(depth: int, width: int = WIDEST) -> int:
    """Return the number of templates of such a tree."""
    return sum(width**level for level in range(1, depth + 1))


def as_json(value: object) -> bytes:
    """Return *value* as compact JSON, as the API server sends it."""
    return json.dumps(value, separators=(",", ":")).encode()


def review(workload: dict[str, Any], uid: str = "0f9e7a52-6b1c-4d4e-9b53-6a3d0c1f2e11") -> bytes:
    """Return the AdmissionReview that the API server sends for the creation of *workload*."""
    kind = {"group": "scheduling.k8s.io", "version": "v1alpha3", "kind": "Workload"}
    resource = {"group": "scheduling.k8s.io", "version": "v1alpha3", "resource": "workloads"}
    request = {
        "uid": uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": workload["metadata"]["name"],
        "namespace": workload["metadata"]["namespace"],
        "operation": "CREATE",
        "userInfo": {"username": "admin", "uid": "admin", "groups": ["system:masters", "system:authenticated"]},
        "object": workload,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return as_json({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def _workload(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "research", "uid": "5b5b0f0e-8f0a-4a8e-8a5c-3d0d4c2b1a00"}
    return {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "Workload", "metadata": metadata, "spec": spec}


def _shape(name: str, policy: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "schedulingPolicy": policy, "disruptionMode": {"all": {}}}


def _templates_below(prefix: str, depth: int, width: int) -> dict[str, Any]:
    names = [f"{prefix}-{number}" for number in range(width)]
    if depth == 1:
        return {"podGroupTemplates": [_shape(name, {"gang": {"minCount": 4}}) for name in names]}
    inner = [_shape(name, {"gang": {"minGroupCount": width}}) | _templates_below(name, depth - 1, width) for name in names]
    return {"compositePodGroupTemplates": inner}
