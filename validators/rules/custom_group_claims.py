"""A PodGroup that is a custom resource names its claims: no controller creates claims for it from a template."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import PodGroup
from kubeapi.versions.conversion import CUSTOM_RESOURCE
from validators import field
from validators.field import FieldError
from validators.model.templates import SPEC
from validators.rules.base import Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield a warning at each template of claims; a claim that was created for it is in the status."""
    if not isinstance(group := context.new, PodGroup):
        return
    created = {each.name for each in group.status.resource_claim_statuses or () if each.resource_claim_name}
    for index, claim in enumerate(group.spec.resource_claims or ()):
        if claim.resource_claim_template_name and claim.name not in created:
            detail = (
                "no controller creates a ResourceClaim for a custom resource, so the pods would wait for it forever: create the claim, and "
                "name it in resourceClaimName"
            )
            path = SPEC.join(("resourceClaims", index, "resourceClaimTemplateName"))
            yield field.invalid(path, claim.resource_claim_template_name, detail)


_GROUP = """\
apiVersion: scheduling.muster.dev/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  resourceClaims:
  - name: gpus
    resourceClaimTemplateName: gpus
"""

RULE = Rule(
    id="custom-group-claims",
    kinds=frozenset({"PodGroup"}),
    profile=Profile.KEP,
    severity=Severity.WARNING,
    forms=frozenset({CUSTOM_RESOURCE}),
    why="The resource claim controller of Kubernetes creates the claims of built-in PodGroups only.",
    source="The API group scheduling.muster.dev; Kubernetes 1.37.1, pkg/controller/resourceclaim",
    check=check,
    good=(
        Example(_GROUP.replace("resourceClaimTemplateName", "resourceClaimName")),
        Example(_GROUP.replace("muster.dev/", "k8s.io/")),
        Example(f"{_GROUP}status:\n  resourceClaimStatuses: [{{name: gpus, resourceClaimName: workers-gpus}}]\n"),
    ),
    bad=(Example(_GROUP, at=("spec.resourceClaims[0].resourceClaimTemplateName",)),),
)
