"""Pods of a gang that kube-scheduler binds do not share a claim that is not allocated."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError, FieldPath
from validators.hierarchy import group_claims
from validators.model.group import PodGroup
from validators.model.templates import SPEC
from validators.rules.base import About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the group's entry, or at its name for a claim that only its pods name.  Needs the pods or the Job of the group."""
    group = context.new
    if not isinstance(group, PodGroup) or group.spec.scheduling_policy.gang is None or group.spec.scheduling_policy.gang.min_count < 2:
        return
    names = [each.name for each in group.spec.resource_claims or ()]
    for claim, users in sorted(group_claims.claims_of(group, context.lookup).items()):
        if users > 1:
            listed = claim.entry in names
            path = SPEC.join(("resourceClaims", names.index(claim.entry))) if listed else FieldPath("metadata", "name")
            detail = (
                f"{users} pods of the gang share claim {claim.label}, which is not allocated: kube-scheduler 1.37.1 binds one of them,"
                " and the others one by one after a failed attempt; let muster sidecar place them"
            )
            yield field.invalid(path, claim.entry if listed else group.metadata.name, detail)


_GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  resourceClaims:
  - {name: fabric, resourceClaimTemplateName: fabric}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      schedulerName: muster
      schedulingGroup: {podGroupName: workers}
      restartPolicy: Never
      containers: [{name: main, image: train}]
      resourceClaims:
      - {name: fabric, resourceClaimTemplateName: fabric}
"""

RULE = Rule(
    id="gang-shares-claim",
    kinds=frozenset({"PodGroup"}),
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="Between the first pod and the others, another group can take the capacity: then only a part of the gang is bound.",
    source="Kubernetes 1.37.1, plugin DynamicResources, PreBind",
    check=check,
    good=(Example(_GROUP),),
    bad=(Example(_GROUP.replace("      schedulerName: muster\n", ""), at=("spec.resourceClaims[0]",)),),
)
