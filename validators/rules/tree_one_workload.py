"""All groups of a tree refer to one Workload, that of the root."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Tells at the ``workloadName`` that differs from the root's."""
    node, reference = context.node, context.group.spec.workload_ref
    root = node.root.group if node.root else None
    if root is None or root is context.group or reference is None or root.spec.workload_ref is None:
        return
    wanted = root.spec.workload_ref.workload_name
    if reference.workload_name != wanted:
        yield field.invalid(
            SPEC.join(("workloadRef", "workloadName")),
            reference.workload_name,
            f"must be {wanted!r}, the Workload of the tree's root {root.kind} {root.metadata.name}",
        )


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
    why="The tree is one scheduling unit with one description; with two, neither describes it.",
    source="KEP-6012, Group hierarchy",
    check=check,
    good=(Example(_TREE),),
    bad=(Example(_TREE.replace("train", "other", 1), at=("spec.workloadRef.workloadName",)),),
)
