"""Pods that controllers create, by pod template: their number, and the other pods for which they wait.

Kinds without rules of their own are read here as ``Controller``.  Sources: Kubernetes 1.37.1; the APIs of JobSet, LeaderWorkerSet,
KubeRay and Kubeflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubeapi.decode import section
from kubeapi.field_path import FieldPath, Key, Part
from kubeapi.meta import LARGEST_INT32, ObjectMeta, Struct, replaced
from kubeapi.pods import POD_GROUP_LABEL, group_name
from kubeapi.redaction import Labels
from validators.model import start_order
from validators.model.own_gangs import KUBEFLOW_REPLICAS, OwnGang
from validators.model.rolling_updates import new_before_ready
from validators.model.start_order import HEAD, LEADER, SUBMITTER, WORKER, Event, Wait, items, ray_workers
from validators.model.views import CronJob, Job, JobSet, JobSetSpec, Pod, PodSpec, PodTemplateSpec

REFERENCES = frozenset({"schedulingGroup", "workloadRef", "resourceClaims"})
"""Fields of a pod template that name its group or its claims."""


class TemplatePods(Struct, frozen=True, gc=False):
    """Pods that a controller creates from one template.

    ``path`` is that of the template's ``spec``, ``labels`` are those of its pods.  ``count`` is the largest number of pods at one time, None if it is unknown.
    ``part`` is their name in the order of creation; ``wait`` is None if they are created with the controller.
    ``renewed`` is the largest number of new pods that an update creates before one of them is ready; None if it is unknown.
    """

    path: tuple[Part, ...]
    spec: PodSpec
    count: int | None = None
    part: str = ""
    wait: Wait | None = None
    renewed: int | None = None
    labels: Labels | None = None

    @property
    def at(self) -> FieldPath:
        """The path of the template's ``spec``."""
        return FieldPath(*self.path)

    @property
    def group(self) -> str:
        """The name of the PodGroup of the pods; empty if none."""
        return group_name(self.spec, self.labels)

    @property
    def group_path(self) -> FieldPath:
        """The path of the name of their PodGroup: of the field, or of the label."""
        named = self.spec.scheduling_group is not None and self.spec.scheduling_group.pod_group_name
        return FieldPath(*self.path, "schedulingGroup", "podGroupName") if named else self.label_path

    @property
    def label_path(self) -> FieldPath:
        """The path of the label that names their PodGroup."""
        return FieldPath(*self.path[:-1], "metadata", "labels", Key(POD_GROUP_LABEL))


class Controller(Struct, frozen=True, gc=False):
    """Object of a kind without rules of its own, with those of its pod templates that name a group or claims, or the gang of its pods."""

    kind: str
    metadata: ObjectMeta = ObjectMeta()
    pods: tuple[TemplatePods, ...] = ()
    gang: OwnGang | None = None


class RawTemplate(Struct, frozen=True, gc=False):
    """Pod template as parsed JSON, with its metadata and its ``spec``; the other fields are those of ``TemplatePods``."""

    path: tuple[Part, ...]
    template: Mapping[str, Any]
    count: int | None = None
    part: str = ""
    wait: Wait | None = None
    renewed: int | None = None

    @property
    def spec(self) -> Mapping[str, Any]:
        """Its ``spec``."""
        return section(self.template, "spec")

    @property
    def labels(self) -> dict[str, str]:
        """Its labels, as far as they are strings."""
        return {key: value for key, value in section(self.template, "metadata", "labels").items() if isinstance(value, str)}

    @property
    def names_objects(self) -> bool:
        """True if it names a group or claims."""
        return not REFERENCES.isdisjoint(self.spec) or POD_GROUP_LABEL in self.labels


def pods_of(item: object) -> tuple[TemplatePods, ...]:
    """Return the pods of an object by template; a Pod is its own template.  Objects of other kinds have none."""
    if isinstance(item, Pod):
        return (TemplatePods(("spec",), item.spec, 1, labels=item.metadata.labels),)
    if isinstance(item, Job):
        return (of_template(("spec", "template", "spec"), item.spec.template, item.largest_pod_count),)
    if isinstance(item, CronJob):
        return (_of_cron_job(item),)
    if isinstance(item, JobSet):
        return tuple(_of_jobset(item.spec))
    return item.pods if isinstance(item, Controller) else ()


