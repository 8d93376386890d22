"""Pods of a gang that kube-scheduler binds do not share a claim that is not allocated."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.groups import PodGroup
from validators import field
from validators.field import FieldError
from validators.hierarchy import group_claims
from validators.hierarchy.group_claims import SharedClaim
from validators.hierarchy.job_groups import job_groups
from validators.rules.base import About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the group's entry or, for a claim that only its pods name, at its name or at the entry of the Job's pods.

    Needs the pods of the group, or the object that creates them.
    """
    group, lookup = context.new, context.lookup
    if isinstance(group, PodGroup):
        gang = group.spec.scheduling_policy.gang
        shared = group_claims.users_in_group(group, lookup).unallocated(lookup) if gang is not None and gang.min_count > 1 else {}
        for claim, (entry, users) in shared.items():
            if users > 1:
                listed = group_claims.path_in_group(group, claim)
                yield _error(listed or FieldPath("metadata", "name"), entry.name if listed else group.metadata.name, claim, users)
    for each in job_groups(context.new, context.settings.minor):
        shared = group_claims.users_in_job(each, context.namespace).unallocated(lookup) if each.gang_minimum > 1 else {}
        for claim, (entry, users) in shared.items():
            if users > 1:
                yield _error(each.path_of(entry), entry.name, claim, users)


def _error(path: FieldPath, value: str, claim: SharedClaim, users: int) -> FieldError:
    detail = (
        f"{users} pods of the gang share claim {claim.label}: unless it is allocated, kube-scheduler binds one of"
        " them, and the others one by one after a failed attempt; let muster sidecar place them"
    )
    return field.invalid(path, value, detail)


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
_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  scheduling:
    schedulingPolicy: {gang: {}}
    resourceClaims:
    - {name: fabric, resourceClaimTemplateName: fabric}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
      resourceClaims:
      - {name: fabric, resourceClaimTemplateName: fabric}
      - {name: nic, resourceClaimName: nic}
"""

RULE = Rule(
    id="gang-shares-claim",
    kinds=frozenset({"PodGroup", "Job", "JobSet"}),
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="Between the first pod and the others, another group can take the capacity: then only a part of the gang is bound.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, plugin DynamicResources, PreBind",
    check=check,
    good=(Example(_GROUP), Example(_JOB.replace("gang: {}", "basic: {}"))),
    bad=(
        Example(_GROUP.replace("      schedulerName: muster\n", ""), at=("spec.resourceClaims[0]",)),
        Example(_JOB, at=("spec.scheduling.resourceClaims[0]", "spec.template.spec.resourceClaims[1]")),
    ),
)
