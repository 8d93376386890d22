"""The jobs with a queue of Kueue among given objects: what it admits as a whole, and what by the pod or group of pods.

A label for a queue counts on an object of a kind that Kueue manages, on the objects that it creates, and else on pods.  Each pod of a
Deployment, each group of a LeaderWorkerSet, and each pod or pod group with a label of its own is a job.  Source: Kueue 0.17.0,
``pkg/controller/jobs``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion.admission.quota_charges import is_new
from expansion.contents import Content, items, namespace_of, parsed
from expansion.created import Expansion, PodSets, identity
from expansion.marked_pods import KUEUE_QUEUE, marked_pods
from expansion.notes import KueueGroupIncomplete
from expansion.pod_owners import Controller
from expansion.queue_notes import QueueUnused
from kubeapi import kueue
from kubeapi.base_structs import Record
from kubeapi.decode import ENCODER, section
from kubeapi.names import Name
from kubeapi.problem import Problem
from workloadbuilder.adapters.jobset.jobset_labels import REPLICATED_JOB
from workloadbuilder.adapters.shared.known_objects import group_of
from workloadbuilder.adapters.spark.sparkapplication import ROLE

_LWS = ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index")
_JOB, _JOB_NAME = "batch/v1", "batch.kubernetes.io/job-name"
_NOT_MANAGED = frozenset(
    {
        ("apps", "ReplicaSet"),
        ("apps", "DaemonSet"),
        ("", "ReplicationController"),
        ("batch", "CronJob"),
        ("argoproj.io", "Workflow"),
        ("argoproj.io", "CronWorkflow"),
        ("batch.volcano.sh", "Job"),
        ("grove.io", "PodCliqueSet"),
        ("serving.kserve.io", "InferenceService"),
        ("serving.kserve.io", "LLMInferenceService"),
        ("sparkoperator.k8s.io", "ScheduledSparkApplication"),
    }
)
"""API group and kind of objects that Kueue does not read: only the labels of their pods count."""

_Indexed = tuple[int, Content]
"""Pod with the number of the part of equal pods that it belongs to."""


class QueuedJob(Record, frozen=True):
    """Job with its *queue* and the pods of its parts, in order.

    *origin* is the given object, of which several jobs can be parts; *manifest* has the metadata of the job.
    """

    origin: Name
    queue: str
    manifest: Mapping[str, Any]
    pod_sets: Sequence[tuple[str, Sequence[Content]]]


def queued_pods(expansion: Expansion) -> Iterator[Content]:
    """Yield the new given pods that name a queue."""
    for each in marked_pods(expansion.kinds["Pod"], KUEUE_QUEUE):
        if is_new(each) and (pod := parsed(each)) is not None and _queue_of(pod):
            yield pod


def queued_jobs(expansion: Expansion, pods: Iterable[Content]) -> Iterator[QueuedJob]:
    """Yield the jobs with a queue: those of the objects of controllers, and given *pods*; without those whose pod group is not complete."""
    incomplete = incomplete_pods(expansion)
    pods = (each for each in pods if identity(each) not in incomplete)
    for controller, manifest in expansion.given():
        sets = expansion.pod_sets.get(controller.object)
        if sets is not None and sets.pods:
            yield from _of_object(controller, manifest, sets, incomplete)
    groups: dict[tuple[str, str, str], list[Content]] = {}
    for number, pod in enumerate(pods):
        groups.setdefault((namespace_of(pod), *_own_job(pod, number)), []).append(pod)
    for (_, queue, _), members in groups.items():
        alike: dict[bytes, list[Content]] = {}
        for pod in members:
            alike.setdefault(ENCODER.encode(section(pod, "spec")), []).append(pod)
        yield QueuedJob(identity(members[0]), queue, members[0], [(f"{index}", each) for index, each in enumerate(alike.values())])


def incomplete_pods(expansion: Expansion) -> frozenset[Name]:
    """Return the pods of pod groups that lack pods: Kueue does not queue them yet."""
    return frozenset(name for each in expansion.refused if isinstance(each.fact, KueueGroupIncomplete) for name in each.names)


def unused_queues(expansion: Expansion, judged: Iterable[Name]) -> Iterator[Problem]:
    """Yield notes about given objects whose label has no effect; *judged* are those with jobs."""
    with_jobs = {*judged}
    for controller, manifest in expansion.given():
        if _is_managed(controller.group, controller.kind) or controller.object in with_jobs or controller.object not in expansion.pod_sets:
            continue
        if queue := _queue_of(manifest):
            fact = QueueUnused(Name("LocalQueue", controller.namespace, queue), of_jobs=controller.kind == "CronJob")
            yield Problem.about(controller.object, fact)


def _is_managed(group: str, kind: str) -> bool:
    return (group, kind) not in _NOT_MANAGED


def _is_queued(manifest: Content) -> bool:
    """Return whether the label of an object for a queue counts."""
    return bool(_queue_of(manifest)) and _is_managed(group_of(str(manifest.get("apiVersion"))), str(manifest.get("kind")))


def _of_object(controller: Controller, manifest: Content, sets: PodSets, incomplete: Container[Name]) -> Iterator[QueuedJob]:
    """Yield the jobs of an object: by its own label, or else by those of the objects that it creates, or else by those of its pods.

    The label of an object counts only if none above it has one.  Source: ``FindAncestorJobManagedByKueue``.
    """
    left = [*zip(sets.indexes, sets.pods, strict=True)]
    for owned, indexes in ((manifest, frozenset(sets.indexes)), *sets.owned):
        own = [each for each in left if each[0] in indexes]
        for job, pods in [(owned, own)] if _is_queued(owned) else _jobs_created(owned, own):
            if not pods or not _is_queued(job):
                continue
            for part in _parts(str(job["kind"]), pods):
                yield QueuedJob(controller.object, _queue_of(job), job, _by_set(part, sets.names))
            taken = {id(pod) for _, pod in pods}
            left = [each for each in left if id(each[1]) not in taken]
    yield from _of_pods(controller, [each for each in left if identity(each[1]) not in incomplete], sets.names)


def _jobs_created(manifest: Content, pods: Sequence[_Indexed]) -> Iterator[tuple[Content, Sequence[_Indexed]]]:
    """Yield the Jobs that a CronJob or a JobSet creates, each with its pods: their metadata are those of its templates."""
    if manifest.get("kind") == "CronJob":
        yield {"apiVersion": _JOB, "kind": "Job", "metadata": section(manifest, "spec", "jobTemplate", "metadata")}, pods
    if manifest.get("kind") != "JobSet":
        return
    templates = {str(each.get("name")): section(each, "template") for each in items(section(manifest, "spec"), "replicatedJobs")}
    for name, template in templates.items():
        jobs: dict[str, list[_Indexed]] = {}
        for each in pods:
            labels = section(section(each[1], "metadata"), "labels")
            if labels.get(REPLICATED_JOB) == name:
                jobs.setdefault(str(labels.get(_JOB_NAME)), []).append(each)
        for own in jobs.values():
            yield {"apiVersion": _JOB, "kind": "Job", "metadata": section(template, "metadata")}, own


def _of_pods(controller: Controller, pods: Sequence[_Indexed], names: Mapping[int, str]) -> Iterator[QueuedJob]:
    """Yield the jobs of pods by their own labels; that of an executor of Spark does not count if its owner, the driver, has one."""
    drivers = [pod for _, pod in pods if _role(pod) == "driver" and _queue_of(pod)]
    jobs: dict[tuple[str, str], list[_Indexed]] = {}
    for number, (index, pod) in enumerate(pods):
        if _queue_of(pod) and not (drivers and _role(pod) == "executor"):
            group = _lws_group(pod) if controller.kind == "LLMInferenceService" else ""
            jobs.setdefault((_queue_of(pod), group) if group else _own_job(pod, number), []).append((index, pod))
    for (queue, _), members in jobs.items():
        yield QueuedJob(controller.object, queue, members[0][1], _by_set(members, names))


def _role(pod: Content) -> str:
    """Return the role of a pod in an application of Spark."""
    return str(section(section(pod, "metadata"), "labels").get(ROLE, ""))


def _parts(kind: str, pods: Sequence[_Indexed]) -> Iterator[Sequence[_Indexed]]:
    """Yield the *pods* of an object that are admitted together."""
    if kind == "Deployment":
        yield from ([each] for each in pods)
    elif kind == "LeaderWorkerSet":
        groups: dict[str, list[_Indexed]] = {}
        for each in pods:
            groups.setdefault(_lws_group(each[1]), []).append(each)
        yield from groups.values()
    else:
        yield pods


def _lws_group(pod: Content) -> str:
    """Return what the pods of one group of a LeaderWorkerSet have in common; empty for other pods."""
    labels = section(section(pod, "metadata"), "labels")
    return "/".join(str(labels[each]) for each in _LWS) if all(each in labels for each in _LWS) else ""


def _own_job(pod: Content, number: int) -> tuple[str, str]:
    """Return the queue of a pod by its own label, and what its pod group has in common; its *number* if it is in none."""
    group = section(section(pod, "metadata"), "labels").get(kueue.POD_GROUP)
    return _queue_of(pod), str(group) if group else f"/{number}"


def _by_set(pods: Iterable[_Indexed], names: Mapping[int, str]) -> list[tuple[str, list[Content]]]:
    sets: dict[int, list[Content]] = {}
    for index, pod in pods:
        sets.setdefault(index, []).append(pod)
    return [(names[index], each) for index, each in sorted(sets.items(), key=lambda item: item[0])]


def _queue_of(content: Mapping[str, Any]) -> str:
    name = section(section(content, "metadata"), "labels").get(kueue.QUEUE)
    return name if isinstance(name, str) else ""
