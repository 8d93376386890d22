"""Parent references run in no circle."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.hierarchy.tree import GroupNode
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule

_MOST_NAMES = 8
"""Groups of a circle that are named in its message."""


def check(context: Context) -> Iterator[FieldError]:
    """Tells at ``parentCompositePodGroupName`` of every group on the circle, not of those that hang below it."""
    node = context.node
    if node.on_cycle:
        parent = context.group.spec.parent_composite_pod_group_name
        yield field.invalid(SPEC / "parentCompositePodGroupName", parent, f"must not lead back to the group itself: {_circle(node)}")


def _circle(node: GroupNode) -> str:
    names, each = [node.group.metadata.name], node.parent
    # No further than is shown: every group of the circle tells of it.
    while each is not None and each is not node and len(names) <= _MOST_NAMES:
        names.append(each.group.metadata.name)
        each = each.parent
    shown = names if len(names) <= _MOST_NAMES else [*names[: _MOST_NAMES - 1], "…"]
    return " → ".join([*shown, node.group.metadata.name])


_CIRCLE = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: outer}
spec:
  parentCompositePodGroupName: inner
  workloadRef: {workloadName: train, templateName: outer}
  schedulingPolicy: {basic: {}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: inner}
spec:
  parentCompositePodGroupName: outer
  workloadRef: {workloadName: train, templateName: inner}
  schedulingPolicy: {basic: {}}
"""

RULE = Rule(
    id="parent-acyclic",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    why="A circle has no root, so none of its groups is ever scheduled.",
    source="KEP-6012, Group hierarchy",
    check=check,
    good=(Example(_CIRCLE.replace("  parentCompositePodGroupName: inner\n", "")),),
    bad=(Example(_CIRCLE, at=("spec.parentCompositePodGroupName",)),),
)
