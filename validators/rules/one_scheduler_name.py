"""All pods of a PodGroup have the same ``schedulerName``."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.model.objects import Object
from validators.model.pod import DEFAULT_SCHEDULER, Job, Pod
from validators.rules.base import PODS, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the ``schedulerName`` of each pod that differs from the first one; absent means ``default-scheduler``."""
    pod = context.pod_spec
    if not pod.group:
        return
    first = next((each for each in context.lookup.children("Pod", context.namespace, pod.group) if _scheduler(each)), None)
    if first is None or first is context.new:
        return
    expected, own = _scheduler(first), _scheduler(context.new)
    if own != expected:
        yield field.invalid(
            context.pod_path / "schedulerName",
            own,
            f"must be {expected!r}, as that of {first.kind} {first.metadata.name} in the same PodGroup {pod.group}",
        )


def _scheduler(holder: Object) -> str:
    if isinstance(holder, Job):
        return holder.spec.template.spec.scheduler_name or DEFAULT_SCHEDULER
    return holder.spec.scheduler_name or DEFAULT_SCHEDULER if isinstance(holder, Pod) else ""


_PAIR = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-1}
spec:
  schedulingGroup: {podGroupName: workers}
  schedulerName: default-scheduler
  containers: [{name: main, image: train}]
---
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  schedulingGroup: {podGroupName: workers}
  containers: [{name: main, image: train}]
"""

RULE = Rule(
    id="one-scheduler-name",
    kinds=PODS,
    about=About.TREE,
    profile=Profile.KEP,
    at_admission=Severity.WARNING,
    why="A gang is placed in one scheduling cycle of one scheduler; a gang that is split between two schedulers is placed by neither.",
    source="PodGroup Scheduling, Limitations",
    check=check,
    good=(Example(_PAIR),),
    bad=(Example(_PAIR.replace("default-scheduler", "bin-packer"), at=("spec.schedulerName",)),),
)
