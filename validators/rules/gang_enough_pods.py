"""The controllers of a gang's pods create as many pods as the gang requires."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.groups import PodGroup
from kubeapi.jobs import JobScheduling
from validators import field
from validators.field import FieldError
from validators.model import own_gangs
from validators.model.controllers import Controller
from validators.model.own_gangs import OwnGang
from validators.model.templates import SPEC
from validators.model.views import JobSet, JobSetSpec, ReplicatedJob
from validators.rules.base import About, Context, Example, Profile, Rule, Severity

_GANG = ("schedulingPolicy", "gang")


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at the minimum of a gang whose pods are known.  A warning only: other files may have more pods of a PodGroup."""
    match context.new:
        case PodGroup():
            yield from _group(context, context.new)
        case Controller(gang=OwnGang() as gang):
            yield from _own(gang)
        case JobSet():
            yield from _jobset(context.new.spec)


def _group(context: Context, group: PodGroup) -> Iterator[FieldError]:
    if group.spec.scheduling_policy.gang is None:
        return
    minimum = group.spec.scheduling_policy.gang.min_count
    pods = context.group_pods
    if pods is not None and pods.total < minimum:
        detail = f"must be at most {pods.total}, the number of pods of {', '.join(pods.controllers)}, unless other pods join the group"
        yield field.invalid(SPEC.join((*_GANG, "minCount")), minimum, detail)


def _own(gang: OwnGang) -> Iterator[FieldError]:
    total = sum(each.count for each in gang.pods)
    if total < gang.minimum:
        parts = ", ".join(f"{each.part} {each.count}" for each in gang.pods)
        yield field.invalid_struct(FieldPath(*gang.path), f"must not require {gang.minimum}: there are only {total} at a time ({parts})")


def _jobset(spec: JobSetSpec) -> Iterator[FieldError]:
    """Yield errors at the gangs of Jobs that have fewer completions, and at a gang of more Jobs than there are."""
    jobs, path = spec.replicated_jobs or (), SPEC / "scheduling"
    targeted = {
        each.target_replicated_job: (path.join(("replicatedJobPolicies", index)), each)
        for index, each in enumerate((spec.scheduling.replicated_job_policies if spec.scheduling else None) or ())
    }
    for index, job in enumerate(jobs):
        nested = SPEC.join(("replicatedJobs", index, "template", "spec", "scheduling")), job.template.spec.scheduling
        yield from _job(job, *targeted.get(job.name, nested))
    policy = spec.scheduling.scheduling_policy if spec.scheduling else None
    if policy is not None and policy.gang is not None and policy.gang.min_group_count is not None:
        total = sum(1 if job.replicas is None else job.replicas for job in jobs)
        if total < policy.gang.min_group_count:
            detail = f"must be at most {total}, the number of Jobs"
            yield field.invalid(path.join((*_GANG, "minGroupCount")), policy.gang.min_group_count, detail)


def _job(job: ReplicatedJob, path: FieldPath, blocks: JobScheduling | None) -> Iterator[FieldError]:
    gang = blocks.scheduling_policy.gang if blocks is not None and blocks.scheduling_policy is not None else None
    completions = job.template.spec.completions
    if gang is None or completions is None:
        return
    parallelism = 1 if job.template.spec.parallelism is None else job.template.spec.parallelism
    minimum = parallelism if gang.min_count is None else gang.min_count
    if completions < minimum <= parallelism:
        detail = f"must be at most {completions}, the completions of the Job"
        yield field.invalid(path.join(_GANG if gang.min_count is None else (*_GANG, "minCount")), minimum, detail)


_GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
---
"""
_DEPLOYMENT = f"""\
{_GROUP}apiVersion: apps/v1
kind: Deployment
metadata: {{name: serve}}
spec:
  replicas: 4
  template:
    spec:
      schedulingGroup: {{podGroupName: workers}}
"""
_JOB = f"""\
{_GROUP}apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  parallelism: 4
  completions: 4
  template:
    spec:
      schedulingGroup: {{podGroupName: workers}}
"""
_AT = ("spec.schedulingPolicy.gang.minCount",)
_JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  scheduling: {schedulingPolicy: {gang: {minGroupCount: 2}}}
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 4
        completions: 8
        scheduling: {schedulingPolicy: {gang: {}}}
        template: {spec: {containers: [{name: main, image: registry.example/train:1}]}}
"""
_MPI_JOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 5}}
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {}}}
    Worker: {replicas: 4, template: {spec: {}}}
"""

RULE = Rule(
    id="gang-enough-pods",
    kinds=frozenset({"PodGroup", "JobSet"}) | own_gangs.KINDS,
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    why="A gang with fewer pods than its minimum is never scheduled: kube-scheduler waits for the missing pods.",
    source="KEP-4671, Gang scheduling; Kubernetes 1.37.1, plugin GangScheduling; controllers of JobSet, Trainer, Kubeflow, Volcano",
    check=check,
    good=(
        Example(_DEPLOYMENT),
        Example(_JOB),
        Example(_DEPLOYMENT.replace("replicas: 4", "minReadySeconds: 4")),
        Example(_JOBSET),
        Example(_MPI_JOB),
    ),
    bad=(
        Example(_DEPLOYMENT.replace("replicas: 4", "replicas: 3"), at=_AT),
        Example(_JOB.replace("parallelism: 4", "parallelism: 2"), at=_AT),
        Example(_JOB.replace("completions: 4", "completions: 3"), at=_AT),
        Example(
            _JOBSET.replace("completions: 8", "completions: 3"),
            at=("spec.replicatedJobs[0].template.spec.scheduling.schedulingPolicy.gang",),
        ),
        Example(_JOBSET.replace("minGroupCount: 2", "minGroupCount: 3"), at=("spec.scheduling.schedulingPolicy.gang.minGroupCount",)),
        Example(_MPI_JOB.replace("minAvailable: 5", "minAvailable: 6"), at=("spec.runPolicy.schedulingPolicy.minAvailable",)),
    ),
)
