"""Order in which controllers create the pods of one object: its parts that wait for other parts, by kind.

Sources: JobSet 0.12 (``depends_on.go``, ``startup_policy.go``), LeaderWorkerSet 0.10, KubeRay 1.7 (``rayjob_controller.go``), MPI
Operator 0.8, Volcano 1.15 (``job_controller_actions.go``), StatefulSets of Kubernetes 1.37.1.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kubeapi.decode import section
from kubeapi.meta import Struct

FIRST, OTHERS = "first", "others"
"""Parts of a StatefulSet that creates its pods in order: the first pod, and those after it."""
LEADER, WORKER = "leader", "worker"
LWS_EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"
"""Annotation of a LeaderWorkerSet: each replica has a domain of this node label for itself."""
HEAD, SUBMITTER = "head", "submitter"
LAUNCHER = "launcher"
_NONE: Mapping[str, Any] = MappingProxyType({})


class Event(enum.StrEnum):
    """Event for which pods wait before they are created."""

    JOB_COMPLETED = "job-completed"
    JOB_STARTED = "job-started"
    LEADER_READY = "leader-ready"
    LEADER_PLACED = "leader-placed"
    CLUSTER_READY = "cluster-ready"
    AUTOSCALED = "autoscaled"
    WORKERS_READY = "workers-ready"
    TASKS_READY = "tasks-ready"
    ONE_TASK_READY = "one-task-ready"
    POD_BEFORE_READY = "pod-before-ready"


class Wait(Struct, frozen=True, gc=False):
    """Event before which the pods of a part are not created: those of *parts*, or of one of them with ``ONE_TASK_READY``, run or have ended."""

    event: Event
    parts: tuple[str, ...]

    @property
    def words(self) -> str:
        """The event in words."""
        return event_words(self.event, self.parts)


def event_words(event: Event, parts: Sequence[str]) -> str:
    """Return an event in words; *parts* are the parts that must run before."""
    match event:
        case Event.JOB_COMPLETED:
            return f"replicated job {parts[0]!r} has completed"
        case Event.JOB_STARTED:
            return f"replicated job {parts[0]!r} has started"
        case Event.TASKS_READY if len(parts) == 1:
            return f"task {parts[0]!r} is ready"
        case Event.TASKS_READY:
            return f"the tasks {', '.join(parts)} are ready"
        case Event.ONE_TASK_READY:
            return f"one of the tasks {', '.join(parts)} is ready"
    return _WORDS[event]


_WORDS = {
    Event.LEADER_READY: "the leader is ready",
    Event.LEADER_PLACED: "the leader is placed",
    Event.CLUSTER_READY: "the Ray cluster is ready",
    Event.AUTOSCALED: "the autoscaler in the head pod demands them",
    Event.WORKERS_READY: "the workers are ready",
    Event.POD_BEFORE_READY: "the pod before it is ready",
}


def start_order(group: str, kind: str, spec: Mapping[str, Any], annotations: Mapping[str, Any] = _NONE) -> dict[str, Wait]:
    """Return the waits of an object's parts by their names, from its ``spec``; a part without a wait is created with the object.

    A LeaderWorkerSet is also read in its *annotations*.
    """
    if (group, kind) == ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"):
        return _leader_worker_set(spec, annotations)
    read = _READERS.get((group, kind))
    return {} if read is None else read(spec)


def order_of_jobs(jobs: Iterable[tuple[str, Iterable[tuple[str, str]]]], *, in_order: bool) -> dict[str, Wait]:
    """Return the waits of a JobSet's replicated jobs; each has its name, and the names and states that it depends on."""
    waits: dict[str, Wait] = {}
    earlier: list[str] = []
    for name, dependencies in jobs:
        listed = [*dependencies]
        if listed:
            event = Event.JOB_COMPLETED if listed[0][1] == "Complete" else Event.JOB_STARTED
            waits[name] = Wait(event, tuple(each for each, _ in listed))
        elif in_order and earlier:
            waits[name] = Wait(Event.JOB_STARTED, tuple(reversed(earlier)))
        earlier.append(name)
    return waits


def ray_workers(group: str) -> str:
    """Return the part of a Ray cluster with the workers of *group*."""
    return f"workers {group}"


def task_name(task: Mapping[str, Any], index: int) -> str:
    """Return the name of a task of Volcano's Job, which is its part."""
    name = task.get("name")
    return name if isinstance(name, str) and name else f"default{index}"


def items(holder: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list; those of another shape are empty, so that indices are kept."""
    value = holder.get(name)
    return [each if isinstance(each, Mapping) else {} for each in value] if isinstance(value, list) else []


def _jobset(spec: Mapping[str, Any]) -> dict[str, Wait]:
    jobs = (
        (str(job.get("name")), [(str(each.get("name")), str(each.get("status"))) for each in items(job, "dependsOn")])
        for job in items(spec, "replicatedJobs")
    )
    return order_of_jobs(jobs, in_order=section(spec, "startupPolicy").get("startupPolicyOrder") == "InOrder")


def _leader_worker_set(spec: Mapping[str, Any], annotations: Mapping[str, Any]) -> dict[str, Wait]:
    """Workers of a replica with a domain of its own are sent to that of their leader: they are created when it has a node."""
    if spec.get("startupPolicy") == "LeaderReady":
        return {WORKER: Wait(Event.LEADER_READY, (LEADER,))}
    return {WORKER: Wait(Event.LEADER_PLACED, (LEADER,))} if LWS_EXCLUSIVE in annotations else {}


def _ray_job(spec: Mapping[str, Any]) -> dict[str, Wait]:
    if spec.get("submissionMode") not in (None, "", "K8sJobMode"):
        return {}
    workers = (ray_workers(str(each.get("groupName"))) for each in items(section(spec, "rayClusterSpec"), "workerGroupSpecs"))
    return {SUBMITTER: Wait(Event.CLUSTER_READY, (HEAD, *workers))}


def _mpi_job(spec: Mapping[str, Any]) -> dict[str, Wait]:
    return {LAUNCHER: Wait(Event.WORKERS_READY, (WORKER,))} if spec.get("launcherCreationPolicy") == "WaitForWorkersReady" else {}


def _volcano_job(spec: Mapping[str, Any]) -> dict[str, Wait]:
    waits: dict[str, Wait] = {}
    for index, task in enumerate(items(spec, "tasks")):
        depends_on = section(task, "dependsOn")
        listed = depends_on.get("name")
        names = tuple(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()
        if names:
            one = len(names) > 1 and depends_on.get("iteration") == "any"
            waits[task_name(task, index)] = Wait(Event.ONE_TASK_READY if one else Event.TASKS_READY, names)
    return waits


def _stateful_set(spec: Mapping[str, Any]) -> dict[str, Wait]:
    return {} if spec.get("podManagementPolicy") == "Parallel" else {OTHERS: Wait(Event.POD_BEFORE_READY, (FIRST,))}


_READERS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], dict[str, Wait]]] = {
    ("jobset.x-k8s.io", "JobSet"): _jobset,
    ("ray.io", "RayJob"): _ray_job,
    ("kubeflow.org", "MPIJob"): _mpi_job,
    ("batch.volcano.sh", "Job"): _volcano_job,
    ("apps", "StatefulSet"): _stateful_set,
}
