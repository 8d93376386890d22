"""Group of a pod that a controller has created, among the groups that were compiled from the controller's object."""

from __future__ import annotations

from typing import Any

from workloadbuilder.adapters.compiled import Compiled

_TELLING = (
    *(f"jobset.sigs.k8s.io/{name}" for name in ("jobset-name", "replicatedjob-name", "job-index")),
    *(f"leaderworkerset.sigs.k8s.io/{name}" for name in ("name", "group-index", "worker-index")),
    *(f"ray.io/{name}" for name in ("cluster", "node-type", "group")),
    *(f"training.kubeflow.org/{name}" for name in ("job-name", "job-role", "replica-type")),
    "batch.kubernetes.io/job-name",
    "job-name",
)
"""Labels that tell the group.  Others differ within a group, or change when pods are created again: indexes of a Job, restarts, sizes."""


def planned_group(pod: dict[str, Any], compiled: Compiled) -> str | None:
    """Return the name of the group of *pod*; None if its labels are those of no pod that was compiled, or if that has no group.

    *compiled* must have pods.  A RayJob and a RayService must be compiled with the status that names their cluster.
    """
    labels = telling_labels(pod)
    planned = (each for each in compiled.objects if each["kind"] == "Pod" and telling_labels(each) == labels)
    found: dict[str, Any] = next(planned, {"spec": {}})
    name = (found["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return name if isinstance(name, str) and labels else None


def telling_labels(pod: dict[str, Any]) -> dict[str, str]:
    """Return the labels of *pod* that tell its group: pods with the same ones have the same group."""
    labels = pod["metadata"].get("labels") or {}
    return {name: labels[name] for name in _TELLING if name in labels}
