"""JobSet of ``jobset.x-k8s.io``, as far as rules read it: its scheduling in both shapes of KEP-6089.

JobSet has published no such fields yet; names are those of the document with the field names of Kubernetes 1.37.
"""

from __future__ import annotations

from typing import ClassVar

from validators.model.meta import Empty, Int32, ObjectMeta, Struct
from validators.model.pod import JobScheduling
from validators.model.workload import Constraints, DisruptionMode


class JobSetGang(Struct, frozen=True, gc=False):
    """A gang of Jobs; an absent count is that of all Jobs."""

    min_group_count: Int32 | None = None


class JobSetPolicy(Struct, frozen=True, gc=False):
    """A union: exactly one of basic and gang."""

    basic: Empty | None = None
    gang: JobSetGang | None = None


class ReplicatedJobPolicy(JobScheduling, frozen=True, gc=False):
    """The scheduling of one replicated job, kept at the root (option B)."""

    target_replicated_job: str = ""


class JobSetScheduling(Struct, frozen=True, gc=False):
    """``spec.scheduling``: of the whole set, and with option B of its replicated jobs."""

    scheduling_policy: JobSetPolicy | None = None
    scheduling_constraints: Constraints | None = None
    disruption_mode: DisruptionMode | None = None
    replicated_job_policies: tuple[ReplicatedJobPolicy, ...] | None = None


class JobTemplateSpec(Struct, frozen=True, gc=False):
    """The Job's spec in a template, with scheduling of its own (option A)."""

    parallelism: Int32 | None = None
    scheduling: JobScheduling | None = None


class JobTemplate(Struct, frozen=True, gc=False):
    """The template of a replicated job's Jobs."""

    spec: JobTemplateSpec = JobTemplateSpec()


class Dependency(Struct, frozen=True, gc=False):
    """A replicated job that comes before."""

    name: str = ""


class ReplicatedJob(Struct, frozen=True, gc=False):
    """One entry of ``replicatedJobs``."""

    name: str = ""
    replicas: Int32 | None = None
    template: JobTemplate = JobTemplate()
    depends_on: tuple[Dependency, ...] | None = None


class StartupPolicy(Struct, frozen=True, gc=False):
    """In which order the Jobs are created."""

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
