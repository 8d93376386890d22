"""The name of a Job with ``scheduling`` makes a valid name of the template in the Workload that the Job controller creates."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath
from kubeapi.meta import ObjectMeta
from kubeapi.versions.kubernetes_releases import FIRST_WITH_CUT_TEMPLATE_NAMES
from validators import field
from validators.field import FieldError
from validators.gates import WITH_JOB
from validators.hierarchy.job_groups import is_left_to_owner
from validators.model.job_parts import job_part
from validators.model.views import CronJob
from validators.rules.base import Context, Example, Profile, Rule, Severity

_SUFFIX = "-pgt-0"
_LONGEST = 63
_RANDOM = "xxxxx"
"""Letters that the API server adds to ``generateName``, of which it keeps as much as leaves room for them."""
_TIME = "-29000000"
"""What the CronJob controller adds to the names of its Jobs: a time in minutes."""


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at the name of the object."""
    if context.settings.gates.enabled(WITH_JOB):
        yield from errors(context.new, context.settings.minor)


def errors(item: object, minor: int) -> Iterator[FieldError]:
    """Yield the error of a Job or CronJob whose Workload Kubernetes 1.*minor* refuses.

    A Job without ``scheduling`` is not judged: it gets its pods where the feature gate WorkloadWithJob is off, as it is by default.
    """
    part = job_part(item)
    if part is None or part.spec.scheduling is None or part.spec.template.group or is_left_to_owner(part, item, minor):
        return
    metadata: ObjectMeta = item.metadata if isinstance(item, CronJob) else part.metadata
    given, name = ("name", metadata.name) if metadata.name else ("generateName", metadata.generate_name or "")
    if not name:
        return
    created = name if metadata.name else f"{name[: _LONGEST - len(_RANDOM)]}{_RANDOM}"
    template = f"{created}{_TIME if isinstance(item, CronJob) else ''}{_SUFFIX}"
    if len(template) > _LONGEST and minor >= FIRST_WITH_CUT_TEMPLATE_NAMES:
        template = template[: _LONGEST - len(_SUFFIX)] + _SUFFIX
    for text in content.label(template):
        detail = f"the Job controller creates neither a group nor pods: its Workload would have a template with the name {template}, which {text}"
        yield field.invalid(FieldPath("metadata", given), name, detail)


_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  completions: 4
  scheduling:
    schedulingPolicy: {gang: {minCount: 4}}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
"""
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
        schedulingPolicy: {gang: {minCount: 4}}
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: train}]
"""
_LONG = _JOB.replace("train}\n", f"{'a' * 58}}}\n", 1)

RULE = Rule(
    id="job-template-name",
    kinds=frozenset({"Job", "CronJob"}),
    profile=Profile.KEP,
    at_admission=Severity.WARNING,
    changes=(FIRST_WITH_CUT_TEMPLATE_NAMES,),
    why="The API server accepts the Job and refuses the Workload, so that the Job never gets pods; only an event of the Job says so.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, podGroupTemplateName of the Job controller",
    check=check,
    good=(
        Example(_JOB),
        Example(_JOB.replace("name: train", f"name: {'a' * 57}", 1)),
        Example(_LONG, kubernetes="1.38"),
    ),
    bad=(
        Example(_LONG, at=("metadata.name",)),
        Example(_JOB.replace("name: train", "name: train.v1", 1), at=("metadata.name",), kubernetes="1.38"),
        Example(_JOB.replace("name: train", f"generateName: {'a' * 53}", 1), at=("metadata.generateName",)),
        Example(_CRON_JOB.replace("name: train", "name: train.v1", 1), at=("metadata.name",), kubernetes="1.38"),
    ),
)
