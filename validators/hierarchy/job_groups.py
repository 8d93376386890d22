"""PodGroups that the controllers of Jobs create from ``scheduling`` (KEP-6089): one for each Job, also for those of a JobSet or CronJob."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath
from kubeapi.jobs import JobScheduling
from kubeapi.pods import PodResourceClaim
from kubeapi.versions.kubernetes_releases import FIRST_WITH_OWNED_JOBS
from validators.model.controllers import TemplatePods, of_template, pods_of
from validators.model.job_parts import TEMPLATE, WORKLOAD, JobPart, job_part
from validators.model.templates import SPEC
from validators.model.views import CronJob, Job, JobSet, JobSetSpec


class JobGroup(Record, frozen=True):
    """PodGroup of a Job; its pods do not name it yet.

    Attributes:
        path: the path of the scheduling block.
        scheduling: the scheduling block.
        pods: the pods of one Job.
        jobs: the number of Jobs, each with such a group.
        placed: whether pods of the Job are ready: then its claims are allocated.

    """

    path: FieldPath
    scheduling: JobScheduling
    pods: TemplatePods
    jobs: int = 1
    placed: bool = False

    @property
    def resource_claims(self) -> tuple[PodResourceClaim, ...]:
        """The claims of the PodGroup."""
        return self.scheduling.resource_claims or ()

    @property
    def gang_minimum(self) -> int:
        """The minimum of the gang, by default all pods; 0 if it is no gang."""
        policy = self.scheduling.scheduling_policy
        if policy is None or policy.gang is None:
            return 0
        return (self.pods.count or 0) if policy.gang.min_count is None else policy.gang.min_count

    def path_of(self, entry: PodResourceClaim) -> FieldPath:
        """Return the path of an *entry* of the group or, if it has no such entry, of its pods."""
        if entry in self.resource_claims:
            return self.path.join(("resourceClaims", self.resource_claims.index(entry)))
        return FieldPath(*self.pods.path, "resourceClaims", (self.pods.spec.resource_claims or ()).index(entry))


def job_groups(item: object, minor: int) -> Iterator[JobGroup]:
    """Yield the PodGroups of a Job, or of the Jobs of a CronJob or JobSet, by pod template, as Kubernetes 1.*minor* creates them.

    There is none for pods that name a group, and for Jobs that the Job controller leaves to others.
    """
    if isinstance(item, JobSet):
        yield from _of_jobset(item.spec)
    part = job_part(item)
    if part is None or part.spec.scheduling is None or part.spec.template.group or is_left_to_owner(part, item, minor):
        return
    placed = isinstance(item, Job) and item.status.ready > 0
    yield JobGroup(part.path("scheduling"), part.spec.scheduling, pods_of(item)[0], placed=placed)


def is_left_to_owner(part: JobPart, item: object, minor: int) -> bool:
    """Return whether the Job controller of Kubernetes 1.*minor* creates no group from the scheduling of *part*, the Job of *item*."""
    if minor >= FIRST_WITH_OWNED_JOBS:
        return not part.annotations.keys().isdisjoint((WORKLOAD, TEMPLATE))
    return isinstance(item, CronJob) or part.metadata.controller is not None


def _of_jobset(spec: JobSetSpec) -> Iterator[JobGroup]:
    root, policies = spec.scheduling, SPEC.join(("scheduling", "replicatedJobPolicies"))
    targeted = {
        each.target_replicated_job: (policies / index, each) for index, each in enumerate((root and root.replicated_job_policies) or ())
    }
    for index, job in enumerate(spec.replicated_jobs or ()):
        path, of_job = SPEC.join(("replicatedJobs", index, "template", "spec")), job.template.spec
        default = None if root is None else JobScheduling()
        at, scheduling = targeted.get(job.name, (path / "scheduling", of_job.scheduling or default))
        if scheduling is not None and not of_job.template.group:
            pods = of_template((*path.parts, "template", "spec"), of_job.template, of_job.largest_pod_count)
            yield JobGroup(at, scheduling, pods, 1 if job.replicas is None else job.replicas)
