"""A claim that more than 256 pods name is listed in the PodGroup of the pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from kubeapi.field_path import FieldPath
from kubeapi.groups import PodGroup
from kubeapi.pods import PodResourceClaim
from validators import field
from validators.field import FieldError
from validators.hierarchy import group_claims
from validators.hierarchy.job_groups import job_groups
from validators.model.controllers import TemplatePods, pods_of
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Profile, Rule, Severity

_MOST = 256
"""Maximum entries of ``status.reservedFor``: ``ResourceClaimReservedForMaxSize`` of resource.k8s.io."""


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the first entry of the claim, or at the name of a group whose pods are of several objects."""
    item = context.new
    if isinstance(item, PodGroup):
        if not item.metadata.name:
            return
        pods = [*group_claims.members(item.metadata.name, context.namespace, context.lookup)]
        listed = item.spec.resource_claims or ()
        for claim, count in sorted(_consumers(pods, listed).items()) if pods else ():
            if count > _MOST and all((each.count or 0) <= _MOST for each in pods):
                yield field.invalid(FieldPath("metadata", "name"), item.metadata.name, _detail(claim, count))
        return
    consumers: Counter[str] = Counter()
    paths: dict[str, tuple[FieldPath, str]] = {}
    of_jobs = {each.pods.path: each.resource_claims for each in job_groups(item, context.settings.minor)}
    for each in pods_of(item):
        group = context.lookup.get("PodGroup", context.namespace, each.group) if each.group else None
        listed = (group.spec.resource_claims or ()) if isinstance(group, PodGroup) else of_jobs.get(each.path, ())
        consumers.update(_consumers((each,), listed))
        for index, entry in enumerate(each.spec.resource_claims or ()):
            paths.setdefault(entry.resource_claim_name or "", (FieldPath(*each.path, "resourceClaims", index), entry.name))
    for claim, count in sorted(consumers.items()):
        if count > _MOST:
            path, name = paths[claim]
            yield field.invalid(path, name, _detail(claim, count))


def _consumers(pods: Iterable[TemplatePods], listed: Collection[PodResourceClaim]) -> Counter[str]:
    """Return the number of pods for each claim that is named by pods, but not by their group."""
    consumers: Counter[str] = Counter()
    for each in pods:
        names = {entry.resource_claim_name for entry in each.spec.resource_claims or () if entry not in listed}
        consumers.update({name: each.count or 0 for name in names if name})
    return consumers


def _detail(claim: str, count: int) -> str:
    return (
        f"{count} pods name claim {claim}, but status.reservedFor of a claim has at most {_MOST} entries: the other pods are never"
        " scheduled; add this entry to resourceClaims of their PodGroup, which is one entry for all its pods"
    )


_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 300
  scheduling:
    schedulingPolicy: {gang: {minCount: 300}}
    resourceClaims:
    - {name: fabric, resourceClaimName: fabric}
  template:
    spec:
      schedulerName: muster
      restartPolicy: Never
      containers: [{name: main, image: train}]
      resourceClaims:
      - {name: fabric, resourceClaimName: fabric}
"""
_PAIR = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {basic: {}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: first}
spec:
  replicas: 200
  template:
    spec:
      schedulingGroup: {podGroupName: workers}
      resourceClaims: [{name: fabric, resourceClaimName: fabric}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: second}
spec:
  replicas: 100
  template:
    spec:
      schedulingGroup: {podGroupName: workers}
      resourceClaims: [{name: fabric, resourceClaimName: fabric}]
"""

RULE = Rule(
    id="claim-consumers",
    kinds=(POD_TEMPLATES - {"Pod"}) | {"PodGroup"},
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="Each pod that names a claim is an entry of status.reservedFor, unless the claim is one of its PodGroup: then the group is the entry.",
    source="Kubernetes 1.37.1, ResourceClaimReservedForMaxSize; KEP-5729",
    check=check,
    good=(Example(_JOB), Example(_PAIR.replace("100", "56"))),
    bad=(
        Example(
            _JOB.replace("    resourceClaims:\n    - {name: fabric", "    # {name: fabric"), at=("spec.template.spec.resourceClaims[0]",)
        ),
        Example(_PAIR, at=("metadata.name",)),
    ),
)
