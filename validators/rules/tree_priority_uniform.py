"""A group has its parent's priority class, priority and preemption policy."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions.kubernetes_releases import Since
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule

_POLICY = Since(38, "kube-scheduler places no tree with several preemption policies")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``priorityClassName`` (absent differs from set), ``priority`` and ``preemptionPolicy`` (if both groups have one)."""
    node = context.node
    if not node.depth or node.parent is None:
        return
    own, parent = context.group.spec, node.parent.group.spec
    name = node.parent.group.metadata.name
    if own.priority_class_name != parent.priority_class_name:
        yield field.invalid(
            SPEC / "priorityClassName",
            own.priority_class_name,
            f"must be {parent.priority_class_name!r}, as that of the parent CompositePodGroup {name}: a tree has one priority class",
        )
    if own.priority is not None and parent.priority is not None and own.priority != parent.priority:
        yield field.invalid(
            SPEC / "priority",
            own.priority,
            f"must be {parent.priority}, as that of the parent CompositePodGroup {name}: a tree has one priority",
        )
    policies = own.preemption_policy, parent.preemption_policy
    if context.settings.minor >= _POLICY and None not in policies and len({*policies}) > 1:
        yield field.invalid(
            SPEC / "preemptionPolicy",
            own.preemption_policy,
            f"must be {parent.preemption_policy}, as that of the parent CompositePodGroup {name}: a tree has one preemption policy",
        )


_TREE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
  priorityClassName: high
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
  priorityClassName: high
"""

RULE = Rule(
    id="tree-priority-uniform",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    why="The priority of the root decides the order of the tree in the queue and its protection from preemption.",
    source="KEP-6012, Disruption mode, priority class name and priority",
    check=check,
    changes=(_POLICY,),
    relevant_traits=traits.IN_TREE,
    good=(Example(_TREE),),
    bad=(
        Example(_TREE.replace("high", "low", 1), at=("spec.priorityClassName",)),
        Example(
            _TREE.replace("priorityClassName: high", "preemptionPolicy: Never", 1).replace(
                "priorityClassName: high", "preemptionPolicy: PreemptLowerPriority"
            ),
            at=("spec.preemptionPolicy",),
            kubernetes="1.38",
        ),
    ),
)