def of_template(
    path: tuple[Part, ...], template: PodTemplateSpec, count: int | None, part: str = "", wait: Wait | None = None
) -> TemplatePods:
    """Return the pods of *template*, whose ``spec`` is at *path*."""
    return TemplatePods(path, template.spec, count, part, wait, labels=template.metadata.labels)


def _of_cron_job(item: CronJob) -> TemplatePods:
    job = item.spec.job_template.spec
    # Runs can overlap, unless the policy excludes it.
    count = None if item.spec.concurrency_policy not in ("Forbid", "Replace") else 1 if job.parallelism is None else job.parallelism
    return of_template(("spec", "jobTemplate", "spec", "template", "spec"), job.template, count)


def _of_jobset(spec: JobSetSpec) -> Iterator[TemplatePods]:
    jobs = spec.replicated_jobs or ()
    in_order = spec.startup_policy is not None and spec.startup_policy.startup_policy_order == "InOrder"
    dependencies = ((job.name, [(each.name, each.status) for each in job.depends_on or ()]) for job in jobs)
    waits = start_order.order_of_jobs(dependencies, in_order=in_order)
    for index, job in enumerate(jobs):
        replicas = 1 if job.replicas is None else job.replicas
        path = ("spec", "replicatedJobs", index, "template", "spec", "template", "spec")
        count = replicas * job.template.spec.largest_pod_count
        yield of_template(path, job.template.spec.template, count, job.name, waits.get(job.name))


def raw_templates(group: str, kind: str, content: Mapping[str, Any]) -> list[RawTemplate]:
    """Return the pod templates of a controller that has no rules of its own; none for other kinds, and if none names a group or claims.

    Those that name none are without their specification: only others may wait for them.
    """
    spec = section(content, "spec")
    if (group, kind) == _LEADER_WORKER_SET:
        templates = [*_leader_worker_set(spec, section(content, "metadata", "annotations"))]
    elif read := _READERS.get((group, kind)):
        templates = [*read(spec)]
    else:
        return []
    named = [each.names_objects for each in templates]
    awaited = {part for each in templates if each.wait is not None for part in each.wait.parts} if any(named) else set()
    listed = ((each, names) for each, names in zip(templates, named, strict=True) if names or each.wait is not None or each.part in awaited)
    return [each if names else replaced(each, template={}) for each, names in listed] if any(named) else []


def _number(fields: Mapping[str, Any], name: str, default: int | None) -> int | None:
    value = fields.get(name)
    if value is None:
        return default
    return value if isinstance(value, int) and not isinstance(value, bool) and value <= LARGEST_INT32 else None


def _times(*counts: int | None) -> int | None:
    product = 1
    for count in counts:
        if count is None:
            return None
        product *= max(count, 0)
    return product


