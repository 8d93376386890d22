"""A gang Job has as many pods left to create as its gang needs."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.model.templates import SPEC
from validators.model.views import Job
from validators.rules.base import Context, Example, Profile, Rule, Severity

_GANG = SPEC.join(("scheduling", "schedulingPolicy", "gang"))


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at the gang, or at its ``minCount``, while pods of the Job are still to be scheduled."""
    job = context.new
    if not isinstance(job, Job) or job.status.completion_time is not None:
        return
    policy = job.spec.scheduling.scheduling_policy if job.spec.scheduling else None
    if policy is None or policy.gang is None or job.spec.completions is None:
        return
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    minimum, remaining = policy.gang.min_count, job.spec.completions - job.finished_pods
    needed = parallelism if minimum is None else minimum
    if needed <= parallelism and job.status.ready < remaining < needed:
        finished = f", and {job.finished_pods} have ended" if job.finished_pods else ""
        detail = f"must be at most {remaining}: the Job has {job.spec.completions} completions{finished}; lower minCount"
        yield field.invalid(_GANG if minimum is None else _GANG / "minCount", needed, detail)


_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  parallelism: 4
  completions: 8
  scheduling:
    schedulingPolicy: {gang: {minCount: 4}}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
status: {completedIndexes: "0-3", succeeded: 4}
"""
_AT = ("spec.scheduling.schedulingPolicy.gang.minCount",)

RULE = Rule(
    id="gang-job-remaining",
    kinds=frozenset({"Job"}),
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    why="Pods of completed indexes do not count for the gang, and the Job creates no others: the replacement of a failed pod is never scheduled.",
    source="KEP-6089, Job Integration; Kubernetes 1.37.1, plugin GangScheduling and Job controller",
    check=check,
    good=(
        Example(_JOB),
        Example(_JOB.replace('"0-3", succeeded: 4', '"0-5", succeeded: 6, ready: 2')),
        Example(_JOB.replace('"0-3", succeeded: 4', '"0-7", succeeded: 8, completionTime: "2026-01-01T00:00:00Z"')),
    ),
    bad=(
        Example(_JOB.replace('"0-3", succeeded: 4', '"0-3,6", failedIndexes: "5", succeeded: 5, ready: 1'), at=_AT),
        Example(_JOB.replace("completions: 8", "completions: 3").replace('"0-3", succeeded: 4', '""'), at=_AT),
        Example(_JOB.replace("{gang: {minCount: 4}}", "{gang: {}}").replace("0-3", "0-5"), at=("spec.scheduling.schedulingPolicy.gang",)),
    ),
)
