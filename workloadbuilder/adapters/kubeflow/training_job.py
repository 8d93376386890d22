"""Adapter for the jobs of Kubeflow's training operator (v1) and MPI operator (v2beta1): replicas by role.

With ``runPolicy.schedulingPolicy`` the pods are a gang, of all pods if ``minAvailable`` is absent; without it they have no group.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model.start_order import LAUNCHER, start_order
from workloadbuilder.adapters.shared import kueue_annotations, kueue_podsets, object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_podsets import PlannedPods
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_sets import Gang, PodSet
from workloadbuilder.workload_item import Owner


@dataclasses.dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of job: the field with its replicas, their roles, and what the operator refuses.

    *single* is the role that has one replica, and *container* the name of a container that each role needs; empty if
    there is none.  *needed* is True if a job without the role *single* is refused.
    """

    replicas: str
    roles: tuple[str, ...]
    single: str = ""
    needed: bool = False
    container: str = ""


_KINDS = {
    "PyTorchJob": _Kind("pytorchReplicaSpecs", ("Master", "Worker"), "Master", container="pytorch"),
    "TFJob": _Kind("tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator"), container="tensorflow"),
    "MPIJob": _Kind("mpiReplicaSpecs", ("Launcher", "Worker"), "Launcher", needed=True),
    "XGBoostJob": _Kind("xgbReplicaSpecs", ("Master", "Worker"), "Master", needed=True, container="xgboost"),
    "PaddleJob": _Kind("paddleReplicaSpecs", ("Master", "Worker"), container="paddle"),
    "JAXJob": _Kind("jaxReplicaSpecs", ("Worker",), container="jax"),
}
_PREFIX = "training.kubeflow.org/"
_INDEX = f"{_PREFIX}replica-index"
_MPI_OPERATOR = "kubeflow.org/v2beta1"
ROOT = "training-root"
_LOST = {
    "queue": "queues are dropped: the scheduler orders groups by priority and age",
    "minResources": "minResources is dropped: pods are placed individually",
    "scheduleTimeoutSeconds": "a group waits without a time limit",
}


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a job; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    kind = _KINDS.get(about.owner.kind, _Kind("", ()))
    replicas = spec.mapping(kind.replicas)
    sets = [*_sets(spec, kind, about)]
    if not sets:
        errors.append(field.required(replicas.path, f"there must be replicas of one of {', '.join(kind.roles)}"))
    elif kind.needed and not any(str(each).lower() == kind.single.lower() for each in replicas.given):
        errors.append(field.required(replicas.path / kind.single, f"there must be a {kind.single}"))
    policy = spec.mapping("runPolicy")
    object_identity.warn_if_suspended(policy, "job", warnings)
    losses = [*kueue_annotations.queue(about.labels, about.annotations)]
    if "elasticPolicy" in spec:
        losses.append(Loss(spec.path / "elasticPolicy", "the number of pods changes while it runs; that of its replicas is used"))
    scheduling, waits = policy.mapping("schedulingPolicy"), start_order("kubeflow.org", about.owner.kind, spec.given)
    total = sum(each.count for each in sets)
    if "schedulingPolicy" not in policy or not total:
        result = pod_sets.one_by_one(about, sets, errors, warnings)
        return kueue_podsets.grouped(dataclasses.replace(result, losses=tuple(losses), waits=waits), _planned(sets), ROOT, known)
    losses += [Loss(scheduling.path / each, detail) for each, detail in _LOST.items() if each in scheduling]
    minimum, at = scheduling.number("minAvailable", total, minimum=1), scheduling.path / "minAvailable"
    if minimum > total:
        warnings.append(field.invalid(at, minimum, f"must not be greater than the number of pods ({total})"))
    wanted = Gang(ROOT, FieldPath("spec"), minimum, scheduling.text("priorityClass") or None, minimum_path=at)
    gang = dataclasses.replace(pod_sets.gang(about, sets, wanted, errors, warnings, losses), waits=waits)
    return kueue_podsets.grouped(gang, _planned(sets), ROOT, known)


def _planned(sets: Sequence[PodSet]) -> list[PlannedPods]:
    return [PlannedPods(each.template, each.part, (each.plan(),)) for each in sets]


def _sets(spec: Fields, kind: _Kind, about: Subject) -> Iterator[PodSet]:
    """Yield the pods of each role, in the order of the roles; their names are compared without case, as the operator does."""
    replicas = spec.mapping(kind.replicas)
    written = {key.lower(): key for key in replicas.given if isinstance(key, str)}
    for unknown in sorted(set(written) - {each.lower() for each in kind.roles}):
        replicas.errors.append(field.not_supported(replicas.path, written[unknown], list(kind.roles)))
    for role in kind.roles:
        if (key := written.get(role.lower())) is None:
            continue
        entry = replicas.mapping(key)
        template = pod_template.read_pod_template(entry.mapping("template"))
        count = entry.number("replicas", 1)
        if role == kind.single and count != 1:
            replicas.errors.append(field.invalid(entry.path / "replicas", count, "must be 1"))
        _check_container(entry, kind.container)
        pods = PodSet(template, f"{about.owner.name}-{role.lower()}", count, number_label=_INDEX, part=role.lower())
        yield _of_mpi_operator(pods, about.owner, spec) if about.owner.api_version == _MPI_OPERATOR else _labelled(pods, about.owner.name)


def _labelled(pods: PodSet, job: str) -> PodSet:
    """Return the pods of a role of *job* with the labels of the training operator."""
    return dataclasses.replace(pods, labels={f"{_PREFIX}job-name": job, f"{_PREFIX}replica-type": pods.part})


def _of_mpi_operator(pods: PodSet, job: Owner, spec: Fields) -> PodSet:
    """Return the pods of a role with the labels of the MPI operator.  The launcher is the pod of a Job, with an index only as a worker."""
    labels = {f"{_PREFIX}operator-name": "mpi-operator", f"{_PREFIX}job-name": job.name, f"{_PREFIX}job-role": pods.part}
    is_worker_too = spec.flag("runLauncherAsWorker")
    if pods.part != LAUNCHER:
        return dataclasses.replace(pods, labels=labels, first_index=int(is_worker_too))
    name = pods.prefix
    labels |= {"batch.kubernetes.io/job-name": name, "job-name": name}
    return dataclasses.replace(pods, labels=labels, number_label=_INDEX if is_worker_too else "", owner=Owner("batch/v1", "Job", name))


def _check_container(entry: Fields, name: str) -> None:
    """Report a role without a container named *name*; containers of a wrong form are reported with the pods."""
    spec = entry.mapping("template").mapping("spec")
    containers = spec.raw("containers")
    if not name or not isinstance(containers, list) or not containers:
        return
    if not any(isinstance(each, Mapping) and each.get("name") == name for each in containers):
        entry.errors.append(field.required(spec.path / "containers", f'must have a container named "{name}"'))
