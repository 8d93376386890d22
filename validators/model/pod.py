"""Pod and Job, with the fields that rules read."""

from __future__ import annotations

from typing import ClassVar

from kubeapi.meta import Empty, Int32, ObjectMeta, Struct
from validators.model.workload import Constraints, DisruptionMode, ResourceClaim

DEFAULT_SCHEDULER = "default-scheduler"


class SchedulingGroup(Struct, frozen=True, gc=False):
    """Union with one member so far: the PodGroup of the pod."""

    pod_group_name: str | None = None


class PodWorkloadRef(Struct, frozen=True, gc=False):
    """Reference of v1alpha1 from a pod to a group of a Workload (KEP-4671, Associating Pod into PodGroups)."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


class EvictionResponder(Struct, frozen=True, gc=False):
    """Entry of ``evictionResponders``; its presence excludes a scheduling group."""


class ContainerClaim(Struct, frozen=True, gc=False):
    """Entry of the pod's ``resourceClaims`` that a container uses: all its devices, or those of one request."""

    name: str = ""
    request: str = ""


class ContainerResources(Struct, frozen=True, gc=False):
    """``resources`` of a container."""

    claims: tuple[ContainerClaim, ...] | None = None


class Container(Struct, frozen=True, gc=False):
    """Container of a pod."""

    resources: ContainerResources | None = None


class PodSpec(Struct, frozen=True, gc=False):
    """``spec`` of a pod or of a pod template."""

    scheduling_group: SchedulingGroup | None = None
    workload_ref: PodWorkloadRef | None = None
    scheduler_name: str = ""
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None
    eviction_responders: tuple[EvictionResponder, ...] | None = None
    resource_claims: tuple[ResourceClaim, ...] | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None

    @property
    def group(self) -> str:
        """The name of the pod's PodGroup; empty if none."""
        return (self.scheduling_group.pod_group_name if self.scheduling_group else None) or ""


class Pod(Struct, frozen=True, gc=False):
    """core/v1 Pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    kind: ClassVar[str] = "Pod"


class PodTemplate(Struct, frozen=True, gc=False):
    """Pod template of a controller."""

    spec: PodSpec = PodSpec()


class JobGang(Struct, frozen=True, gc=False):
    """Gang of a Job; unlike in a PodGroup, an absent count means the Job's parallelism."""

    min_count: Int32 | None = None


class JobPolicy(Struct, frozen=True, gc=False):
    """Union: exactly one of basic and gang."""

    basic: Empty | None = None
    gang: JobGang | None = None


class JobScheduling(Struct, frozen=True, gc=False):
    """``spec.scheduling`` (KEP-6089, Job Integration)."""

    scheduling_policy: JobPolicy | None = None
    scheduling_constraints: Constraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: tuple[ResourceClaim, ...] | None = None


class JobSpec(Struct, frozen=True, gc=False):
    """``spec`` of a Job."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    scheduling: JobScheduling | None = None
    template: PodTemplate = PodTemplate()


class JobStatus(Struct, frozen=True, gc=False):
    """``status`` of a Job; indexes are written as ``0-2,5``."""

    succeeded: Int32 = 0
    ready: Int32 = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    completion_time: str | None = None


class Job(Struct, frozen=True, gc=False):
    """batch/v1 Job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
    kind: ClassVar[str] = "Job"

    @property
    def finished_pods(self) -> int:
        """The number of pods or indexes that succeeded, or failed for good."""
        indexes = _size(self.status.completed_indexes) + _size(self.status.failed_indexes)
        return max(self.status.succeeded, indexes)

    @property
    def largest_pod_count(self) -> int:
        """The largest number of pods that the Job has at one time from now on."""
        parallelism = 1 if self.spec.parallelism is None else self.spec.parallelism
        remaining = parallelism if self.spec.completions is None else self.spec.completions - self.finished_pods
        return max(min(parallelism, remaining), 0)


def _size(indexes: str) -> int:
    """Return the number of indexes in a text such as ``0-2,5``; parts that are not indexes count as none."""
    total = 0
    for part in indexes.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            total += int(last or first) - int(first) + 1
    return total
