"""The parent of a group exists in the group's namespace."""

from __future__ import annotations

from collections.abc import Iterator

from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules import checks
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``parentCompositePodGroupName``.  No errors if no CompositePodGroup at all is known."""
    parent, lookup = context.group.spec.parent_composite_pod_group_name, context.lookup
    if not parent or not context.node.orphan or lookup.list_kind("CompositePodGroup") is None:
        return
    if lookup.get("CompositePodGroup", context.namespace, parent) is None:
        detail = f"there must be a CompositePodGroup of this name in namespace {context.namespace}"
        yield checks.missing(context, SPEC / "parentCompositePodGroupName", "CompositePodGroup", parent, detail)


_TREE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
"""

RULE = Rule(
    id="parent-exists",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    why="A group whose parent does not exist is never scheduled: its pods wait for the root of the tree.",
    source="KEP-6012, Changes to the PodGroup API; Scheduling Queue Support for CPGs",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(Example(_TREE),),
    bad=(
        Example(
            _TREE.replace("parentCompositePodGroupName: replica-0", "parentCompositePodGroupName: replica-1"),
            at=("spec.parentCompositePodGroupName",),
            fixed=_TREE,
        ),
    ),
)
