"""Adapter for the jobs of Kubeflow's training operator (v1) and MPI operator (v2beta1): replicas by role.

With ``runPolicy.schedulingPolicy`` the pods are a gang, of all pods if ``minAvailable`` is absent; without it they have no group.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.adapters.shared import kueue_annotations, object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_sets import Gang, PodSet

_REPLICAS = {
    "PyTorchJob": ("pytorchReplicaSpecs", ("Master", "Worker")),
    "TFJob": ("tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator")),
    "MPIJob": ("mpiReplicaSpecs", ("Launcher", "Worker")),
    "XGBoostJob": ("xgbReplicaSpecs", ("Master", "Worker")),
    "PaddleJob": ("paddleReplicaSpecs", ("Master", "Worker")),
    "JAXJob": ("jaxReplicaSpecs", ("Worker",)),
}
"""Field with the replicas, and the roles, by kind."""
_PREFIX = "training.kubeflow.org/"
ROOT = "training-root"
_LOST = {
    "queue": "queues are dropped: the scheduler orders groups by priority and age",
    "minResources": "minResources is dropped: pods are placed individually",
    "scheduleTimeoutSeconds": "a group waits without a time limit",
}


def adapt(manifest: Json, known: Known) -> Reading:  # noqa: ARG001 - signature of adapters
    """Read a job; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    name, roles = _REPLICAS.get(about.owner.kind, ("", ()))
    replicas = spec.mapping(name)
    sets = [*_sets(replicas, roles, about)]
    if not sets:
        errors.append(field.required(replicas.path, f"there must be replicas of one of {', '.join(roles)}"))
    policy = spec.mapping("runPolicy")
    object_identity.warn_if_suspended(policy, "job", warnings)
    losses = [*kueue_annotations.queue(about.labels, about.annotations)]
    if "elasticPolicy" in spec:
        losses.append(Loss(spec.path / "elasticPolicy", "the number of pods changes while it runs; that of its replicas is used"))
    scheduling = policy.mapping("schedulingPolicy")
    total = sum(each.count for each in sets)
    if "schedulingPolicy" not in policy or not total:
        result = pod_sets.one_by_one(about, sets, errors, warnings)
        return dataclasses.replace(result, losses=tuple(losses))
    losses += [Loss(scheduling.path / each, detail) for each, detail in _LOST.items() if each in scheduling]
    minimum = scheduling.number("minAvailable", total, minimum=1)
    if minimum > total:
        errors.append(field.invalid(scheduling.path / "minAvailable", minimum, f"must not be greater than the number of pods ({total})"))
    wanted = Gang(ROOT, FieldPath("spec"), minimum, scheduling.text("priorityClass") or None)
    return pod_sets.gang(about, sets, wanted, errors, warnings, losses)


def _sets(replicas: Fields, roles: tuple[str, ...], about: Subject) -> Iterator[PodSet]:
    """Yield the pods of each role, in the order of *roles*; names of roles are compared without case, as the operator does."""
    written = {key.lower(): key for key in replicas.given if isinstance(key, str)}
    for unknown in sorted(set(written) - {each.lower() for each in roles}):
        replicas.errors.append(field.not_supported(replicas.path, written[unknown], list(roles)))
    for role in roles:
        if (key := written.get(role.lower())) is None:
            continue
        entry = replicas.mapping(key)
        labels = {f"{_PREFIX}job-name": about.owner.name, f"{_PREFIX}replica-type": role.lower()}
        template = pod_template.read_pod_template(entry.mapping("template"))
        prefix = f"{about.owner.name}-{role.lower()}"
        yield PodSet(template, prefix, entry.number("replicas", 1), labels, number_label=f"{_PREFIX}replica-index")
