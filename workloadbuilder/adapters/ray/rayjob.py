"""Adapter for RayJob (ray.io): the RayCluster that it creates, and the pod of the Job that submits to it."""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from validators import field
from validators.field import FieldError
from validators.model.start_order import SUBMITTER, start_order
from workloadbuilder.adapters.ray import raycluster
from workloadbuilder.adapters.shared import object_identity, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.pod_sets import PodSet

_BY_JOB = "K8sJobMode"
_WITHOUT_POD = frozenset({"HTTPMode", "InteractiveMode", "SidecarMode"})
_RESOURCES = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
"""Resources of the submitter if the RayJob has no template for it."""


_SELECTED = "image-of-the-selected-cluster"
"""Image if the RayJob selects a cluster that exists."""


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a RayJob; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    object_identity.warn_if_suspended(spec, "RayJob", warnings)
    cluster = spec.mapping("rayClusterSpec")
    mode = spec.text("submissionMode", _BY_JOB)
    if mode != _BY_JOB and mode not in _WITHOUT_POD:
        errors.append(field.not_supported(spec.path / "submissionMode", mode, sorted({_BY_JOB, *_WITHOUT_POD})))
    submitter = [_submitter(spec, about.owner.name)] if mode == _BY_JOB else []
    if spec.mapping("clusterSelector").given:
        ray = raycluster.Ray((), 0, scaled=False)
        selected = dataclasses.replace(about, labels={})
        loss = Loss(spec.path / "clusterSelector", "the job runs on a RayCluster that exists: what it needs there is not known")
        reading = raycluster.reading(selected, tuple(submitter), ray, cluster.path, errors, warnings)
        return dataclasses.replace(reading, losses=(*reading.losses, loss))
    # KubeRay appends five random characters to the name of the cluster, and says the name in the status before it creates it.
    ray = raycluster.read_ray(cluster, top.mapping("status").text("rayClusterName") or about.owner.name)
    everything = (*ray.sets, *submitter)
    with_submitter = dataclasses.replace(ray, sets=everything)
    reading = raycluster.reading(about, everything, with_submitter, cluster.path, errors, warnings)
    reading = dataclasses.replace(reading, waits=start_order("ray.io", "RayJob", spec.given))
    return raycluster.placed_by_kueue(reading, everything, known)


def _submitter(spec: Fields, name: str) -> PodSet:
    given = spec.mapping("submitterPodTemplate")
    template = given if given.given else Fields(_default_submitter(spec), given.path, given.errors)
    owner, labels = raycluster.job_owner(name), dict.fromkeys(("batch.kubernetes.io/job-name", "job-name"), name)
    return PodSet(pod_template.read_pod_template(template), name, 1, labels, owner=owner, part=SUBMITTER)


def _default_submitter(spec: Fields) -> Json:
    """Return the pod template of the submitter if the RayJob has none: its image is that of the head."""
    head = spec.mapping("rayClusterSpec").mapping("headGroupSpec").mapping("template").mapping("spec")
    image = next((each.text("image") for each in head.each_item("containers")), "")
    container = {"name": "ray-job-submitter", "image": image or _SELECTED, "resources": _RESOURCES}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}
