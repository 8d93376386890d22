"""Every direct child of a group with disruption mode All has mode All too."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import Group
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the child's ``disruptionMode``; a group without a mode is Single."""
    node = context.node
    if node.depth and node.parent is not None and _whole(node.parent.group) and not _whole(context.group):
        yield field.invalid(
            SPEC / "disruptionMode",
            "single",
            f"must be `all`, as the mode of the parent CompositePodGroup {node.parent.group.metadata.name} is "
            "(a group without a mode counts as `single`)",
        )


def _whole(group: Group) -> bool:
    return group.spec.disruption_mode is not None and group.spec.disruption_mode.all is not None


_TREE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
  disruptionMode: {all: {}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
  disruptionMode: {all: {}}
"""

RULE = Rule(
    id="tree-disruption-nesting",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    why="If the parent may only be disrupted as a whole, a child whose members may be disrupted one by one contradicts it.",
    source="KEP-6012, Disruption mode, priority class name and priority (applied to groups)",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(Example(_TREE),),
    bad=(Example(_TREE.replace("{all: {}}", "{single: {}}", 1), at=("spec.disruptionMode",)),),
)
