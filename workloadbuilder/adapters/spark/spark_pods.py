"""Pod template of a Spark driver or of its executors: Spark makes the pods, and the webhook of Spark Operator changes them.

Source: Spark Operator 2.5, ``sparkpod_defaulter.go`` and ``submission.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi import decode
from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import schema
from validators.built_in import shapes
from workloadbuilder.adapters.shared import pod_template
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.adapters.spark import spark_resources
from workloadbuilder.adapters.spark.spark_resources import SparkConf
from workloadbuilder.blueprint import copied

_CONTAINERS = {"driver": "spark-kubernetes-driver", "executor": "spark-kubernetes-executor"}
_REPLACED = ("affinity", "dnsConfig", "hostNetwork", "priorityClassName", "schedulerName", "shareProcessNamespace")
"""Fields of a role that replace those of its pod template."""
_ADDED = {"tolerations": "tolerations", "sidecars": "containers", "initContainers": "initContainers"}
"""Lists of a role, and the lists of its pods that they are added to."""
_KUEUE = "kueue.x-k8s.io/"
_UNKNOWN = "schema-unknown-field"


def template_of(role: Fields, kind: str, conf: SparkConf) -> PodTemplate:
    """Return the pod template of a *role* of an application: its *kind* is ``driver`` or ``executor``."""
    template = role.mapping("template")
    spec = conf.spec
    pod: dict[str, Json] = schema.without_paths(copied(template.given), unknown_fields(role)).get("spec") or {}
    _set_container(pod, role, kind, conf)
    for name in _REPLACED:
        if name in role:
            pod[name] = copied(role.raw(name))
    for name, listed in _ADDED.items():
        if added := [copied(each.given) for each in role.each_item(name)]:
            pod[listed] = [*_list(pod, listed), *added]
    selector = {
        **template.mapping("spec").annotations("nodeSelector"),
        **spec.annotations("nodeSelector"),
        **role.annotations("nodeSelector"),
    }
    if selector:
        pod["nodeSelector"] = selector
    if volumes := [*_mounted_volumes(spec, pod)]:
        pod["volumes"] = [*_list(pod, "volumes"), *volumes]
    if batch := spec.text("batchScheduler"):
        pod["schedulerName"] = batch
    pod["restartPolicy"] = "Never"
    metadata = {name: {**template.mapping("metadata").annotations(name), **role.annotations(name)} for name in ("labels", "annotations")}
    return pod_template.read_pod_template(Fields({"metadata": metadata, "spec": pod}, role.path, role.errors))


def unknown_fields(role: Fields) -> list[FieldPath]:
    """Return the fields of the pod template of a *role* that no pod has: the operator drops them."""
    spec = role.mapping("template").mapping("spec").given
    errors = shapes.errors("v1", "Pod", {"metadata": {"name": "pod"}, "spec": decode.plain(dict(spec))}) if spec else ()
    return [each.path for each in errors if each.origin == _UNKNOWN]


def _set_container(pod: dict[str, Json], role: Fields, kind: str, conf: SparkConf) -> None:
    """Set image and resources of the container of Spark: the one of its name, or else the first one."""
    containers = [each for each in _list(pod, "containers") if isinstance(each, dict)] or [{}]
    own = next((each for each in containers if each.get("name") == _CONTAINERS[kind]), containers[0])
    given = Fields(own, role.path, []).mapping("resources").given
    computed = spark_resources.resources(role, kind, conf)
    own.setdefault("name", _CONTAINERS[kind])
    image = role.text("image") or conf.spec.text("image") or conf.entries.get("spark.kubernetes.container.image", "")
    if image:
        own["image"] = image
    own["resources"] = {
        **given,
        **{part: {**Fields(given, role.path, []).mapping(part).given, **computed[part]} for part in ("requests", "limits")},
    }
    if mounts := [copied(each.given) for each in role.each_item("volumeMounts")]:
        own["volumeMounts"] = [*_list(own, "volumeMounts"), *mounts]
    pod["containers"] = containers


def _mounted_volumes(spec: Fields, pod: dict[str, Json]) -> Iterator[Json]:
    """Yield the volumes of the application that a container of the pod mounts."""
    names = {each.get("name") for each in _dicts(_list(pod, "volumes"))}
    containers = [*_dicts(_list(pod, "containers")), *_dicts(_list(pod, "initContainers"))]
    mounted = {each.get("name") for container in containers for each in _dicts(_list(container, "volumeMounts"))}
    for each in spec.each_item("volumes"):
        if (name := each.text("name")) in mounted and name not in names:
            yield copied(each.given)


def _list(content: dict[str, Json], name: str) -> list[Json]:
    value = content.get(name)
    return value if isinstance(value, list) else []


def _dicts(values: Iterable[Json]) -> Iterator[dict[str, Json]]:
    return (each for each in values if isinstance(each, dict))


def kueue_labels(labels: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return those of an application's *labels* that its pods get too."""
    return {key: value for key, value in labels if key.startswith(_KUEUE)}
