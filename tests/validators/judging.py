"""Manifests, and the errors that the pipeline reports of them."""

from __future__ import annotations

import json
from typing import Any

from validators import pipeline
from validators.object_lookup import NOTHING
from validators.rules.base import Operation, Settings


def manifest(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    version = "v1alpha3" if kind in {"Workload", "PodGroup", "CompositePodGroup"} else "v1"
    group = "scheduling.k8s.io/" if version == "v1alpha3" or kind == "PriorityClass" else ""
    return {"apiVersion": group + version, "kind": kind, "metadata": {"name": name, "namespace": "default", **metadata}, "spec": spec}


def composite(name: str, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    parents = {} if parent is None else {"parentCompositePodGroupName": parent}
    given = {"workloadRef": {"workloadName": "w", "templateName": "t"}, "schedulingPolicy": {"basic": {}}, **parents, **spec}
    return manifest("CompositePodGroup", name, given)


def pod_group(name: str, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    parents = {} if parent is None else {"parentCompositePodGroupName": parent, "workloadRef": {"workloadName": "w", "templateName": "t"}}
    return manifest("PodGroup", name, {"schedulingPolicy": {"gang": {"minCount": 1}}, **parents, **spec})


def reported_errors(
    new: dict[str, Any], *, old: dict[str, Any] | None = None, lookup: Any = NOTHING, **settings: Any
) -> list[tuple[str, str, str]]:
    operation = Operation.CREATE if old is None else Operation.UPDATE
    judged = pipeline.validate(new["kind"], json.dumps(new).encode(), old, operation, settings=Settings(**settings), lookup=lookup)
    return [(each.severity.value, each.error.origin, str(each.error.path)) for each in judged]
