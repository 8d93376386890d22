"""A pod of a group lists claims that it shares with other pods of the group after its own claims."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.hierarchy import group_claims
from validators.model.group import PodGroup
from validators.model.pod import DEFAULT_SCHEDULER, Job, Pod
from validators.rules.base import PODS, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at entries of ``resourceClaims`` that are before an own claim.  Only for pods of kube-scheduler."""
    pod, spec, lookup = context.new, context.pod_spec, context.lookup
    if not isinstance(pod, (Pod, Job)) or not spec.group or spec.scheduler_name not in ("", DEFAULT_SCHEDULER):
        return
    entries = group_claims.entries_of(pod)
    if len(entries) < 2:
        return
    known = lookup.get("PodGroup", context.namespace, spec.group)
    group = known if isinstance(known, PodGroup) else None
    members = group_claims.members(group, context.namespace, spec.group, lookup)
    users = group_claims.unallocated(members, context.namespace, lookup, group)
    shared = [claim is not None and users[claim] > 1 for claim in (group_claims.shared_claim(each, group) for each in entries)]
    own = [group_claims.shared_claim(each, group) is None for each in entries]
    for index, entry in enumerate(entries):
        if shared[index] and any(own[index + 1 :]):
            following = entries[own.index(True, index + 1)].name
            detail = (
                f"must be after claim {following}: kube-scheduler 1.37.1 can exchange the devices of both,"
                " because other pods of the group use this claim too"
            )
            yield field.invalid(context.pod_path.join(("resourceClaims", index)), entry.name, detail)


_PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  schedulingGroup: {podGroupName: workers}
  containers: [{name: main, image: train}]
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  - {name: fabric, resourceClaimName: fabric}
---
apiVersion: v1
kind: Pod
metadata: {name: worker-1}
spec:
  schedulingGroup: {podGroupName: workers}
  containers: [{name: main, image: train}]
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  - {name: fabric, resourceClaimName: fabric}
"""
_FABRIC = "  - {name: fabric, resourceClaimName: fabric}\n"
_GPU = "  - {name: gpu, resourceClaimTemplateName: one-gpu}\n"

RULE = Rule(
    id="shared-claim-last",
    kinds=PODS,
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="kube-scheduler 1.37.1 assigns devices in the wrong order: the shared claim can get the devices of the pod's own claim, and vice versa.",
    source="Kubernetes 1.37.1, plugin DynamicResources, Reserve",
    check=check,
    good=(Example(_PODS),),
    bad=(Example(_PODS.replace(_GPU + _FABRIC, _FABRIC + _GPU, 1), at=("spec.resourceClaims[0]",)),),
)
