"""The Job controller uses the ``scheduling`` of a Job: its pods name no other group, and before Kubernetes 1.38 it has no controller."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions.kubernetes_releases import FIRST_WITH_OWNED_JOBS, name
from validators import field
from validators.field import FieldError
from validators.hierarchy.job_groups import is_left_to_owner
from validators.model.job_parts import job_part
from validators.model.views import CronJob
from validators.rules.base import Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield a warning at ``scheduling``; a version that refuses it has an error instead."""
    part, minor = job_part(context.new), context.settings.minor
    if part is None or part.spec.scheduling is None or minor >= FIRST_WITH_OWNED_JOBS:
        return
    if group := part.spec.template.group:
        detail = f"has no effect: the pod template names PodGroup {group}, so no other group is created"
        yield field.invalid_struct(part.path("scheduling"), detail)
    elif is_left_to_owner(part, context.new, minor):
        owner = "a CronJob" if isinstance(context.new, CronJob) else " ".join(part.metadata.controller or ())
        detail = (
            f"has no effect: the Job controller of Kubernetes {name(minor)} creates no group for a Job with a controller ({owner}): the pods "
            f"are placed one by one; Kubernetes {name(FIRST_WITH_OWNED_JOBS)} creates one"
        )
        yield field.invalid_struct(part.path("scheduling"), detail)


_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  completions: 4
  scheduling:
    schedulingPolicy: {gang: {}}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
"""
_OWNED = _JOB.replace(
    "{name: train}\nspec",
    "{name: train, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Workflow, name: w, uid: u, controller: true}]}\nspec",
)
_CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: train}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      parallelism: 4
      completions: 4
      scheduling:
        schedulingPolicy: {gang: {}}
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: train}]
"""

RULE = Rule(
    id="job-scheduling-unused",
    kinds=frozenset({"Job", "CronJob"}),
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    changes=(FIRST_WITH_OWNED_JOBS,),
    why="The pods start one by one although the Job asks for a gang, or for one domain.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, getManagementMode of the Job controller",
    check=check,
    good=(Example(_JOB), Example(_OWNED, kubernetes="1.38"), Example(_CRON_JOB, kubernetes="1.38")),
    bad=(
        Example(_CRON_JOB, at=("spec.jobTemplate.spec.scheduling",)),
        Example(_OWNED, at=("spec.scheduling",)),
        Example(
            _JOB.replace("    spec:\n      restart", "    spec:\n      schedulingGroup: {podGroupName: own}\n      restart"),
            at=("spec.scheduling",),
        ),
    ),
)
