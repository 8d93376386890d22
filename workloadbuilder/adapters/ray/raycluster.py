"""Adapter for RayCluster (ray.io): the head, and the pods of each group of workers.

With gang scheduling (the label ``ray.io/gang-scheduling-enabled``) all pods are one gang, or those of the lower limits if the
cluster scales itself; without it they have no group.  A worker of several hosts is that many pods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model.start_order import HEAD, ray_workers
from workloadbuilder.adapters.shared import kueue_annotations, kueue_podsets, object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_podsets import PlannedPods
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_sets import Gang, PodSet
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.workload_item import Owner

ROOT = "raycluster-root"
CLUSTER, NODE_TYPE, GROUP = "ray.io/cluster", "ray.io/node-type", "ray.io/group"
_GANG = "ray.io/gang-scheduling-enabled"
_MOST = 2**31 - 1
_AUTOSCALER = "autoscaler"
_RESOURCES = {kind: {"cpu": "500m", "memory": "512Mi"} for kind in ("limits", "requests")}
"""Resources of the autoscaler's container if the cluster sets none."""
_WAITING = {
    "name": "wait-gcs-ready",
    "resources": {kind: {"cpu": "200m", "memory": "256Mi"} for kind in ("limits", "requests")},
}
"""Init container of the workers: a pod that requests less needs this much to start."""
_VOLUMES = frozenset({"ray-logs", "ray-tls", "ray-token", "shared-mem"})
"""Volumes that KubeRay adds to pods."""
_SCALED = "the autoscaler changes the number of workers; the pods of the current number are placed"


@dataclasses.dataclass(frozen=True, slots=True)
class Ray:
    """Pods of a Ray cluster; *minimum* is their number at the lower limits, *scaled* is True with autoscaling."""

    sets: tuple[PodSet, ...]
    minimum: int
    scaled: bool
    suspended: tuple[FieldPath, ...] = ()
    """The fields that suspend a group of workers, which has no pods then."""


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a RayCluster; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    object_identity.warn_if_suspended(spec, "RayCluster", warnings)
    ray = read_ray(spec, about.owner.name)
    return placed_by_kueue(reading(about, ray.sets, ray, spec.path, errors, warnings), ray.sets, known)


def reading(
    about: Subject, sets: tuple[PodSet, ...], ray: Ray, path: FieldPath, errors: list[FieldError], warnings: list[FieldError]
) -> Reading:
    """Return the reading of an object with the cluster *ray* at *path* and all pods in *sets*."""
    losses = [*kueue_annotations.queue(about.labels, about.annotations)]
    if ray.scaled:
        losses.append(Loss(path / "enableInTreeAutoscaling", _SCALED))
    losses += [Loss(each, "the worker group is suspended: it has no pods") for each in ray.suspended]
    if _GANG not in about.labels:
        return dataclasses.replace(pod_sets.one_by_one(about, sets, errors, warnings), losses=tuple(losses))
    return pod_sets.gang(about, ray.sets, Gang(ROOT, path, ray.minimum), errors, warnings, losses)


def placed_by_kueue(result: Reading, sets: Sequence[PodSet], known: Known) -> Reading:
    """Return the reading of an object with the pods in *sets*, in the domains that Kueue's annotations require."""
    planned = [PlannedPods(each.template, each.part.replace(" ", "-").lower(), (each.plan(),)) for each in sets]
    return kueue_podsets.grouped(result, planned, ROOT, known)


def read_ray(spec: Fields, name: str) -> Ray:
    """Read the *spec* of the cluster named *name*."""
    head = spec.mapping("headGroupSpec")
    if "headGroupSpec" not in spec:
        spec.errors.append(field.required(head.path, "a RayCluster must have a head"))
    scaled = spec.flag("enableInTreeAutoscaling")
    workers = [*_workers(spec, name)]
    minimum = 1 + sum(lower if scaled else each.count for each, lower in workers)
    labels = {CLUSTER: name, NODE_TYPE: "head", GROUP: "headgroup"}
    template = pod_template.read_pod_template(head.mapping("template"))
    if scaled:
        template = _with_autoscaler(template, spec.mapping("autoscalerOptions"))
    suspended = tuple(each.path / "suspend" for each in spec.each_item("workerGroupSpecs") if each.flag("suspend"))
    own = PodSet(template, f"{name}-head", 1, labels, numbered=False, volumes=_added_volumes(template), part=HEAD)
    return Ray((own, *(each for each, _ in workers)), minimum, scaled, suspended)


def _workers(spec: Fields, name: str) -> Iterator[tuple[PodSet, int]]:
    """Yield the pods of each group of workers, and their number at the group's lower limit."""
    for entry in spec.each_item("workerGroupSpecs"):
        group = entry.text("groupName")
        least, most = entry.number("minReplicas", 0), entry.number("maxReplicas", _MOST)
        if least > most:
            entry.errors.append(field.invalid(entry.path / "minReplicas", least, f"must not be greater than maxReplicas ({most})"))
        hosts = entry.number("numOfHosts", 1, minimum=1)
        replicas = 0 if entry.flag("suspend") else min(max(entry.number("replicas", least), least), most)
        if not group:
            entry.errors.append(field.required(entry.path / "groupName", "its pods are named after it"))
        labels = {CLUSTER: name, NODE_TYPE: "worker", GROUP: group}
        template = _with_waiting(pod_template.read_pod_template(entry.mapping("template")))
        volumes = _added_volumes(template)
        pods = PodSet(template, f"{name}-{group}-worker", replicas * hosts, labels, volumes=volumes, part=ray_workers(group))
        yield pods, min(least, replicas) * hosts


def _with_waiting(worker: PodTemplate) -> PodTemplate:
    """Return the template of a worker with the init container that KubeRay adds: it waits for the head."""
    spec = worker.content.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(containers, list) or not containers:
        return worker
    container = {**_WAITING, "image": Fields(containers[0], worker.path, []).text("image")}
    given = spec.get("initContainers")
    return dataclasses.replace(
        worker, content={**worker.content, "spec": {**spec, "initContainers": [*(given if isinstance(given, list) else ()), container]}}
    )


def _with_autoscaler(head: PodTemplate, options: Fields) -> PodTemplate:
    """Return the template of a head with the container that KubeRay adds for the autoscaler."""
    spec = head.content.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(containers, list) or not containers:
        return head
    image = options.text("image") or Fields(containers[0], head.path, []).text("image")
    container = {"name": _AUTOSCALER, "image": image, "resources": options.raw("resources") or _RESOURCES}
    return dataclasses.replace(head, content={**head.content, "spec": {**spec, "containers": [*containers, container]}})


def _added_volumes(template: PodTemplate) -> tuple[Mapping[str, Json], ...]:
    """Return the volumes of KubeRay that containers of a template mount."""
    spec = Fields(template.content.get("spec"), template.path, [])
    names = {each.text("name") for each in spec.each_item("volumes")}
    mounts = (
        mount for kind in ("containers", "initContainers") for each in spec.each_item(kind) for mount in each.each_item("volumeMounts")
    )
    return tuple({"name": each, "emptyDir": {}} for each in sorted({mount.text("name") for mount in mounts} & _VOLUMES - names))


def job_owner(name: str) -> Owner:
    """Return the Job that submits for the RayJob *name*."""
    return Owner("batch/v1", "Job", name)
