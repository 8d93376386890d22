"""All pods of a PodGroup have the same ``schedulerName``."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.pods import DEFAULT_SCHEDULER
from validators import field
from validators.field import FieldError
from validators.model import controllers
from validators.model.objects import Object
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the ``schedulerName`` of each pod that differs from the first one; absent means ``default-scheduler``."""
    for pods in context.pods:
        first = next(_members(context, pods.group), None) if pods.group else None
        if first is None:
            continue
        holder, expected = first
        own = pods.spec.scheduler_name or DEFAULT_SCHEDULER
        if own != expected:
            detail = f"must be {expected!r}, as that of {holder.kind} {holder.metadata.name} in the same PodGroup {pods.group}"
            yield field.invalid(pods.at / "schedulerName", own, detail)


def _members(context: Context, group: str) -> Iterator[tuple[Object, str]]:
    """Yield the pods and pod templates of a group in order: the object that has it, and its scheduler."""
    for each in context.lookup.children("Pod", context.namespace, group):
        for pods in controllers.pods_of(each):
            if pods.group == group:
                yield each, pods.spec.scheduler_name or DEFAULT_SCHEDULER


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
    kinds=POD_TEMPLATES,
    about=About.TREE,
    profile=Profile.KEP,
    at_admission=Severity.WARNING,
    why="A gang is placed in one scheduling cycle of one scheduler; a gang that is split between two schedulers is placed by neither.",
    source="PodGroup Scheduling, Limitations",
    check=check,
    good=(Example(_PAIR),),
    bad=(Example(_PAIR.replace("default-scheduler", "bin-packer"), at=("spec.schedulerName",)),),
)
