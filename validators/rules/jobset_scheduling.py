"""A JobSet sets the scheduling of a replicated job in one place, once, with one policy; no gang waits for Jobs that wait for the gang."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from kubeapi.field_path import FieldPath
from kubeapi.jobs import JobScheduling
from kubeapi.jobset import JobSetScheduling
from kubeapi.meta import deep_equal
from validators import field
from validators.field import FieldError
from validators.model.templates import SPEC
from validators.model.views import JobSet, JobSetSpec, ReplicatedJob
from validators.rules import checks
from validators.rules.base import CREATE_AND_UPDATE, Context, Example, Profile, Rule

_PATH = SPEC / "scheduling"
_POLICIES = _PATH / "replicatedJobPolicies"
_MAX_COMPARED = 100
"""Limit of characters, and of names, that are compared for a suggestion: comparing is slow."""


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at fields of ``scheduling``, at the root or in a Job template.

    An unchanged spec is not validated again.
    """
    new, old = context.new, context.old
    if not isinstance(new, JobSet) or (isinstance(old, JobSet) and deep_equal(new.spec, old.spec)):
        return
    if isinstance(old, JobSet):
        yield from _changed(new.spec, old.spec)
    jobs = new.spec.replicated_jobs or ()
    blocks: dict[str, tuple[FieldPath, JobScheduling]] = {}
    if new.spec.scheduling is not None:
        yield from _root(new.spec.scheduling)
        yield from _in_order(new.spec, new.spec.scheduling)
        yield from _targeted(new.spec.scheduling, [job.name for job in jobs], blocks)
    for index, job in enumerate(jobs):
        nested, path = job.template.spec.scheduling, SPEC.join(("replicatedJobs", index, "template", "spec", "scheduling"))
        if nested is not None and job.name in blocks:
            other_path = blocks.pop(job.name)[0]
            detail = f"must be absent: {other_path} also sets the scheduling of replicated job {job.name!r}; remove one of the two"
            yield field.invalid_struct(path, detail)
        elif nested is not None:
            blocks[job.name] = path, nested
        if job.name in blocks:
            at, block = blocks[job.name]
            yield from checks.job_blocks(at, block, job.template.spec.parallelism)
    yield from _nesting(new.spec, blocks)


def _changed(new: JobSetSpec, old: JobSetSpec) -> Iterator[FieldError]:
    """Yield errors at scheduling that changes: the groups were created from it, and replicated jobs are immutable but for a few fields."""
    if not deep_equal(new.scheduling, old.scheduling):
        yield field.invalid_struct(_PATH, checks.FIXED)
    before = {job.name: job.template.spec.scheduling for job in old.replicated_jobs or ()}
    for index, job in enumerate(new.replicated_jobs or ()):
        if job.name in before and not deep_equal(job.template.spec.scheduling, before[job.name]):
            yield field.invalid_struct(SPEC.join(("replicatedJobs", index, "template", "spec", "scheduling")), checks.FIXED)


def _root(scheduling: JobSetScheduling) -> Iterator[FieldError]:
    policy, at = scheduling.scheduling_policy, _PATH / "schedulingPolicy"
    if policy is not None:
        yield from checks.union(at, {"basic": policy.basic, "gang": policy.gang})
        yield from checks.minimum(at.join(("gang", "minGroupCount")), policy.gang.min_group_count if policy.gang else None)
    yield from checks.topology(_PATH / "schedulingConstraints", scheduling.scheduling_constraints)
    yield from checks.empty_keys(_PATH / "schedulingConstraints", scheduling.scheduling_constraints)
    yield from checks.mode_union(_PATH / "disruptionMode", scheduling.disruption_mode)
    gang = policy is not None and policy.basic is None
    yield from checks.all_with_basic(_PATH / "disruptionMode", scheduling.disruption_mode, gang=gang)


