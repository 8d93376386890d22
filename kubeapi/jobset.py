"""JobSet of ``jobset.x-k8s.io``: scheduling in both options of KEP-6089.

JobSet has not published these fields yet.  Their names follow the KEP and the field names of Kubernetes 1.37.
"""

from __future__ import annotations

from typing import ClassVar

from kubeapi.jobs import JobScheduling
from kubeapi.meta import Empty, Int32, ObjectMeta, Struct
from kubeapi.pods import PodTemplateSpec
from kubeapi.workloads import Constraints, DisruptionMode


class JobSetGang(Struct, frozen=True, gc=False):
    """Gang of Jobs; an absent count means all Jobs."""

    min_group_count: Int32 | None = None


class JobSetPolicy(Struct, frozen=True, gc=False):
    """Union: exactly one of basic and gang."""

    basic: Empty | None = None
    gang: JobSetGang | None = None


class ReplicatedJobPolicy(JobScheduling, frozen=True, gc=False):
    """Scheduling of one replicated job, set at the root (option B)."""

    target_replicated_job: str = ""


class JobSetScheduling(Struct, frozen=True, gc=False):
    """``spec.scheduling``: of the whole set and, with option B, of its replicated jobs."""

    scheduling_policy: JobSetPolicy | None = None
    scheduling_constraints: Constraints | None = None
    disruption_mode: DisruptionMode | None = None
    replicated_job_policies: tuple[ReplicatedJobPolicy, ...] | None = None


class JobTemplateSpec(Struct, frozen=True, gc=False):
    """``spec`` of a Job template, with its own scheduling (option A)."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    scheduling: JobScheduling | None = None
    template: PodTemplateSpec = PodTemplateSpec()

    @property
    def largest_pod_count(self) -> int:
        """The largest number of pods that a Job of this template has at one time."""
        parallelism = 1 if self.parallelism is None else self.parallelism
        return max(parallelism if self.completions is None else min(parallelism, self.completions), 0)


class JobTemplate(Struct, frozen=True, gc=False):
    """Template of the Jobs of a replicated job."""

    spec: JobTemplateSpec = JobTemplateSpec()


class Dependency(Struct, frozen=True, gc=False):
    """Replicated job on which another one depends, until it is Ready or Complete."""

    name: str = ""
    status: str = ""


class ReplicatedJob(Struct, frozen=True, gc=False):
    """Entry of ``replicatedJobs``."""

    name: str = ""
    replicas: Int32 | None = None
    template: JobTemplate = JobTemplate()
    depends_on: tuple[Dependency, ...] | None = None


class StartupPolicy(Struct, frozen=True, gc=False):
    """Order in which the Jobs are created."""

    startup_policy_order: str = ""


class JobSetSpec(Struct, frozen=True, gc=False):
    """``spec`` of a JobSet."""

    scheduling: JobSetScheduling | None = None
    replicated_jobs: tuple[ReplicatedJob, ...] | None = None
    startup_policy: StartupPolicy | None = None


class JobSet(Struct, frozen=True, gc=False):
    """``jobset.x-k8s.io`` JobSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSetSpec = JobSetSpec()
    kind: ClassVar[str] = "JobSet"
