"""Rules of the webhooks and operators of other projects for their kinds, besides shapes and pod templates.

Sources: JobSet 0.12, LeaderWorkerSet 0.10, Trainer 2.3, Training Operator 1.9, MPI Operator 0.8, KubeRay 1.7, Volcano 1.15,
Grove 0.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in.shared_checks import Content, duplicates, items, needed, not_negative, number, one_of, text, texts
from validators.field import FieldError

_SPEC, _NAME = FieldPath("spec"), FieldPath("metadata", "name")
_LONGEST_LABEL = 63
_LONGEST_RAY_CLUSTER, _LONGEST_RAY_JOB = 53, 47
_GENERATED = "x" * 5
"""Stands for the random characters of a generated name."""
_is_label = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII).fullmatch
_FORM = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', and start with a letter, such as 'my-name'"


def project_errors(group: str, kind: str, manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of an object of another project."""
    check = _CHECKS.get((group, kind))
    if check is not None:
        yield from check(manifest)


def _name(manifest: Content) -> str:
    metadata = section(manifest, "metadata")
    return text(metadata, "name") or f"{text(metadata, 'generateName')}{_GENERATED}"


def _label(value: str, at: FieldPath, most: int = _LONGEST_LABEL, *, named: str = "") -> Iterator[FieldError]:
    """Yield the errors of a name that must be a DNS-1035 label; *named*: what gets a name from the value."""
    of = f"{named} gets the name {value!r}: " if named else ""
    if len(value) > most:
        yield field.invalid(at, value, f"{of}must be no more than {most} characters")
    elif not _is_label(value):
        yield field.invalid(at, value, f"{of}{_FORM}")


def _named_like_its_pods(manifest: Content) -> Iterator[FieldError]:
    return _label(_name(manifest), _NAME)


def _job_set(manifest: Content) -> Iterator[FieldError]:
    spec = section(manifest, "spec")
    jobs = items(spec, "replicatedJobs", _SPEC)
    names = [text(each, "name") for _, each in jobs]
    for path, each in jobs:
        last = max(number(each, "replicas", 1) - 1, 0)
        yield from _label(f"{_name(manifest)}-{text(each, 'name')}-{last}", path / "name", named="a Job")
    if subdomain := text(section(spec, "network"), "subdomain"):
        yield from _label(subdomain, _SPEC.join(("network", "subdomain")))
    success, failure = _SPEC / "successPolicy", _SPEC / "failurePolicy"
    yield from _known(texts(section(spec, "successPolicy"), "targetReplicatedJobs"), names, success / "targetReplicatedJobs")
    rules = items(section(spec, "failurePolicy"), "rules", failure)
    for path, rule in rules:
        yield from _known(texts(rule, "targetReplicatedJobs"), names, path / "targetReplicatedJobs")
    yield from duplicates((path / "name", rule.get("name")) for path, rule in rules)
    if spec.get("coordinator") is not None:
        yield from _known([text(section(spec, "coordinator"), "replicatedJob")], names, _SPEC.join(("coordinator", "replicatedJob")))


def _known(values: Iterable[str], names: list[str], at: FieldPath) -> Iterator[FieldError]:
    for each in values:
        if each not in names:
            yield field.not_found(at, each, f"the replicated jobs are {', '.join(names)}")


def _leader_worker_set(manifest: Content) -> Iterator[FieldError]:
    yield from _label(_name(manifest), _NAME)
    rolling = section(manifest, "spec", "rolloutStrategy", "rollingUpdateConfiguration")
    none = {0, "0", "0%"}
    if rolling.get("maxUnavailable") in none and rolling.get("maxSurge", 0) in none and number(section(manifest, "spec"), "replicas", 1):
        at = _SPEC.join(("rolloutStrategy", "rollingUpdateConfiguration", "maxUnavailable"))
        yield field.invalid(at, rolling["maxUnavailable"], "must not be 0 when `maxSurge` is 0")


def _replicas(manifest: Content, policies: Iterable[str]) -> Iterator[FieldError]:
    """Yield the errors of the restart policies of the roles of a job of Kubeflow."""
    for name, roles in section(manifest, "spec").items():
        for role, each in roles.items() if name.endswith("ReplicaSpecs") and isinstance(roles, Mapping) else ():
            yield from one_of(each if isinstance(each, Mapping) else {}, "restartPolicy", _SPEC.join((name, role)), policies)


def _training_job(manifest: Content) -> Iterator[FieldError]:
    yield from _label(_name(manifest), _NAME)
    yield from _replicas(manifest, ("Always", "OnFailure", "Never", "ExitCode"))


