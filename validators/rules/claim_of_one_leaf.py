"""PodGroups of a tree that must be placed together do not use the same claim, unless it is allocated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from validators import field
from validators.field import FieldError
from validators.hierarchy import group_claims
from validators.hierarchy.job_groups import job_groups
from validators.hierarchy.tree import GroupNode
from validators.model import traits
from validators.model.views import JobSet
from validators.object_lookup import Lookup
from validators.rules.base import About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the group's entry, or at its name for a claim that only its pods name.  Needs the pods or Jobs of both groups."""
    if isinstance(context.new, JobSet):
        yield from _of_jobset(context, context.new)
        return
    node, group = context.node, context.new
    if not isinstance(group, PodGroup) or node.root is None or node.parent is None:
        return
    for claim, (entry, _) in group_claims.users_in_group(group, context.lookup).unallocated(context.lookup).items():
        if claim.claim and (others := _others(context, node, claim.claim)):
            listed = group_claims.path_in_group(group, claim)
            value = entry.name if listed else group.metadata.name
            yield _error(
                listed or FieldPath("metadata", "name"), value, f"PodGroup {others[0]} of the same tree uses claim {claim.claim} too"
            )


def _of_jobset(context: Context, jobset: JobSet) -> Iterator[FieldError]:
    """Yield errors at the first entry of a claim that several Jobs use, each with a PodGroup of its own."""
    scheduling = jobset.spec.scheduling
    gang = scheduling is not None and scheduling.scheduling_policy is not None and scheduling.scheduling_policy.gang is not None
    jobs: Counter[str] = Counter()
    first: dict[str, tuple[FieldPath, str]] = {}
    for each in job_groups(jobset, context.settings.minor) if gang else ():
        for claim, (entry, _) in group_claims.users_in_job(each, context.namespace).unallocated(context.lookup).items():
            jobs[claim.claim] += each.jobs
            first.setdefault(claim.claim, (each.path_of(entry), entry.name))
    for name, count in sorted(jobs.items()):
        if name and count > 1:
            yield _error(*first[name], f"{count} Jobs of the JobSet, each a PodGroup of the same tree, use claim {name}")


def _error(path: FieldPath, value: str, use: str) -> FieldError:
    detail = (
        f"{use}: kube-scheduler never allocates a claim of two"
        " PodGroups that are placed together; let muster sidecar place them, or use one claim for each PodGroup"
    )
    return field.invalid(path, value, detail)


def _others(context: Context, node: GroupNode, claim: str) -> list[str]:
    """Return the names of the other leaves that use *claim* and must be placed together with *node*."""
    found: list[str] = []
    below = node
    for ancestor in node.ancestors():
        gang = isinstance(ancestor.group, CompositePodGroup) and ancestor.group.spec.scheduling_policy.gang is not None
        leaves = [*_leaves(child for child in ancestor.children if child is not below)] if gang else []
        found += [each.metadata.name for each in leaves if claim in _claims(each, context.lookup)]
        below = ancestor
    return sorted(found)


def _claims(group: PodGroup, lookup: Lookup) -> set[str]:
    return {each.claim for each in group_claims.users_in_group(group, lookup).unallocated(lookup)}


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
_JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  scheduling: {schedulingPolicy: {gang: {}}}
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers: [{name: main, image: train}]
            resourceClaims: [{name: fabric, resourceClaimName: fabric}]
"""

RULE = Rule(
    id="claim-of-one-leaf",
    kinds=frozenset({"PodGroup", "JobSet"}),
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="The second PodGroup waits for the allocation of the first, which is written only if both fit: the tree never starts.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, plugin DynamicResources, pendingAllocations",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(Example(_TREE), Example(_JOBSET.replace("{gang: {}}", "{basic: {}}"))),
    bad=(
        Example(_TREE.replace("fabric-1", "fabric-0"), at=("metadata.name",)),
        Example(_JOBSET, at=("spec.replicatedJobs[0].template.spec.template.spec.resourceClaims[0]",)),
    ),
)
