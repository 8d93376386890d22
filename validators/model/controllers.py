"""Pods that controllers create, by pod template: their number, and the event before which they are not created.

Kinds without rules of their own are read here as ``Controller``.  Sources: Kubernetes 1.37.1; the APIs of JobSet, LeaderWorkerSet,
KubeRay and Kubeflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubeapi.field_path import Key, Part
from kubeapi.meta import ObjectMeta, Struct
from validators.model.views import CronJob, Job, JobSet, JobSetSpec, Pod, PodSpec

_MOST = 2**31 - 1
REFERENCES = frozenset({"schedulingGroup", "workloadRef", "resourceClaims"})
"""Fields of a pod template that name its group or its claims."""


class TemplatePods(Struct, frozen=True, gc=False):
    """Pods that a controller creates from one template.

    ``path`` is that of the template's ``spec``.  ``count`` is the largest number of pods at one time, None if it is unknown.
    ``after`` is the event before which the pods are not created; empty if they are created with the controller.
    """

    path: tuple[Part, ...]
    spec: PodSpec
    count: int | None = None
    after: str = ""


class Controller(Struct, frozen=True, gc=False):
    """Object of a kind without rules of its own, with those of its pod templates that name a group or claims."""

    kind: str
    metadata: ObjectMeta = ObjectMeta()
    pods: tuple[TemplatePods, ...] = ()


class RawTemplate(Struct, frozen=True, gc=False):
    """Pod template as parsed JSON; the fields are those of ``TemplatePods``."""

    path: tuple[Part, ...]
    spec: Mapping[str, Any]
    count: int | None = None
    after: str = ""


def pods_of(item: object) -> tuple[TemplatePods, ...]:
    """Return the pods of an object by template; a Pod is its own template.  Objects of other kinds have none."""
    if isinstance(item, Pod):
        return (TemplatePods(("spec",), item.spec, 1),)
    if isinstance(item, Job):
        return (TemplatePods(("spec", "template", "spec"), item.spec.template.spec, item.largest_pod_count),)
    if isinstance(item, CronJob):
        return (_of_cron_job(item),)
    if isinstance(item, JobSet):
        return tuple(_of_jobset(item.spec))
    return item.pods if isinstance(item, Controller) else ()


def _of_cron_job(item: CronJob) -> TemplatePods:
    job = item.spec.job_template.spec
    # Runs can overlap, unless the policy excludes it.
    count = None if item.spec.concurrency_policy not in ("Forbid", "Replace") else 1 if job.parallelism is None else job.parallelism
    return TemplatePods(("spec", "jobTemplate", "spec", "template", "spec"), job.template.spec, count)


def _of_jobset(spec: JobSetSpec) -> Iterator[TemplatePods]:
    jobs = spec.replicated_jobs or ()
    in_order = spec.startup_policy is not None and spec.startup_policy.startup_policy_order == "InOrder"
    for index, job in enumerate(jobs):
        awaited = [each.name for each in job.depends_on or ()] or ([jobs[index - 1].name] if in_order and index else [])
        after = f"replicated job {awaited[0]!r} has started" if awaited else ""
        replicas = 1 if job.replicas is None else job.replicas
        path = ("spec", "replicatedJobs", index, "template", "spec", "template", "spec")
        yield TemplatePods(path, job.template.spec.template.spec, replicas * job.template.spec.largest_pod_count, after)


def raw_templates(group: str, kind: str, content: Mapping[str, Any]) -> list[RawTemplate]:
    """Return the pod templates that name a group or claims, of a controller that has no rules of its own; none for other kinds."""
    read = _READERS.get((group, kind))
    if read is None:
        return []
    return [each for each in read(_section(content, "spec")) if not REFERENCES.isdisjoint(each.spec)]


def _section(value: object, *names: str) -> Mapping[str, Any]:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _number(fields: Mapping[str, Any], name: str, default: int | None) -> int | None:
    value = fields.get(name)
    if value is None:
        return default
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _times(*counts: int | None) -> int | None:
    product = 1
    for count in counts:
        if count is None:
            return None
        product *= max(count, 0)
    return product


def _replicas(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    # Without replicas, an autoscaler may set the number.
    yield RawTemplate(("spec", "template", "spec"), _section(spec, "template", "spec"), _number(spec, "replicas", None))


def _daemon_set(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    yield RawTemplate(("spec", "template", "spec"), _section(spec, "template", "spec"))


def _leader_worker_set(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    parts, path = _section(spec, "leaderWorkerTemplate"), ("spec", "leaderWorkerTemplate")
    replicas, size = _number(spec, "replicas", 1), _number(parts, "size", 1)
    leader = "leaderTemplate" if parts.get("leaderTemplate") is not None else "workerTemplate"
    after = "the leader is ready" if spec.get("startupPolicy") == "LeaderReady" else ""
    workers = None if size is None else size - 1
    yield RawTemplate((*path, leader, "spec"), _section(parts, leader, "spec"), replicas)
    yield RawTemplate((*path, "workerTemplate", "spec"), _section(parts, "workerTemplate", "spec"), _times(replicas, workers), after)


def _ray_cluster(cluster: Mapping[str, Any], *path: Part) -> Iterator[RawTemplate]:
    yield RawTemplate((*path, "headGroupSpec", "template", "spec"), _section(cluster, "headGroupSpec", "template", "spec"), 1)
    scaled, groups = cluster.get("enableInTreeAutoscaling") is True, cluster.get("workerGroupSpecs")
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        if not isinstance(group, Mapping):
            continue
        least, most = _number(group, "minReplicas", 0) or 0, _number(group, "maxReplicas", _MOST)
        replicas, hosts = _number(group, "replicas", least), _number(group, "numOfHosts", 1)
        at, template = (*path, "workerGroupSpecs", index, "template", "spec"), _section(group, "template", "spec")
        now = 0 if group.get("suspend") is True else replicas
        yield RawTemplate(at, template, _times(now, hosts))
        if scaled and most is not None and now is not None and most > now:
            yield RawTemplate(at, template, _times(most - now, hosts), "the autoscaler in the head pod demands them")


def _ray_job(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    yield from _ray_cluster(_section(spec, "rayClusterSpec"), "spec", "rayClusterSpec")
    if spec.get("submissionMode") in (None, "", "K8sJobMode"):
        template = _section(spec, "submitterPodTemplate", "spec")
        yield RawTemplate(("spec", "submitterPodTemplate", "spec"), template, 1, "the Ray cluster is ready")


def _kubeflow(name: str) -> Callable[[Mapping[str, Any]], Iterator[RawTemplate]]:
    def read(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
        elastic = spec.get("elasticPolicy") is not None
        roles: Mapping[Any, Any] = _section(spec, name)
        for role, replicas in roles.items():
            if not isinstance(role, str):
                continue
            count = None if elastic and role.lower() == "worker" else _number(_section(replicas), "replicas", 1)
            awaits = role.lower() == "launcher" and spec.get("launcherCreationPolicy") == "WaitForWorkersReady"
            path = ("spec", name, Key(role), "template", "spec")
            yield RawTemplate(path, _section(replicas, "template", "spec"), count, "the workers are ready" if awaits else "")

    return read


def _training_runtime(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    jobs = _section(spec, "template", "spec").get("replicatedJobs")
    for index, job in enumerate(jobs if isinstance(jobs, list) else ()):
        path = ("spec", "template", "spec", "replicatedJobs", index, "template", "spec", "template", "spec")
        # The TrainJob sets the number.
        yield RawTemplate(path, _section(job, "template", "spec", "template", "spec"))


_READERS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Iterator[RawTemplate]]] = {
    **{("apps", kind): _replicas for kind in ("Deployment", "ReplicaSet", "StatefulSet")},
    ("", "ReplicationController"): _replicas,
    ("apps", "DaemonSet"): _daemon_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("ray.io", "RayCluster"): lambda spec: _ray_cluster(spec, "spec"),
    ("ray.io", "RayJob"): _ray_job,
    ("ray.io", "RayService"): lambda spec: _ray_cluster(_section(spec, "rayClusterConfig"), "spec", "rayClusterConfig"),
    ("kubeflow.org", "MPIJob"): _kubeflow("mpiReplicaSpecs"),
    ("kubeflow.org", "PyTorchJob"): _kubeflow("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): _kubeflow("tfReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _kubeflow("xgbReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): _kubeflow("paddleReplicaSpecs"),
    ("kubeflow.org", "JAXJob"): _kubeflow("jaxReplicaSpecs"),
    ("trainer.kubeflow.org", "TrainingRuntime"): _training_runtime,
}
GROUPS_AND_KINDS = frozenset(_READERS)
"""API groups and kinds that are read as ``Controller``."""
KINDS = frozenset(kind for _, kind in _READERS)
