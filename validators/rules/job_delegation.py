"""A Job whose pods join a group of another Workload names the Workload and its template, and has no scheduling of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi.workloads import Workload
from validators import field
from validators.field import FieldError, Fix, Repair
from validators.model.job_parts import TEMPLATE, WORKLOAD, JobPart, job_part
from validators.model.objects import namespace_of
from validators.rules.base import CREATE_AND_UPDATE, Context, Example, Rule

_ANNOTATIONS = (WORKLOAD, TEMPLATE)


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``scheduling`` and at the annotation that is missing; a contradiction that was stored before is accepted."""
    new, old = job_part(context.new), job_part(context.old)
    if new is None:
        return
    own, before = new.annotations, old.annotations if old is not None else {}
    if new.spec.scheduling is not None:
        yield from _scheduling(new, old)
    if own.keys().isdisjoint(_ANNOTATIONS) or (old is not None and all(own.get(key) == before.get(key) for key in _ANNOTATIONS)):
        return
    for key in _ANNOTATIONS:
        if not own.get(key):
            error = field.required(new.annotation_path(key), f"must be set to a non-empty value when {WORKLOAD} or {TEMPLATE} is set")
            yield dataclasses.replace(error, fix=_fix(context, own, key) if context.settings.fixes else None)


def _fix(context: Context, annotations: Mapping[str, str], key: str) -> Fix | None:
    """Return the annotation *key* with the only value that suits the other one, if there is one among the known Workloads."""
    other = TEMPLATE if key == WORKLOAD else WORKLOAD
    wanted, given = _ANNOTATIONS.index(key), _ANNOTATIONS.index(other)
    suitable = {pair[wanted] for pair in _templates(context) if pair[given] == annotations.get(other)}
    if len(suitable) != 1:
        return None
    (value,) = suitable
    return Fix(Repair.REPLACE if key in annotations else Repair.ADD, value, is_safe=True, before=other)


def _templates(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the names of Workloads in the namespace, each with that of one of its templates that the Job controller reads."""
    for each in context.lookup.list_kind("Workload") or ():
        if isinstance(each, Workload) and namespace_of(each) == context.namespace:
            yield from ((each.metadata.name, template.name) for template in each.spec.pod_group_templates or ())


def _scheduling(new: JobPart, old: JobPart | None) -> Iterator[FieldError]:
    had_scheduling = old is not None and old.spec.scheduling is not None
    if new.spec.template.spec.scheduling_group is not None:
        if not (had_scheduling and old is not None and old.spec.template.spec.scheduling_group is not None):
            yield field.invalid_struct(new.path("scheduling"), "must not be set together with template.spec.schedulingGroup")
    stored = old.annotations if had_scheduling and old is not None else {}
    added = [key for key in _ANNOTATIONS if key in new.annotations and key not in stored]
    if added:
        yield field.invalid_struct(new.path("scheduling"), f"must not be set together with the {added[0]} annotation")


_JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: train-workers-0
  annotations:
    {WORKLOAD}: train
    {TEMPLATE}: workers
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: train}}]
"""
_ONE = _JOB.replace(f"    {WORKLOAD}: train\n", "")
_WORKLOAD = """\
---
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
"""
_CRON_JOB = f"""\
apiVersion: batch/v1
kind: CronJob
metadata: {{name: train}}
spec:
  schedule: "@daily"
  jobTemplate:
    metadata:
      annotations: {{{WORKLOAD}: train}}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{{name: main, image: train}}]
"""

RULE = Rule(
    id="job-delegation",
    kinds=frozenset({"Job", "CronJob"}),
    since=38,
    on=CREATE_AND_UPDATE,
    why="The Job controller creates the PodGroup of the pods from the named template; without the name of the Workload it finds none, and "
    "with a second description of the same pods it does not know which one to use.",
    source="Kubernetes 1.38.0-beta.0, validation of Job and CronJob",
    check=check,
    good=(Example(_JOB, kubernetes="1.38"), Example(_ONE + "  suspend: true\n", old=_ONE, kubernetes="1.38")),
    bad=(
        Example(_ONE + _WORKLOAD, at=(f"metadata.annotations[{WORKLOAD}]",), kubernetes="1.38", fixed=_JOB + _WORKLOAD),
        Example(_JOB.replace("spec:\n", "spec:\n  scheduling: {}\n", 1), at=("spec.scheduling",), kubernetes="1.38"),
        Example(_CRON_JOB, at=(f"spec.jobTemplate.metadata.annotations[{TEMPLATE}]",), kubernetes="1.38"),
    ),
)
