"""Adapter for SparkApplication and ScheduledSparkApplication (sparkoperator.k8s.io): the driver and its executors.

Without a batch scheduler the pods have no group.  Volcano and scheduler-plugins get a PodGroup with one pod as its minimum, so that the
driver starts before its executors; YuniKorn gets task groups in annotations.  Source: Spark Operator 2.5, ``internal/scheduler``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared import kueue_annotations, kueue_podsets, object_identity, pod_sets
from workloadbuilder.adapters.shared.adapter_result import Dependent, Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_podsets import PlannedPods
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_sets import Gang, PodSet
from workloadbuilder.adapters.spark.spark_pods import kueue_labels, template_of, unknown_fields
from workloadbuilder.adapters.spark.spark_resources import SparkConf

ROOT = "sparkapplication-root"
APP, ROLE, _LAUNCHED = "sparkoperator.k8s.io/app-name", "spark-role", "sparkoperator.k8s.io/launched-by-spark-operator"
_ROLES = ("driver", "executor")
_GATE = "its feature gate SparkApplicationIntegration, which is off by default"
_EXECUTOR_ID = "spark-exec-id"
_YUNIKORN = "yunikorn"
_WITH_GROUP = frozenset({"kube-scheduler", "volcano"})
_TASK_GROUPS = "yunikorn.apache.org/task-groups"
_LOST = {
    "queue": "queues are dropped: the scheduler orders groups by priority and age",
    "resources": "minResources is dropped: pods are placed individually",
}
_SCHEDULED = "ScheduledSparkApplication"
_ENABLED = "spark.dynamicAllocation.enabled"
_DYNAMIC = "the driver changes the number of executors; those of the initial number are placed"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read such an object; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    object_identity.warn_if_suspended(spec, about.owner.kind, warnings)
    if about.owner.kind == _SCHEDULED:
        return _scheduled(about, spec.mapping("template"), errors, warnings)
    conf = SparkConf.read(spec)
    mode = spec.text("mode", "cluster")
    if mode not in {"cluster", "client"}:
        errors.append(field.not_supported(spec.path / "mode", mode, ["cluster", "client"]))
    # In client mode, the driver runs where the application is submitted.
    sets = [*([_driver(about, spec, conf)] if mode == "cluster" else []), _executors(about, spec, conf)]
    losses = [*_losses(spec, conf), *_queue(about, spec, mode)]
    scheduler = spec.text("batchScheduler")
    if scheduler not in {"", _YUNIKORN, *_WITH_GROUP}:
        errors.append(field.not_supported(spec.path / "batchScheduler", scheduler, sorted({_YUNIKORN, *_WITH_GROUP})))
    if scheduler not in _WITH_GROUP:
        reading = dataclasses.replace(pod_sets.one_by_one(about, sets, errors, warnings), losses=tuple(losses))
        roles = _ROLES[-len(sets) :]
        planned = [PlannedPods(each.template, role, (plan,)) for role, each, plan in zip(roles, sets, reading.pods, strict=True)]
        return kueue_podsets.grouped(reading, planned, ROOT, known)
    options = spec.mapping("batchSchedulerOptions")
    losses += [Loss(options.path / name, detail) for name, detail in _LOST.items() if name in options]
    wanted = Gang(ROOT, spec.path / "batchScheduler", 1, options.text("priorityClassName") or None)
    losses += kueue_podsets.unexpressed((each.template for each in sets), "the pods have one group of the batch scheduler")
    return pod_sets.gang(about, sets, wanted, errors, warnings, losses)


def _queue(about: Subject, spec: Fields, mode: str) -> Iterator[Loss]:
    """Yield what Kueue does with an application that has a queue, and what it refuses of it."""
    yield from kueue_annotations.queue(about.labels, about.annotations)
    if kueue_annotations.QUEUE not in about.labels:
        return
    alone = "without it, the driver alone is admitted, and its executors are not held"
    yield Loss(FieldPath("kind"), f"Kueue 0.17 admits a SparkApplication as a whole only with {_GATE}: {alone}")
    if mode == "client":
        yield Loss(spec.path / "mode", f"Kueue 0.17 refuses this mode with {_GATE}")
    if spec.mapping("dynamicAllocation").flag("enabled"):
        yield Loss(spec.path.join(("dynamicAllocation", "enabled")), f"Kueue 0.17 refuses it with {_GATE}")


def _scheduled(about: Subject, template: Fields, errors: list[FieldError], warnings: list[FieldError]) -> Reading:
    """Return the reading of the application that is created next."""
    metadata: dict[str, Json] = {"name": f"{about.owner.name}-next"}
    child = {"apiVersion": about.owner.api_version, "kind": "SparkApplication", "metadata": metadata, "spec": template.given}
    dependent = Dependent(pod_sets.owned(child, about.owner), template.path, FieldPath("spec"))
    detail = f"the time of the next application is part of its name: {metadata['name']!r} is used in its place"
    warnings.append(field.invalid(FieldPath("metadata", "name"), about.owner.name, detail))
    return Reading(about.owner, about.namespace, dependents=(dependent,), errors=tuple(errors), warnings=tuple(warnings))


def _driver(about: Subject, spec: Fields, conf: SparkConf) -> PodSet:
    role = spec.mapping("driver")
    name = role.text("podName") or conf.entries.get("spark.kubernetes.driver.pod.name") or f"{about.owner.name}-driver"
    return _pods(about, role, "driver", conf, PodSet(template_of(role, "driver", conf), name, 1, numbered=False, owner=about.owner))


def _executors(about: Subject, spec: Fields, conf: SparkConf) -> PodSet:
    role = spec.mapping("executor")
    template = template_of(role, "executor", conf)
    name = f"{about.owner.name}-exec"
    return _pods(about, role, "executor", conf, PodSet(template, name, _count(spec, role, conf), first=1, number_label=_EXECUTOR_ID))


def _pods(about: Subject, role: Fields, kind: str, conf: SparkConf, pods: PodSet) -> PodSet:
    """Return *pods* with the labels of the operator; with YuniKorn, also as members of task groups."""
    labels = {
        **kueue_labels(about.labels.items()),
        **role.annotations("labels"),
        APP: about.owner.name,
        _LAUNCHED: "true",
        ROLE: kind,
    }
    template = pods.template
    if conf.spec.text("batchScheduler") == _YUNIKORN:
        metadata = Fields(template.content, role.path, role.errors).mapping("metadata")
        annotations = {**metadata.annotations(), _TASK_GROUPS: ""}
        template = dataclasses.replace(template, content={**template.content, "metadata": {**metadata.given, "annotations": annotations}})
    return dataclasses.replace(pods, template=template, labels=labels)


def _count(spec: Fields, role: Fields, conf: SparkConf) -> int:
    """Return the number of executors that the driver creates first."""
    given = role.count("instances", None)
    if given is None:
        given = _number(conf, "spark.executor.instances")
    if not _is_dynamic(spec, conf):
        return 1 if given is None else given
    allocation = spec.mapping("dynamicAllocation")
    counts = [given]
    for name in ("initialExecutors", "minExecutors"):
        counts += [allocation.count(name, None), _number(conf, f"spark.dynamicAllocation.{name}")]
    return max((each for each in counts if each is not None), default=0)


def _number(conf: SparkConf, key: str) -> int | None:
    if (text := conf.entries.get(key)) is None:
        return None
    if not text.isdecimal() or not text.isascii() or len(text) > len("100000"):
        conf.spec.errors.append(field.invalid(conf.path / Key(key), text, "must be a number"))
        return None
    return int(text)


def _is_dynamic(spec: Fields, conf: SparkConf) -> bool:
    allocation = spec.mapping("dynamicAllocation")
    return allocation.flag("enabled") if allocation.given else conf.entries.get(_ENABLED, "").lower() == "true"


def _losses(spec: Fields, conf: SparkConf) -> Iterator[Loss]:
    for role in map(spec.mapping, _ROLES):
        template = role.path / "template"
        yield from (Loss(template.join(path.parts), "has no effect: a pod has no such field") for path in unknown_fields(role))
    if _is_dynamic(spec, conf):
        yield Loss(spec.path / "dynamicAllocation" if "dynamicAllocation" in spec else conf.path / Key(_ENABLED), _DYNAMIC)
