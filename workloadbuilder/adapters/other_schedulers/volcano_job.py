"""Adapter for Volcano's Job (batch.volcano.sh): a gang of the pods of all its tasks.

The minimum is ``minAvailable``, or else the sum over the tasks of ``minAvailable``, which is ``replicas`` if absent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.pod_sets import Gang, PodSet

ROOT = "job-root"
_INDEX = "volcano.sh/task-index"
_SPEC = FieldPath("spec")
_LOST = {
    "queue": "Volcano's queues are dropped: the scheduler orders groups by priority and age",
    "networkTopology": "tiers of HyperNodes are not node labels: the constraint is dropped",
}


def adapt(manifest: Json, known: Known) -> Reading:  # noqa: ARG001 - signature of adapters
    """Read a Job of Volcano; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    losses = [Loss(_SPEC / name, detail) for name, detail in _LOST.items() if name in spec]
    volumes = tuple(_volumes(spec, about.owner.name, losses))
    sets: list[PodSet] = []
    minimums = 0
    for index, task in enumerate(spec.each_item("tasks")):
        role, replicas = task.text("name") or f"default{index}", task.number("replicas", 1)
        labels = {"volcano.sh/job-name": about.owner.name, "volcano.sh/task-spec": role}
        template = pod_template.read_pod_template(task.mapping("template"))
        sets.append(
            PodSet(template, f"{about.owner.name}-{role}", replicas, labels, number_label=_INDEX, owner=about.owner, volumes=volumes)
        )
        minimums += _minimum(task, replicas)
        if task.raw("dependsOn"):
            losses.append(Loss(task.path / "dependsOn", "the start order is dropped: all pods are placed together"))
    _check_names(spec)
    total = sum(each.count for each in sets)
    if not sets:
        errors.append(field.required(_SPEC / "tasks", "without a task there are no pods to schedule"))
    minimum = spec.number("minAvailable", 0) or minimums
    if minimum > total:
        errors.append(field.invalid(_SPEC / "minAvailable", minimum, f"must not be greater than the number of pods ({total})"))
    if not minimum:
        return dataclasses.replace(pod_sets.one_by_one(about, sets, errors, warnings), losses=tuple(losses))
    wanted = Gang(ROOT, _SPEC, minimum, scheduler_groups.priority(spec, warnings) or None)
    return pod_sets.gang(about, sets, wanted, errors, warnings, losses)


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


def _volumes(spec: Fields, job: str, losses: list[Loss]) -> Iterator[Mapping[str, Json]]:
    """Yield the volumes of all pods: claims that exist, by name; a claim that Volcano creates is lost."""
    for index, entry in enumerate(spec.each_item("volumes")):
        claim = entry.text("volumeClaimName")
        if "volumeClaim" in entry:
            losses.append(Loss(entry.path / "volumeClaim", "the claim that Volcano creates is dropped: its volume does not restrict nodes"))
        elif claim:
            yield {"name": f"{job}-volume-{index}", "persistentVolumeClaim": {"claimName": claim}}
