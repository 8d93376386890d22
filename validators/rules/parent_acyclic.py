"""Parent references have no cycle."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.hierarchy.tree import GroupNode
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule

_MAX_NAMES = 8
"""Limit of groups of a cycle that are named in a message."""


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``parentCompositePodGroupName`` of every group on the cycle, but not of groups below the cycle."""
    node = context.node
    if node.on_cycle:
        parent = context.group.spec.parent_composite_pod_group_name
        yield field.invalid(SPEC / "parentCompositePodGroupName", parent, f"must not lead back to the group itself: {_cycle(node)}")


def _cycle(node: GroupNode) -> str:
    names, each = [node.group.metadata.name], node.parent
    # Not the whole cycle: each of its groups reports it, and few names are shown.
    while each is not None and each is not node and len(names) <= _MAX_NAMES:
        names.append(each.group.metadata.name)
        each = each.parent
    shown = names if len(names) <= _MAX_NAMES else [*names[: _MAX_NAMES - 1], "…"]
    return " → ".join([*shown, node.group.metadata.name])


_CYCLE = """\
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
    why="A cycle has no root, so none of its groups is ever scheduled.",
    source="KEP-6012, Group hierarchy",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(Example(_CYCLE.replace("  parentCompositePodGroupName: inner\n", "")),),
    bad=(Example(_CYCLE, at=("spec.parentCompositePodGroupName",)),),
)