def _replicas(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    # Without replicas, an autoscaler may set the number.
    yield RawTemplate(("spec", "template", "spec"), section(spec, "template"), _number(spec, "replicas", None))


def _deployment(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    yield from (replaced(each, renewed=new_before_ready("Deployment", spec)) for each in _replicas(spec))


def _stateful_set(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    waits = start_order.start_order("apps", "StatefulSet", spec)
    for template in _replicas(spec):
        if not waits or template.count is None:
            yield replaced(template, renewed=new_before_ready("StatefulSet", spec))
            continue
        yield replaced(template, count=min(template.count, 1), part=start_order.FIRST)
        others = max(template.count - 1, 0)
        yield replaced(template, count=others, part=start_order.OTHERS, wait=waits[start_order.OTHERS])


def _daemon_set(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    yield RawTemplate(("spec", "template", "spec"), section(spec, "template"), renewed=new_before_ready("DaemonSet", spec))


def _leader_worker_set(spec: Mapping[str, Any], annotations: Mapping[str, Any]) -> Iterator[RawTemplate]:
    parts, path = section(spec, "leaderWorkerTemplate"), ("spec", "leaderWorkerTemplate")
    replicas, size = _number(spec, "replicas", 1), _number(parts, "size", 1)
    leader = "leaderTemplate" if parts.get("leaderTemplate") is not None else "workerTemplate"
    wait = start_order.start_order(*_LEADER_WORKER_SET, spec, annotations).get(WORKER)
    workers = None if size is None else size - 1
    groups = new_before_ready("LeaderWorkerSet", spec)
    yield RawTemplate((*path, leader, "spec"), section(parts, leader), replicas, LEADER, renewed=groups)
    worker, at = section(parts, "workerTemplate"), (*path, "workerTemplate", "spec")
    yield RawTemplate(at, worker, _times(replicas, workers), WORKER, wait, _times(groups, workers))


def _ray_cluster(cluster: Mapping[str, Any], *path: Part) -> Iterator[RawTemplate]:
    yield RawTemplate((*path, "headGroupSpec", "template", "spec"), section(cluster, "headGroupSpec", "template"), 1, HEAD)
    scaled = cluster.get("enableInTreeAutoscaling") is True
    for index, group in enumerate(items(cluster, "workerGroupSpecs")):
        least, most = _number(group, "minReplicas", 0) or 0, _number(group, "maxReplicas", LARGEST_INT32)
        replicas, hosts = _number(group, "replicas", least), _number(group, "numOfHosts", 1)
        at, template = (*path, "workerGroupSpecs", index, "template", "spec"), section(group, "template")
        now = 0 if group.get("suspend") is True else replicas
        yield RawTemplate(at, template, _times(now, hosts), ray_workers(str(group.get("groupName"))))
        if scaled and most is not None and now is not None and most > now:
            yield RawTemplate(at, template, _times(most - now, hosts), wait=_SCALED)


_SCALED = Wait(Event.AUTOSCALED, (HEAD,))


def _ray_job(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    yield from _ray_cluster(section(spec, "rayClusterSpec"), "spec", "rayClusterSpec")
    if wait := start_order.start_order("ray.io", "RayJob", spec).get(SUBMITTER):
        template = section(spec, "submitterPodTemplate")
        yield RawTemplate(("spec", "submitterPodTemplate", "spec"), template, 1, SUBMITTER, wait)


def _kubeflow(name: str) -> Callable[[Mapping[str, Any]], Iterator[RawTemplate]]:
    def read(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
        elastic = spec.get("elasticPolicy") is not None
        waits = start_order.start_order("kubeflow.org", "MPIJob", spec) if name == "mpiReplicaSpecs" else {}
        roles: Mapping[Any, Any] = section(spec, name)
        for role, replicas in roles.items():
            if not isinstance(role, str):
                continue
            count = None if elastic and role.lower() == "worker" else _number(section(replicas), "replicas", 1)
            path, part = ("spec", name, Key(role), "template", "spec"), role.lower()
            yield RawTemplate(path, section(replicas, "template"), count, part, waits.get(part))

    return read


def _training_runtime(spec: Mapping[str, Any]) -> Iterator[RawTemplate]:
    jobs = section(spec, "template", "spec").get("replicatedJobs")
    for index, job in enumerate(jobs if isinstance(jobs, list) else ()):
        path = ("spec", "template", "spec", "replicatedJobs", index, "template", "spec", "template", "spec")
        # The TrainJob sets the number.
        yield RawTemplate(path, section(job, "template", "spec", "template"))


_READERS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Iterator[RawTemplate]]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replicas,
    ("apps", "StatefulSet"): _stateful_set,
    ("", "ReplicationController"): _replicas,
    ("apps", "DaemonSet"): _daemon_set,
    ("ray.io", "RayCluster"): lambda spec: _ray_cluster(spec, "spec"),
    ("ray.io", "RayJob"): _ray_job,
    ("ray.io", "RayService"): lambda spec: _ray_cluster(section(spec, "rayClusterConfig"), "spec", "rayClusterConfig"),
    **{("kubeflow.org", kind): _kubeflow(name) for kind, name in KUBEFLOW_REPLICAS.items()},
    ("trainer.kubeflow.org", "TrainingRuntime"): _training_runtime,
}
_LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
GROUPS_AND_KINDS = frozenset({*_READERS, _LEADER_WORKER_SET})
"""API groups and kinds that are read as ``Controller``."""
KINDS = frozenset(kind for _, kind in GROUPS_AND_KINDS)
