"""Objects as dictionaries, and the problems that loading them reports."""

from __future__ import annotations

from tests import builders
from tests.scheduler_core.worded_problems import worded


def node(name="node-1", *, labels=None, taints=None, **status):
    made = builders.node(name, memory="8Gi", taints=taints or [])
    return made | {"metadata": {"name": name, "labels": labels or {}}, "status": made["status"] | status}


def pod(name="pod-1", *, status=None, labels=None, namespace="default", **spec):
    return builders.pod(name, metadata={"namespace": namespace, "labels": labels or {}}, **spec) | {"status": status or {}}


def group(name="group-1", kind="PodGroup", version="v1alpha3", namespace="default", **spec):
    return builders.manifest(
        f"{builders.SCHEDULING}/{version}", kind, name, {"schedulingPolicy": {"basic": {}}} | spec, namespace=namespace
    )


def priority_class(name, value, **more):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value} | more


def budget(name="budget-1", **more):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"}} | more


def problem_lines(snapshot):
    """Return the problems of a snapshot as lines."""
    return [f"{problem.object}: {problem.message}" for problem in worded(snapshot.problems)]


REFERENCED_WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1alpha1",
    "kind": "Workload",
    "metadata": {"name": "train", "namespace": "default", "creationTimestamp": "2026-08-01T00:00:00Z"},
    "spec": {
        "podGroups": [
            {"name": "workers", "policy": {"gang": {"minCount": 2}}},
            {"name": "driver", "policy": {"basic": {"desiredCount": 3}}},
        ]
    },
}
"""Workload of v1alpha1, which its pods reference."""