def _mpi_job(manifest: Content) -> Iterator[FieldError]:
    if not text(manifest, "apiVersion").endswith("/v2beta1"):
        yield from _training_job(manifest)
        return
    spec = section(manifest, "spec")
    worker = section(spec, "mpiReplicaSpecs", "Worker")
    yield from _label(f"{_name(manifest)}-worker-{max(number(worker, 'replicas', 1) - 1, 0)}", _NAME, named="a worker")
    if number(worker, "replicas", 1) <= 0:
        yield field.invalid(_SPEC.join(("mpiReplicaSpecs", "Worker", "replicas")), worker["replicas"], "must be greater than or equal to 1")
    yield from _replicas(manifest, ("Never", "OnFailure"))
    yield from not_negative(spec, _SPEC, "slotsPerWorker")
    policy, at = section(spec, "runPolicy"), _SPEC / "runPolicy"
    yield from one_of(policy, "cleanPodPolicy", at, ("All", "None", "Running"), has_default=False)
    yield from not_negative(policy, at, "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")


def _ray_cluster(manifest: Content) -> Iterator[FieldError]:
    yield from _label(_name(manifest), _NAME, _LONGEST_RAY_CLUSTER)
    yield from _worker_groups(section(manifest, "spec"), _SPEC)


def _worker_groups(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from duplicates((path / "groupName", each.get("groupName")) for path, each in items(spec, "workerGroupSpecs", at))


def _ray_job(manifest: Content) -> Iterator[FieldError]:
    yield from _label(_name(manifest), _NAME, _LONGEST_RAY_JOB)
    spec = section(manifest, "spec")
    yield from _worker_groups(section(spec, "rayClusterSpec"), _SPEC / "rayClusterSpec")
    if spec.get("shutdownAfterJobFinishes") is not True:
        if spec.get("suspend") is True:
            yield field.invalid(_SPEC / "suspend", value=True, detail="needs shutdownAfterJobFinishes: true")
        if number(spec, "ttlSecondsAfterFinished") > 0:
            yield field.invalid(_SPEC / "ttlSecondsAfterFinished", spec["ttlSecondsAfterFinished"], "needs shutdownAfterJobFinishes: true")
    yield from not_negative(spec, _SPEC, "backoffLimit", "ttlSecondsAfterFinished")
    if number(spec, "activeDeadlineSeconds", 1) <= 0:
        yield field.invalid(_SPEC / "activeDeadlineSeconds", spec["activeDeadlineSeconds"], "must be a positive integer")


def _volcano_job(manifest: Content) -> Iterator[FieldError]:
    spec = section(manifest, "spec")
    volumes = items(spec, "volumes", _SPEC)
    for path, each in volumes:
        yield from needed(each, path, "mountPath")
        if each.get("volumeClaim") is None and not text(each, "volumeClaimName"):
            yield field.required(path / "volumeClaimName", "either volumeClaim or volumeClaimName must be specified")
    yield from duplicates((path / "mountPath", each.get("mountPath")) for path, each in volumes)
    holders = [(_SPEC, spec), *items(spec, "tasks", _SPEC)]
    for at, holder in holders:
        policies = items(holder, "policies", at)
        yield from duplicates((path / "event", each.get("event")) for path, each in policies)
    tasks = {text(each, "name") for _, each in holders[1:]}
    for at, task in holders[1:]:
        for index, name in enumerate(texts(section(task, "dependsOn"), "name")):
            if name not in tasks:
                yield field.not_found(at.join(("dependsOn", "name", index)), name, f"the tasks are {', '.join(sorted(tasks))}")


def _clique_set(manifest: Content) -> Iterator[FieldError]:
    template, at = section(manifest, "spec", "template"), _SPEC / "template"
    cliques = items(template, "cliques", at)
    specs = [(path / "spec", section(each, "spec")) for path, each in cliques]
    names = [text(each, "name") for _, each in cliques]
    yield from duplicates((path / "name", each.get("name")) for path, each in cliques)
    yield from duplicates((path / "roleName", spec.get("roleName")) for path, spec in specs)
    schedulers = [text(section(spec, "podSpec"), "schedulerName") for _, spec in specs]
    for (path, _), name in zip(specs, schedulers, strict=True):
        if name != schedulers[0]:
            yield field.invalid(path.join(("podSpec", "schedulerName")), name, "the schedulerName for all pods have to be the same")
    for (path, spec), own in zip(specs, names, strict=True) if text(template, "cliqueStartupType") == _EXPLICIT else ():
        for index, name in enumerate(texts(spec, "startsAfter")):
            if name == own or name not in names:
                yield field.invalid(path.join(("startsAfter", index)), name, "must be the name of another clique")


_EXPLICIT = "CliqueStartupTypeExplicit"
_CHECKS: Mapping[tuple[str, str], Callable[[Content], Iterator[FieldError]]] = {
    ("jobset.x-k8s.io", "JobSet"): _job_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("trainer.kubeflow.org", "TrainJob"): _named_like_its_pods,
    **{("kubeflow.org", f"{kind}Job"): _training_job for kind in ("PyTorch", "TF", "XGBoost", "Paddle", "JAX")},
    ("kubeflow.org", "MPIJob"): _mpi_job,
    ("ray.io", "RayCluster"): _ray_cluster,
    ("ray.io", "RayJob"): _ray_job,
    ("batch.volcano.sh", "Job"): _volcano_job,
    ("grove.io", "PodCliqueSet"): _clique_set,
}
