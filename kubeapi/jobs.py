"""Jobs and CronJobs, with the scheduling of Jobs (KEP-6089, Job Integration)."""

from __future__ import annotations

from typing import ClassVar

from kubeapi.content import whole_number
from kubeapi.meta import Empty, Int32, ObjectMeta, Struct
from kubeapi.pods import PodResourceClaim, PodTemplateSpec
from kubeapi.workloads import Constraints, DisruptionMode


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
    resource_claims: tuple[PodResourceClaim, ...] | None = None


class JobSpec(Struct, frozen=True, gc=False):
    """``spec`` of a Job."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    scheduling: JobScheduling | None = None
    template: PodTemplateSpec = PodTemplateSpec()


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


class CronJobTemplate(Struct, frozen=True, gc=False):
    """Template of the Jobs of a CronJob."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Struct, frozen=True, gc=False):
    """``spec`` of a CronJob."""

    concurrency_policy: str = ""
    job_template: CronJobTemplate = CronJobTemplate()


class CronJob(Struct, frozen=True, gc=False):
    """batch/v1 CronJob."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()
    kind: ClassVar[str] = "CronJob"


def _size(indexes: str) -> int:
    """Return the number of indexes in a text such as ``0-2,5``; parts that are not indexes count as none."""
    total = 0
    for part in indexes.split(","):
        first, _, last = part.partition("-")
        begin, end = whole_number(first), whole_number(last or first)
        if begin is not None and end is not None:
            total += end - begin + 1
    return total
