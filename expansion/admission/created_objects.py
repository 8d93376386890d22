"""Objects other than pods that new objects bring with them: claims of pods, and what controllers create besides pods."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from expansion.contents import Content, items
from kubeapi.decode import section
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS
from workloadbuilder.adapters.shared.known_objects import group_of

_JOB, _SERVICE, _CONFIG, _SECRET = ("batch/v1", "Job"), ("v1", "Service"), ("v1", "ConfigMap"), ("v1", "Secret")
_SET, _REVISION, _REPLICAS = ("apps/v1", "StatefulSet"), ("apps/v1", "ControllerRevision"), ("apps/v1", "ReplicaSet")
_JOB_SET, _RAY_CLUSTER = ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("ray.io/v1", "RayCluster")
_VOLCANO_GROUP, _CLIQUE = ("scheduling.volcano.sh/v1beta1", "PodGroup"), ("grove.io/v1alpha1", "PodClique")
_DEPLOYMENT, _LEADER_WORKER_SET = ("apps/v1", "Deployment"), ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
_SPARK, _WORKFLOW = ("sparkoperator.k8s.io/v1beta2", "SparkApplication"), ("argoproj.io/v1alpha1", "Workflow")
_SET_NAME = "leaderworkerset.sigs.k8s.io/name"
_JOB_NAMES = ("batch.kubernetes.io/job-name", "job-name")

Number = int | None
"""None: not known."""
Numbers = Mapping[tuple[str, str], Number]
"""Number of objects by apiVersion and kind."""


def ephemeral_claims(pod: Content) -> Iterator[Content]:
    """Yield the claims of the ephemeral volumes of a pod."""
    metadata = section(pod, "metadata")
    for volume in items(section(pod, "spec"), "volumes"):
        template = section(section(volume, "ephemeral"), "volumeClaimTemplate")
        if template:
            name = f"{metadata.get('name')}-{volume.get('name')}"
            owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata.get("name"), "uid": metadata.get("uid"), "controller": True}
            own = {"name": name, "namespace": metadata.get("namespace") or "default", "ownerReferences": [owner]}
            inner = {**section(template, "metadata"), **own}
            yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": inner, "spec": dict(section(template, "spec"))}


def resource_claims(user: Content, templates: Mapping[tuple[str, str], Content], shared: Iterable[str] = ()) -> Iterator[Content]:
    """Yield the ResourceClaims that are created from *templates* for a pod or group; those of *shared* templates are of its group."""
    namespace = str(section(user, "metadata").get("namespace") or "default")
    for entry in items(section(user, "spec"), "resourceClaims"):
        name = str(entry.get("resourceClaimTemplateName") or "")
        if name and name not in shared:
            spec = section(section(templates.get((namespace, name)), "spec"), "spec")
            yield {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"namespace": namespace}, "spec": dict(spec)}


def of_controller(manifest: Content, pods: Iterable[Content]) -> Iterator[tuple[Content, Number]]:
    """Yield the objects besides pods and claims that the controller of a new object creates, each with its number.

    *pods* are the pods that it creates.
    """
    find = _CREATED.get((group_of(str(manifest.get("apiVersion"))), str(manifest.get("kind"))))
    metadata = {"namespace": section(manifest, "metadata").get("namespace") or "default"}
    for (api_version, kind), number in find(manifest, pods).items() if find is not None else ():
        yield {"apiVersion": api_version, "kind": kind, "metadata": metadata}, number


def repeated(created: Iterable[tuple[Content, Number]]) -> Iterator[Content]:
    """Yield the objects whose number is known."""
    return itertools.chain.from_iterable(itertools.repeat(each, number or 0) for each, number in created)


def _jobs(pods: Iterable[Content]) -> int:
    labels = (section(section(each, "metadata"), "labels") for each in pods)
    return len({each.get(name) for each in labels for name in _JOB_NAMES if name in each})


def _job_set(manifest: Content, pods: Iterable[Content]) -> Numbers:
    named = section(section(manifest, "spec"), "network").get("enableDNSHostnames", True)
    return {_JOB: _jobs(pods), _SERVICE: 0 if named is False else 1}


def _leader_worker_set(manifest: Content, _: Iterable[Content]) -> Numbers:
    spec = section(manifest, "spec")
    replicas = _count(spec, "replicas", 1)
    workers = replicas if _count(section(spec, "leaderWorkerTemplate"), "size", 1) > 1 else 0
    each_has_one = section(spec, "networkConfig").get("subdomainPolicy") == "UniquePerReplica"
    return {_SET: 1 + workers, _SERVICE: replicas if each_has_one else 1, _REVISION: None}


def _ray_cluster(manifest: Content, _: Iterable[Content]) -> Numbers:
    spec = section(manifest, "spec")
    workers = items(section(spec, "rayClusterSpec") or section(spec, "rayClusterConfig") or spec, "workerGroupSpecs")
    return {_SERVICE: 2 if any(_count(each, "numOfHosts", 1) > 1 for each in workers) else 1}


def _ray_job(manifest: Content, pods: Iterable[Content]) -> Numbers:
    mode = section(manifest, "spec").get("submissionMode") or "K8sJobMode"
    return {_RAY_CLUSTER: 1, _JOB: 1 if mode == "K8sJobMode" else 0, **_ray_cluster(manifest, pods)}


def _mpi_job(manifest: Content, _: Iterable[Content]) -> Numbers:
    if str(manifest.get("apiVersion")).endswith("/v2beta1"):
        return {_JOB: 1, _CONFIG: 1, _SECRET: 1, _SERVICE: 1}
    return {_CONFIG: 1}


def _volcano_job(manifest: Content, _: Iterable[Content]) -> Numbers:
    plugins = section(section(manifest, "spec"), "plugins")
    service = 1 if "svc" in plugins else 0
    return {_VOLCANO_GROUP: 1, _SERVICE: service, _CONFIG: service, _SECRET: 1 if "ssh" in plugins else 0}


def _serving(_: Content, pods: Iterable[Content]) -> Numbers:
    """Return the numbers of Deployments, by the ReplicaSets of their pods, and of LeaderWorkerSets of a service of models."""
    metadata = [section(each, "metadata") for each in pods]
    owners = {(owner.get("kind"), owner.get("name")) for each in metadata for owner in items(each, "ownerReferences")}
    deployments = sum(kind == "ReplicaSet" for kind, _ in owners)
    sets = len({section(each, "labels")[_SET_NAME] for each in metadata if _SET_NAME in section(each, "labels")})
    further = {_SET: None} if sets else {}
    return {_DEPLOYMENT: deployments, _REPLICAS: deployments, _LEADER_WORKER_SET: sets, _SERVICE: None, **further}


def _app_wrapper(manifest: Content, pods: Iterable[Content]) -> Numbers:
    """Return the numbers of the objects that an AppWrapper wraps, and of those that their controllers create."""
    created: dict[tuple[str, str], Number] = {}
    listed: list[Content] = [*pods]
    for component in items(section(manifest, "spec"), "components"):
        template = section(component, "template")
        key = str(template.get("apiVersion")), str(template.get("kind"))
        find = _CREATED.get((group_of(key[0]), key[1])) if template else None
        # The names of the pods begin with that of the wrapped object.
        name = f"{section(template, 'metadata').get('name')}-"
        own = [each for each in listed if str(section(each, "metadata").get("name")).startswith(name)]
        for each, number in ((key, 1), *(find(dict(template), own) if find is not None else {}).items()):
            known = created.get(each, 0)
            created[each] = None if known is None or number is None else known + number
    created.pop(("v1", "Pod"), None)
    return created


def _count(spec: Mapping[str, Any], name: str, default: int) -> int:
    """Return the number in a field; no object creates more than the largest number of pods."""
    number = spec.get(name, default)
    return min(number, MAX_PODS) if isinstance(number, int) else default


_CREATED: Mapping[tuple[str, str], Callable[[Content, Iterable[Content]], Numbers]] = {
    ("apps", "Deployment"): lambda _, __: {_REPLICAS: 1},
    ("apps", "StatefulSet"): lambda _, __: {_REVISION: 1},
    ("apps", "DaemonSet"): lambda _, __: {_REVISION: 1},
    ("batch", "CronJob"): lambda _, __: {_JOB: 1},
    ("jobset.x-k8s.io", "JobSet"): _job_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("trainer.kubeflow.org", "TrainJob"): lambda _, pods: {_JOB_SET: 1, _JOB: _jobs(pods), _SERVICE: None},
    ("kubeflow.org", "MPIJob"): _mpi_job,
    **{("kubeflow.org", f"{kind}Job"): lambda _, __: {_SERVICE: None} for kind in ("PyTorch", "TF", "XGBoost", "Paddle", "JAX")},
    ("ray.io", "RayCluster"): _ray_cluster,
    ("ray.io", "RayJob"): _ray_job,
    ("ray.io", "RayService"): lambda manifest, pods: {**_ray_cluster(manifest, pods), _RAY_CLUSTER: 1, _SERVICE: None},
    ("serving.kserve.io", "InferenceService"): _serving,
    ("serving.kserve.io", "LLMInferenceService"): _serving,
    ("sparkoperator.k8s.io", "SparkApplication"): lambda _, __: {_SERVICE: None, _CONFIG: None},
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): lambda _, __: {_SPARK: 1, _SERVICE: None, _CONFIG: None},
    ("argoproj.io", "CronWorkflow"): lambda _, __: {_WORKFLOW: 1},
    ("workload.codeflare.dev", "AppWrapper"): _app_wrapper,
    ("batch.volcano.sh", "Job"): _volcano_job,
    ("grove.io", "PodCliqueSet"): lambda _, __: {_CLIQUE: None, _SERVICE: None},
}
"""Numbers of created objects by the API group and kind of an object."""
