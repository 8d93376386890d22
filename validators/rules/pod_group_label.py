"""The label `scheduling.muster.dev/pod-group` of a pod names the same PodGroup as its `schedulingGroup`, and does not change."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.pods import POD_GROUP_LABEL
from validators import field
from validators.field import FieldError
from validators.model.controllers import pods_of
from validators.model.views import Pod
from validators.rules.base import CREATE_AND_UPDATE, POD_TEMPLATES, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at the label of a pod or pod template; an empty label names no group."""
    for pods in context.pods:
        yield from differing(pods.label_path, (pods.labels or {}).get(POD_GROUP_LABEL), pods.group)
    new, old = context.new, context.old
    if not isinstance(new, Pod) or not isinstance(old, Pod) or new.group == old.group:
        return
    if old.group and new.spec.scheduling_group == old.spec.scheduling_group:
        (pods,) = pods_of(new)
        label = (new.metadata.labels or {}).get(POD_GROUP_LABEL)
        yield field.invalid(pods.label_path, label, f"must stay {old.group!r}: the pod is a member of this PodGroup")


def differing(path: FieldPath, label: str | None, group: str) -> Iterator[FieldError]:
    """Yield the error of the label at *path* of a pod in *group*, if it names another group."""
    if label and label != group:
        yield field.invalid(path, label, f"must be {group!r}, the name in schedulingGroup.podGroupName")


_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: worker-0
  labels: {scheduling.muster.dev/pod-group: workers}
spec:
  containers: [{name: main, image: train}]
"""
_BOTH = _POD.replace("spec:", "spec:\n  schedulingGroup: {podGroupName: workers}")
_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    metadata:
      labels: {scheduling.muster.dev/pod-group: worker}
    spec:
      schedulingGroup: {podGroupName: workers}
      restartPolicy: Never
      containers: [{name: main, image: train}]
"""
_AT = "metadata.labels[scheduling.muster.dev/pod-group]"

RULE = Rule(
    id="pod-group-label",
    kinds=POD_TEMPLATES,
    on=CREATE_AND_UPDATE,
    profile=Profile.KEP,
    why=(
        "The label names the group of a pod where its `spec` has no field for it. A pod with two groups, or with another group than "
        "before, would be missing in one gang and join another that was placed without it."
    ),
    source="The API group scheduling.muster.dev; KEP-4671, Associating Pod into PodGroups",
    check=check,
    good=(
        Example(_POD),
        Example(_BOTH),
        Example(_POD, old=_POD.replace("  labels: {scheduling.muster.dev/pod-group: workers}\n", "")),
    ),
    bad=(
        Example(_BOTH.replace("group: workers}", "group: drivers}"), at=(_AT,)),
        Example(_JOB, at=(f"spec.template.{_AT}",)),
        Example(_POD.replace("group: workers}", "group: drivers}"), old=_POD, at=(_AT,)),
    ),
)
