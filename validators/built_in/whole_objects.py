"""Validation of whole objects that create pods: their shape, then their values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from kubeapi import content, decode
from kubeapi.decode import Json, section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import apps, jobs, names, other_project_rules, pod_spec, shapes
from validators.built_in.shared_checks import Content, items, text
from validators.field import FieldError

_SPEC, _METADATA = FieldPath("spec"), FieldPath("metadata")


def _pod(manifest: Content) -> Iterator[FieldError]:
    spec = section(manifest, "spec")
    yield from pod_spec.pod_spec(spec, _SPEC)
    yield from pod_spec.only_pod(section(manifest, "metadata"), spec, _SPEC)


def _templates(manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of all pod templates of an object, which have volumes for all claims of the object."""
    claims = [text(section(each, "metadata"), "name") for listed in _CLAIMS for each in _lists_named(manifest, listed)]
    added = _ADDED.get(text(manifest, "apiVersion").partition("/")[0], ())
    for at, spec in _pod_specs(manifest, FieldPath()):
        listed = [each for _, each in items(spec, "volumes", at)]
        own = {text(each, "name") for each in listed}
        volumes = [*listed, *({"name": name, "emptyDir": {}} for name in added if name not in own)]
        whole = {**spec, "volumes": volumes} if added and len(listed) == len(spec.get("volumes") or ()) else spec
        yield from pod_spec.pod_spec(apps.with_volumes(whole, claims), at)


def _job_set(manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of the Jobs that a JobSet creates, after the defaults of its webhook."""
    claims = [text(section(each, "metadata"), "name") for each in _lists_named(manifest, "templates")]
    for path, each in items(section(manifest, "spec"), "replicatedJobs", _SPEC):
        job = {"completionMode": "Indexed", **section(each, "template", "spec")}
        template = section(job, "template")
        pod = apps.with_volumes({"restartPolicy": "OnFailure", **section(template, "spec")}, claims)
        yield from jobs.job_spec({**job, "template": {**template, "spec": pod}}, path.join(("template", "spec")))


def _leader_worker_set(manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of the pod templates of a LeaderWorkerSet, whose pods are those of StatefulSets."""
    yield from _templates(manifest)
    for at, spec in _pod_specs(manifest, FieldPath()):
        if (policy := text(spec, "restartPolicy")) not in {"", "Always"}:
            yield field.not_supported(at / "restartPolicy", policy, ("Always",))


def _app_wrapper(manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of the objects that an AppWrapper wraps."""
    for path, each in items(section(manifest, "spec"), "components", _SPEC):
        at = path / "template"
        yield from (dataclasses.replace(error, path=at.join(error.path.parts)) for error in errors(section(each, "template")))


def _nothing(_: Content) -> Iterator[FieldError]:
    """Yield nothing: the pod templates of an object are parts, which others complete before pods are created."""
    return iter(())


_VALIDATORS: Mapping[tuple[str, str], Callable[[Content], Iterator[FieldError]]] = {
    ("v1", "Pod"): _pod,
    ("v1", "ReplicationController"): apps.replication_controller,
    **{("apps/v1", kind): apps.controller for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")},
    ("batch/v1", "Job"): jobs.job,
    ("batch/v1", "CronJob"): jobs.cron_job,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): _job_set,
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): _leader_worker_set,
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): _nothing,
    ("serving.kserve.io/v1beta1", "InferenceService"): _nothing,
    **{(f"serving.kserve.io/{version}", "LLMInferenceService"): _nothing for version in ("v1alpha1", "v1alpha2")},
    **{("argoproj.io/v1alpha1", kind): _nothing for kind in ("Workflow", "CronWorkflow")},
    **{("sparkoperator.k8s.io/v1beta2", kind): _nothing for kind in ("SparkApplication", "ScheduledSparkApplication")},
    ("workload.codeflare.dev/v1beta2", "AppWrapper"): _app_wrapper,
}


def errors(manifest: Json) -> list[FieldError]:
    """Return the errors of an object, each once, in order; of an object with another shape, only those of the shape.

    Pod templates in objects of other projects are validated as those of the API server.  Objects without a schema have no errors.
    """
    api_version, kind = str(manifest.get("apiVersion")), str(manifest.get("kind"))
    group, _, version = api_version.rpartition("/")
    if version not in shapes.versions_of(group, kind):
        return []
    plain = decode.as_plain(manifest)
    if wrong := shapes.errors(api_version, kind, plain):
        return wrong
    validate = _VALIDATORS.get((api_version, kind), _templates)
    name_format = content.label if kind == "StatefulSet" else content.subdomain
    unique: list[FieldError] = []
    found = (
        *names.metadata(section(plain, "metadata"), _METADATA, name_format),
        *other_project_rules.project_errors(group, kind, plain),
        *validate(plain),
    )
    for each in found:
        if each not in unique:
            unique.append(each)
    return unique


_CLAIMS = ("volumeClaimTemplates", "templates")
"""Lists of claims that controllers add to the pods as volumes: of LeaderWorkerSets, and of the policies of JobSets."""


_ADDED = {
    "kubeflow.org": ("mpi-job-config", "mpi-job-kubectl", "ssh-auth"),
    "ray.io": ("ray-logs", "ray-token", "ray-tls", "shared-mem"),
}
"""Volumes that operators add to pods, by API group."""


def _lists_named(value: object, name: str) -> Iterator[Content]:
    """Yield the objects in all lists *name* of a value."""
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _lists_named(each, name)
    listed = value.get(name) if isinstance(value, Mapping) else None
    yield from (each for each in listed if isinstance(each, Mapping)) if isinstance(listed, list) else ()


def _pod_specs(value: object, at: FieldPath) -> Iterator[tuple[FieldPath, Content]]:
    """Yield the specifications of pods in a value with their paths: all mappings with containers."""
    if isinstance(value, Mapping):
        if isinstance(value.get("containers"), list):
            yield at, value
            return
        for name, each in value.items():
            yield from _pod_specs(each, at / name)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _pod_specs(each, at / index)
