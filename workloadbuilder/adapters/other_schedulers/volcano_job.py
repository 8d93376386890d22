"""Adapter for Volcano's Job (batch.volcano.sh): a gang of the pods of all its tasks.

The minimum is ``minAvailable``, or else the sum over the tasks of ``minAvailable``, which is ``replicas`` if absent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model import start_order
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_sets import Gang, PodSet
from workloadbuilder.blueprint import copied
from workloadbuilder.workload_item import Block

ROOT = "job-root"
_INDEX = "volcano.sh/task-index"
_SPEC = FieldPath("spec")
_QUEUE_DROPPED = "Volcano's queues are dropped: the scheduler orders groups by priority and age"
_PARTITIONS_DROPPED = "partitions are dropped: all pods are one gang"
_CLAIM = "PersistentVolumeClaim"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a Job of Volcano; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    losses = [Loss(_SPEC / "queue", _QUEUE_DROPPED)] if "queue" in spec else []
    topology = scheduler_groups.highest_tier(spec, known, losses)
    volumes = tuple(_volumes(spec, about.owner.name))
    claims = tuple(_created_claims(spec, about, known))
    sets: list[PodSet] = []
    minimums = 0
    for index, task in enumerate(spec.each_item("tasks")):
        role, replicas = start_order.task_name(task.given, index), task.number("replicas", 1)
        labels = {"volcano.sh/job-name": about.owner.name, "volcano.sh/task-spec": role}
        template = pod_template.read_pod_template(task.mapping("template"))
        pods = PodSet(template, f"{about.owner.name}-{role}", replicas, labels, number_label=_INDEX, owner=about.owner, volumes=volumes)
        sets.append(dataclasses.replace(pods, part=role))
        minimums += _minimum(task, replicas)
        if (partitions := task.mapping("partitionPolicy")).given:
            confined = partitions.mapping("networkTopology")
            required = confined.given and confined.text("mode", scheduler_groups.HARD) == scheduler_groups.HARD
            losses.append(Loss(partitions.path, _PARTITIONS_DROPPED, required=bool(required)))
    _check_names(spec)
    waits = start_order.start_order("batch.volcano.sh", "Job", spec.given)
    total = sum(each.count for each in sets)
    if not sets:
        errors.append(field.required(_SPEC / "tasks", "without a task there are no pods to schedule"))
    minimum = spec.number("minAvailable", 0) or minimums
    if minimum > total:
        errors.append(field.invalid(_SPEC / "minAvailable", minimum, f"must not be greater than the number of pods ({total})"))
    if not minimum:
        result = pod_sets.one_by_one(about, sets, errors, warnings)
        return dataclasses.replace(result, losses=tuple(losses), further=claims, waits=waits)
    wanted = Gang(ROOT, _SPEC, minimum, scheduler_groups.priority(spec, warnings) or None, topology)
    origins = ((ROOT, Block.TOPOLOGY, _SPEC / "networkTopology"),) if topology else ()
    result = pod_sets.gang(about, sets, wanted, errors, warnings, losses)
    return dataclasses.replace(result, further=claims, origins=origins, waits=waits)


def _minimum(task: Fields, replicas: int) -> int:
    minimum = task.number("minAvailable", replicas)
    if minimum > replicas:
        task.errors.append(field.invalid(task.path / "minAvailable", minimum, f"must not be greater than replicas ({replicas})"))
    return minimum


def _check_names(spec: Fields) -> None:
    """Report the names that several tasks have: pods are named after their task."""
    first: dict[str, FieldPath] = {}
    for task in spec.each_item("tasks"):
        name = task.text("name")
        if name and first.setdefault(name, task.path) is not task.path:
            spec.errors.append(field.duplicate(task.path / "name", name, f"already used at {first[name]}"))


def _volumes(spec: Fields, job: str) -> Iterator[Mapping[str, Json]]:
    """Yield the volumes of all pods."""
    for index, entry in enumerate(spec.each_item("volumes")):
        if claim := _claim_name(entry, job, index):
            yield {"name": f"{job}-volume-{index}", "persistentVolumeClaim": {"claimName": claim}}


def _created_claims(spec: Fields, about: Subject, known: Known) -> Iterator[dict[str, Json]]:
    """Yield the claims that Volcano creates: those with a specification, unless they exist."""
    spaces = {about.namespace, about.namespace or "default"}
    for index, entry in enumerate(spec.each_item("volumes")):
        name = _claim_name(entry, about.owner.name, index)
        if "volumeClaim" in entry and not any(known.get("", _CLAIM, space, name) for space in spaces):
            yield {"apiVersion": "v1", "kind": _CLAIM, "metadata": {"name": name}, "spec": copied(entry.mapping("volumeClaim").given)}


def _claim_name(entry: Fields, job: str, index: int) -> str:
    """Return the name of the claim of a volume; Volcano ends a name that it makes with random letters."""
    return entry.text("volumeClaimName") or (f"{job}-volume-{index}" if "volumeClaim" in entry else "")
