"""Reasons why an object that an adapter reads is not judged: other controllers create its pods, its fields are not known, it has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from expansion.admission import validation
from expansion.notes import FieldsUnknown, ManagedElsewhere, NotSimulated
from kubeapi.decode import section
from validators.built_in import shapes
from validators.built_in.shared_checks import text
from validators.field import FieldError
from workloadbuilder.adapters.shared.known_objects import group_of
from workloadbuilder.adapters.shared.named_groups import TASK_GROUPS

_MANAGERS = frozenset(
    {
        "jobset.sigs.k8s.io/jobset-controller",
        "kubeflow.org/mpi-operator",
        "kubeflow.org/training-operator",
        "kubernetes.io/job-controller",
        "ray.io/kuberay-operator",
        "trainer.kubeflow.org/trainjob-controller",
    }
)
"""Values of ``managedBy`` that name the controller which creates the pods in this cluster."""
_ENDED = frozenset({"Complete", "Failed", "Completed", "Succeeded"})
_ENDED_PHASES = {
    "AppWrapper": frozenset({"Failed", "Succeeded"}),
    "SparkApplication": frozenset({"COMPLETED", "FAILED"}),
    "Workflow": frozenset({"Error", "Failed", "Succeeded"}),
}
"""Values of the phase, or of the state, of kinds that have no conditions for their end."""
_HOLDERS = ((), ("runPolicy",), ("jobTemplate", "spec"), ("rayClusterSpec",))
"""Parts of ``spec`` that can have ``managedBy``."""


def managed_elsewhere(manifest: Mapping[str, Any]) -> ManagedElsewhere | None:
    """Return the reason if another controller than the usual one creates the pods; None if not."""
    for holder in _HOLDERS:
        manager = text(section(manifest, "spec", *holder), "managedBy")
        if manager and manager not in _MANAGERS:
            return ManagedElsewhere(".".join(("spec", *holder, "managedBy")), manager)
    return None


def unknown_fields(manifest: Mapping[str, Any]) -> FieldsUnknown | None:
    """Return the reason if an object has fields that its project did not have when its schema was recorded; None if not."""
    errors = validation.unknown_fields(dict(manifest))
    if not errors:
        return None
    return FieldsUnknown(tuple(str(each.path) for each in errors), shapes.source_of(group_of(str(manifest.get("apiVersion")))))


def misspelt_fields(manifest: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors of the fields of an object that are similar to known ones."""
    return validation.misspelt_fields(dict(manifest))


def unserved_version(manifest: Mapping[str, Any]) -> NotSimulated | None:
    """Return the reason if an object has a version that its project does not serve; None if it does."""
    error = validation.version_error(manifest)
    return None if error is None else NotSimulated(validation.described(error))


def task_groups(pods: Iterable[Mapping[str, Any]]) -> str:
    """Return the annotation with which one of *pods* is in a task group of YuniKorn; empty if none is."""
    return next((key for pod in pods for key in TASK_GROUPS if key in section(pod, "metadata", "annotations")), "")


def has_ended(content: Mapping[str, Any]) -> bool:
    """Return whether an object has run to its end and has no pods any more."""
    status = content.get("status")
    if not isinstance(status, Mapping):
        return False
    phase = status.get("phase") or section(status, "applicationState").get("state")
    if isinstance(phase, str) and phase in _ENDED_PHASES.get(str(content.get("kind")), ()):
        return True
    conditions = status.get("conditions")
    ended = (
        each
        for each in (conditions if isinstance(conditions, list) else ())
        if isinstance(each, Mapping) and each.get("status") == "True" and each.get("type") in _ENDED
    )
    return any(True for _ in ended) or status.get("jobDeploymentStatus") in {"Complete", "Failed"}
