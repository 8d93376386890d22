"""A pod has the priority class and the priority of its PodGroup."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import PodGroup
from validators import field
from validators.field import FieldError
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``priorityClassName`` (absent differs from set) and ``priority`` (if both objects have one)."""
    for pods in context.pods:
        path, pod = pods.at, pods.spec
        group = context.lookup.get("PodGroup", context.namespace, pods.group) if pods.group else None
        if not isinstance(group, PodGroup):
            continue
        if pod.priority_class_name != group.spec.priority_class_name:
            yield field.invalid(
                path / "priorityClassName",
                pod.priority_class_name,
                f"must be {group.spec.priority_class_name!r}, as that of PodGroup {pods.group}",
            )
        if pod.priority is not None and group.spec.priority is not None and pod.priority != group.spec.priority:
            yield field.invalid(path / "priority", pod.priority, f"must be {group.spec.priority}, as that of PodGroup {pods.group}")


_PAIR = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  schedulingGroup: {podGroupName: workers}
  priorityClassName: high
  containers: [{name: main, image: train}]
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  priorityClassName: high
"""

RULE = Rule(
    id="pod-priority-matches",
    kinds=POD_TEMPLATES,
    about=About.TREE,
    profile=Profile.KEP,
    why="The PodGroup's priority decides its order in the queue and its protection from preemption; a different priority of a pod has"
    " no effect.",
    source="KEP-6012, Disruption mode, priority class name and priority",
    check=check,
    good=(Example(_PAIR),),
    bad=(Example(_PAIR.replace("high", "low", 1), at=("spec.priorityClassName",)),),
)
