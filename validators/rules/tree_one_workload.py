"""All groups of a tree refer to the Workload of the root."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import Group
from validators import field
from validators.field import FieldError
from validators.hierarchy.tree import GroupNode
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule

_PATH = SPEC.join(("workloadRef", "workloadName"))


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at a ``workloadName`` that differs from that of the root."""
    node, reference = context.node, context.group.spec.workload_ref
    root = node.root.group if node.root else None
    if root is None or reference is None or root.spec.workload_ref is None:
        return
    expected = root.spec.workload_ref.workload_name
    if reference.workload_name != expected:
        detail = f"must be {expected!r}, the Workload of the tree's root {root.kind} {root.metadata.name}"
        yield field.invalid(_PATH, reference.workload_name, detail)
    elif not context.settings.linting and (other := _other_below(node, expected)) is not None:
        # The group is created above existing groups.
        detail = f"must be the Workload of all groups below; {other.kind} {other.metadata.name} has another one"
        yield field.invalid(_PATH, reference.workload_name, detail)


def _other_below(node: GroupNode, expected: str) -> Group | None:
    stack = list(node.children)
    while stack:
        each = stack.pop()
        reference = each.group.spec.workload_ref
        if reference is not None and reference.workload_name != expected:
            return each.group
        stack.extend(each.children)
    return None


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
    id="tree-one-workload",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    why="A tree is one scheduling unit and is described by one Workload.",
    source="KEP-6012, Group hierarchy",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(Example(_TREE),),
    bad=(Example(_TREE.replace("train", "other", 1), at=("spec.workloadRef.workloadName",)),),
)
