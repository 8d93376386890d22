"""The ResourceClaim or ResourceClaimTemplate that a pod, group or template names exists in the same namespace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeapi.field_path import FieldPath
from kubeapi.pods import PodResourceClaim
from validators import field
from validators.field import FieldError
from validators.hierarchy.job_groups import job_groups
from validators.model import traits
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Profile, Rule

_SOURCES = (
    ("ResourceClaim", "resourceClaimName", "resource_claim_name"),
    ("ResourceClaimTemplate", "resourceClaimTemplateName", "resource_claim_template_name"),
)


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the name.  No errors for a kind of which no object at all is known."""
    if context.new.kind in POD_TEMPLATES:
        for pods in context.pods:
            yield from _missing(context, pods.at / "resourceClaims", pods.spec.resource_claims or ())
        for each in job_groups(context.new, context.settings.minor):
            yield from _missing(context, each.path / "resourceClaims", each.resource_claims)
        return
    for leaf in context.templates.validated_leaves:
        if leaf.resource_claims:
            yield from _missing(context, context.templates.path(leaf) / "resourceClaims", leaf.resource_claims)


def _missing(context: Context, path: FieldPath, entries: Sequence[PodResourceClaim]) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        for (kind, field_name, attribute), (other_kind, other_field, _) in zip(_SOURCES, reversed(_SOURCES), strict=True):
            name = getattr(entry, attribute)
            if not name or context.lookup.list_kind(kind) is None or context.lookup.get(kind, context.namespace, name) is not None:
                continue
            detail = f"there must be a {kind} of this name in namespace {context.namespace}"
            if context.lookup.get(other_kind, context.namespace, name) is not None:
                detail += f"; there is a {other_kind}: use {other_field}"
            yield field.not_found(path.join((index, field_name)), name, detail)


_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  containers: [{name: main, image: train}]
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]
"""
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec:
      containers: [{name: main, image: serve}]
      resourceClaims:
      - {name: gpu, resourceClaimTemplateName: two-gpus}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]
"""

RULE = Rule(
    id="resource-claim-exists",
    kinds=POD_TEMPLATES | {"Workload", "PodGroup"},
    about=About.TREE,
    profile=Profile.KEP,
    why="A pod whose claim, or whose template of a claim, does not exist is never scheduled, nor is its group.",
    source="Kubernetes 1.37.1, plugin DynamicResources; KEP-6012, Non-Goals (no claims on composites)",
    check=check,
    relevant_traits=traits.RESOURCE_CLAIMS,
    good=(Example(_POD),),
    bad=(
        Example(
            _POD.replace("resourceClaimTemplateName: one-gpu", "resourceClaimTemplateName: two-gpus"),
            at=("spec.resourceClaims[0].resourceClaimTemplateName",),
        ),
        Example(_DEPLOYMENT, at=("spec.template.spec.resourceClaims[0].resourceClaimTemplateName",)),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  resourceClaims:
  - {name: fabric, resourceClaimName: fabric}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: other}
spec:
  devices:
    requests: [{name: partition, exactly: {deviceClassName: fabric.example.com}}]
""",
            at=("spec.resourceClaims[0].resourceClaimName",),
        ),
    ),
)
