"""PodGroups of a tree that must be placed together do not use the same claim, unless it is allocated."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError, FieldPath
from validators.hierarchy import group_claims
from validators.hierarchy.tree import GroupNode
from validators.model.group import CompositePodGroup, PodGroup
from validators.model.templates import SPEC
from validators.rules.base import About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the group's entry, or at its name for a claim that only its pods name.  Needs the pods or Jobs of both groups."""
    node, group = context.node, context.new
    if not isinstance(group, PodGroup) or node.root is None or node.parent is None:
        return
    names = [each.name for each in group.spec.resource_claims or ()]
    for claim in sorted(group_claims.claims_of(group, context.lookup)):
        if claim.claim and (others := _others(context, node, claim.claim)):
            listed = claim.entry in names
            path = SPEC.join(("resourceClaims", names.index(claim.entry))) if listed else FieldPath("metadata", "name")
            detail = (
                f"PodGroup {others[0]} of the same tree uses claim {claim.claim} too: kube-scheduler 1.37.1 never allocates a claim of two"
                " PodGroups that are placed together; let muster sidecar place them, or use one claim for each PodGroup"
            )
            yield field.invalid(path, claim.entry if listed else group.metadata.name, detail)


def _others(context: Context, node: GroupNode, claim: str) -> list[str]:
    """Return the names of the other leaves that use *claim* and must be placed together with *node*."""
    found: list[str] = []
    below = node
    for ancestor in node.ancestors():
        gang = isinstance(ancestor.group, CompositePodGroup) and ancestor.group.spec.scheduling_policy.gang is not None
        leaves = [*_leaves(child for child in ancestor.children if child is not below)] if gang else []
        found += [each.metadata.name for each in leaves if claim in {one.claim for one in group_claims.claims_of(each, context.lookup)}]
        below = ancestor
    return sorted(found)


def _leaves(nodes: Iterator[GroupNode]) -> Iterator[PodGroup]:
    for node in nodes:
        if isinstance(node.group, PodGroup):
            yield node.group
        yield from _leaves(iter(node.children))


_TREE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: prefill}
spec:
  parentCompositePodGroupName: serve
  workloadRef: {workloadName: serve, templateName: prefill}
  schedulingPolicy: {gang: {minCount: 1}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: decode}
spec:
  parentCompositePodGroupName: serve
  workloadRef: {workloadName: serve, templateName: decode}
  schedulingPolicy: {gang: {minCount: 1}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: serve}
spec:
  workloadRef: {workloadName: serve, templateName: serve}
  schedulingPolicy: {gang: {minGroupCount: 2}}
---
apiVersion: v1
kind: Pod
metadata: {name: prefill-0}
spec:
  schedulingGroup: {podGroupName: prefill}
  containers: [{name: main, image: serve}]
  resourceClaims: [{name: fabric, resourceClaimName: fabric-0}]
---
apiVersion: v1
kind: Pod
metadata: {name: decode-0}
spec:
  schedulingGroup: {podGroupName: decode}
  containers: [{name: main, image: serve}]
  resourceClaims: [{name: fabric, resourceClaimName: fabric-1}]
"""

RULE = Rule(
    id="claim-of-one-leaf",
    kinds=frozenset({"PodGroup"}),
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="The second PodGroup waits for the allocation of the first, which is written only if both fit: the tree never starts.",
    source="Kubernetes 1.37.1, plugin DynamicResources, pendingAllocations",
    check=check,
    good=(Example(_TREE),),
    bad=(Example(_TREE.replace("fabric-1", "fabric-0"), at=("metadata.name",)),),
)
