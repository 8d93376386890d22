"""A pod of a group lists claims that it shares with other pods of the group after its own claims."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.pods import DEFAULT_SCHEDULER
from validators import field
from validators.field import FieldError
from validators.hierarchy import group_claims
from validators.hierarchy.group_claims import ClaimUsers
from validators.hierarchy.job_groups import job_groups
from validators.model import traits
from validators.model.views import PodSpec
from validators.object_lookup import Lookup
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at entries of ``resourceClaims`` that are before an own claim.  Only for pods of kube-scheduler."""
    for pods in context.pods:
        if pods.group and len(pods.spec.resource_claims or ()) > 1:
            group = context.lookup.get("PodGroup", context.namespace, pods.group)
            users = group_claims.users_in_named_group(pods.group, context.namespace, context.lookup, group)
            yield from _early(pods.at, pods.spec, users, context.lookup)
    for each in job_groups(context.new, context.settings.minor):
        users = group_claims.users_in_job(each, context.namespace)
        yield from _early(each.pods.at, each.pods.spec, users, context.lookup)


def _early(path: FieldPath, spec: PodSpec, users: ClaimUsers, lookup: Lookup) -> Iterator[FieldError]:
    if spec.scheduler_name not in ("", DEFAULT_SCHEDULER):
        return
    entries = spec.resource_claims or ()
    claims = [users.shared_claim(each) for each in entries]
    last = max((index for index, claim in enumerate(claims) if claim is None), default=0)
    for index, claim in enumerate(claims[:last]):
        if claim is not None and users.is_shared(claim, lookup):
            detail = (
                f"must be after claim {entries[claims.index(None, index)].name}: kube-scheduler can exchange the devices of both,"
                " because other pods of the group use this claim too"
            )
            yield field.invalid(path.join(("resourceClaims", index)), entries[index].name, detail)


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
_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  scheduling:
    schedulingPolicy: {basic: {}}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
      resourceClaims:
      - {name: gpu, resourceClaimTemplateName: one-gpu}
      - {name: fabric, resourceClaimName: fabric}
"""
_FABRIC = "  - {name: fabric, resourceClaimName: fabric}\n"
_GPU = "  - {name: gpu, resourceClaimTemplateName: one-gpu}\n"

RULE = Rule(
    id="shared-claim-last",
    kinds=POD_TEMPLATES,
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="kube-scheduler assigns devices in the wrong order: the shared claim can get the devices of the pod's own claim, and vice versa.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, plugin DynamicResources, Reserve",
    check=check,
    relevant_traits=traits.RESOURCE_CLAIMS,
    good=(Example(_PODS), Example(_JOB)),
    bad=(
        Example(_PODS.replace(_GPU + _FABRIC, _FABRIC + _GPU, 1), at=("spec.resourceClaims[0]",)),
        Example(
            _JOB.replace(f"    {_GPU}    {_FABRIC}", f"    {_FABRIC}    {_GPU}"),
            at=("spec.template.spec.resourceClaims[0]",),
        ),
    ),
)