def _targeted(
    scheduling: JobSetScheduling, names: Sequence[str], blocks: dict[str, tuple[FieldPath, JobScheduling]]
) -> Iterator[FieldError]:
    """Add the policies at the root to *blocks*, by the replicated job that they name, and yield their errors."""
    for index, policy in enumerate(scheduling.replicated_job_policies or ()):
        path, target = _POLICIES / index, policy.target_replicated_job
        target_path = path / "targetReplicatedJob"
        if not target:
            yield field.required(target_path, "must be the name of a replicated job")
        elif target not in names:
            close = difflib.get_close_matches(target[:_MAX_COMPARED], sorted(names)[:_MAX_COMPARED], n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            yield field.invalid(target_path, target, f"must be the name of a replicated job{hint}")
        elif target in blocks:
            yield field.duplicate(target_path, target, f"a replicated job has only one policy, which is set in {blocks[target][0]}")
        else:
            blocks[target] = path, policy


def _in_order(spec: JobSetSpec, scheduling: JobSetScheduling) -> Iterator[FieldError]:
    """Yield an error if a gang waits for Jobs that are created only when Jobs of the gang are ready."""
    in_order = spec.startup_policy is not None and spec.startup_policy.startup_policy_order == "InOrder"
    listed = [*enumerate(spec.replicated_jobs or ())]
    created = [(index, job) for index, job in listed if _replicas(job)]
    later = created[1:] if in_order else [(index, job) for index, job in created if job.depends_on]
    gang = scheduling.scheduling_policy.gang if scheduling.scheduling_policy else None
    if gang is None or not later:
        return
    total = sum(_replicas(job) for _, job in created)
    minimum = total if gang.min_group_count is None else gang.min_group_count
    available = total - sum(_replicas(job) for _, job in later)
    if minimum > available:
        index, job = later[0]
        cause = "spec.startupPolicy is InOrder" if in_order else f"{SPEC.join(('replicatedJobs', index, 'dependsOn'))}"
        detail = (
            f"must not be a gang of {minimum} groups: the Jobs of replicated job {job.name!r} are created only when other Jobs are ready "
            f"({cause}), and those would wait for the gang; set minGroupCount to at most {available}, or use a gang in each replicated job"
        )
        yield field.forbidden(_PATH.join(("schedulingPolicy", "gang")), detail)


def _nesting(spec: JobSetSpec, blocks: dict[str, tuple[FieldPath, JobScheduling]]) -> Iterator[FieldError]:
    """Yield errors for replicated jobs without mode All, if the mode of the JobSet is All."""
    mode = spec.scheduling.disruption_mode if spec.scheduling else None
    if mode is None or mode.all is None:
        return
    for index, job in enumerate(spec.replicated_jobs or ()):
        path, block = blocks.get(job.name, (None, None))
        job_mode = block.disruption_mode if block else None
        if job_mode is None or job_mode.all is None:
            error_path = path / "disruptionMode" if path is not None and job_mode is not None else SPEC.join(("replicatedJobs", index))
            detail = "must be `all`, as the mode of its parent 'jobset-root' is (a template without a mode counts as `single`)"
            yield field.invalid(error_path, "single", detail)


def _replicas(job: ReplicatedJob) -> int:
    return 1 if job.replicas is None else max(job.replicas, 0)


_JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  scheduling:
    schedulingPolicy: {gang: {}}
    replicatedJobPolicies:
    - targetReplicatedJob: driver
      schedulingPolicy: {basic: {}}
  replicatedJobs:
  - name: driver
    template:
      spec: {template: {spec: {containers: [{name: main, image: registry.example/train:1}]}}}
  - name: workers
    replicas: 2
    template:
      spec:
        template: {spec: {containers: [{name: main, image: registry.example/train:1}]}}
        parallelism: 4
        completions: 4
        scheduling: {schedulingPolicy: {gang: {minCount: 4}}}
"""

RULE = Rule(
    id="jobset-scheduling",
    kinds=frozenset({"JobSet"}),
    on=CREATE_AND_UPDATE,
    profile=Profile.KEP,
    why="A Workload and its groups are created from these fields; with contradicting fields, or a gang that waits for itself, the "
    "JobSet gets no pods.",
    source="KEP-6089, Reference Integration Examples: JobSet; Split-Brain Configurations (JobSet has published no such fields yet)",
    check=check,
    good=(Example(_JOBSET), Example(_JOBSET.replace("minCount: 4", "minCount: 5"), old=_JOBSET.replace("minCount: 4", "minCount: 5"))),
    bad=(
        Example(
            _JOBSET.replace("targetReplicatedJob: driver", "targetReplicatedJob: workers"),
            at=("spec.replicatedJobs[1].template.spec.scheduling",),
        ),
        Example(
            _JOBSET.replace("targetReplicatedJob: driver", "targetReplicatedJob: drivers"),
            at=("spec.scheduling.replicatedJobPolicies[0].targetReplicatedJob",),
        ),
        Example(
            _JOBSET.replace("minCount: 4", "minCount: 5"),
            at=("spec.replicatedJobs[1].template.spec.scheduling.schedulingPolicy.gang.minCount",),
        ),
        Example(_JOBSET + "  startupPolicy: {startupPolicyOrder: InOrder}\n", at=("spec.scheduling.schedulingPolicy.gang",)),
        Example(_JOBSET.replace("{gang: {}}", "{basic: {}}"), old=_JOBSET, at=("spec.scheduling",)),
    ),
)
